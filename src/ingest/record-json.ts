import type { RecordKind } from "./parse-batch.ts";

/** Omits undefined fields. */
export function toRecordJson<Row extends object>({ fieldList }: RecordKind<Row>, record: Row): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [key, { prefix }] of fieldList) {
    const value = record[key as keyof Row];
    if (value !== undefined) json[key] = prefix === undefined ? value : `${prefix}${value}`;
  }
  return json;
}
