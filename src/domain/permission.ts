export const PERMISSIONS = [
  "ingest:subscriptions",
  "ingest:invoices",
  "ingest:transactions",
  "read:recovery_actions",
  "read:explanations",
  "read:attention",
  "manage:recovery",
] as const;
/** A key can never manage keys. */
export type Permission = (typeof PERMISSIONS)[number];
