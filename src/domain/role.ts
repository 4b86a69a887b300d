export const ROLES = ["owner", "admin", "developer", "viewer"] as const;
/** The role of a person at a merchant. */
export type Role = (typeof ROLES)[number];

/** Everything that not everybody may do. Reading what was recovered is open to all members. */
export const DEEDS = {
  replay: "Send events again",
  stop: "Stop the recovery of an invoice",
  import: "Import history",
  experiments: "Run experiments and backtests, switch shadow mode",
  keys: "See and manage API keys",
  webhook: "See and change the webhook",
  members: "Invite and manage members",
  audit: "Read the audit log",
  owners: "Make and unmake owners",
} as const;
export type Deed = keyof typeof DEEDS;

const ALLOWED: Readonly<Record<Role, readonly Deed[]>> = {
  owner: ["replay", "stop", "import", "experiments", "keys", "webhook", "members", "audit", "owners"],
  admin: ["replay", "stop", "import", "experiments", "keys", "webhook", "members", "audit"],
  developer: ["replay", "stop", "import", "keys", "webhook"],
  viewer: [],
};

export const may = (role: Role, deed: Deed) => ALLOWED[role].includes(deed);
