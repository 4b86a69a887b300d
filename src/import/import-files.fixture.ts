import { HISTORY_KIND_BY_NAME } from "./record-kinds.ts";

export const { kind } = HISTORY_KIND_BY_NAME.subscriptions;
/** A record of the API, with more fields or other values. */
export const subscription = (id: string, more = {}) => ({
  id,
  state: "SUBSCRIPTION_STATE_ACTIVE",
  customerId: "Zoë",
  amount: 4900,
  currency: "EUR",
  createdAt: "2026-01-01T00:00:00Z",
  ...more,
});
export const toCsv = (records: readonly object[]) =>
  [Object.keys(records[0]!), ...records.map(Object.values)].map((cells) => cells.join(",")).join("\r\n");
export const toJsonl = (records: readonly object[]) => records.map((record) => JSON.stringify(record)).join("\r\n");

/** The bytes of a text, so many at a time. */
export async function* splitIntoPieces(text: string | Buffer, size = 65_536) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
