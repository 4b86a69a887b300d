export const ROLES = ["owner", "admin", "developer", "viewer"] as const;
export type Role = (typeof ROLES)[number];

/** Any member can read recovery results. */
export const ROLE_OPERATIONS = {
  replay: "Send events again",
  stop: "Stop the recovery of an invoice",
  import: "Import history",
  experiments: "Run experiments and backtests, switch shadow mode",
  keys: "See and manage API keys",
  webhook: "See and change the webhook",
  members: "Invite and manage members",
  audit: "Read the audit log",
  owners: "Add and remove owners",
} as const;
export type RoleOperation = keyof typeof ROLE_OPERATIONS;

const ALLOWED_OPERATIONS: Readonly<Record<Role, readonly RoleOperation[]>> = {
  owner: ["replay", "stop", "import", "experiments", "keys", "webhook", "members", "audit", "owners"],
  admin: ["replay", "stop", "import", "experiments", "keys", "webhook", "members", "audit"],
  developer: ["replay", "stop", "import", "keys", "webhook"],
  viewer: [],
};

export const isAllowed = (role: Role, operation: RoleOperation) => ALLOWED_OPERATIONS[role].includes(operation);
