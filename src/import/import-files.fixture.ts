import { HISTORY_KIND_BY_NAME } from "./record-kinds.ts";

export const { recordKind: kind } = HISTORY_KIND_BY_NAME.subscriptions;
/** Returns a record of the API with these fields. */
export const subscription = (id: string, fields = {}) => ({
  id,
  state: "SUBSCRIPTION_STATE_ACTIVE",
  customerId: "Zoë",
  amount: 4900,
  currency: "EUR",
  createdAt: "2026-01-01T00:00:00Z",
  ...fields,
});
export const toCsv = (records: readonly object[]) =>
  [Object.keys(records[0]!), ...records.map(Object.values)].map((cells) => cells.join(",")).join("\r\n");
export const toJsonl = (records: readonly object[]) => records.map((record) => JSON.stringify(record)).join("\r\n");

/** Yields the bytes in chunks of this size. */
export async function* splitIntoPieces(text: string | Buffer, size = 65_536) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
