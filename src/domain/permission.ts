export const PERMISSIONS = [
  "ingest:subscriptions",
  "ingest:invoices",
  "ingest:transactions",
  "read:recovery_actions",
  "read:explanations",
  "read:attention",
  "read:analytics",
  "manage:recovery",
  "read:recovery_rules",
  "manage:recovery_rules",
] as const;
/** A key can never manage keys. */
export type Permission = (typeof PERMISSIONS)[number];
