export const PERMISSIONS = [
  "ingest:subscriptions",
  "ingest:invoices",
  "ingest:transactions",
  "read:recovery_actions",
] as const;
/** What an API key may do. A key can never manage keys. */
export type Permission = (typeof PERMISSIONS)[number];
