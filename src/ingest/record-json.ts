import type { RecordKind } from "./parse-batch.ts";

/** A record as it is pushed, for JSON.stringify, which writes moments in UTC with milliseconds. What is not known is left out. */
export function toRecordJson<Row extends object>({ order }: RecordKind<Row>, record: Row): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  for (const [key, { prefix }] of order) {
    const value = record[key as keyof Row];
    if (value !== undefined) json[key] = prefix === undefined ? value : `${prefix}${value}`;
  }
  return json;
}
