export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** Somebody who uses the console. */
export interface Person {
  id: string;
  /** In lower case. */
  email: string;
  name: string;
  /** As `Passwords.hash` writes it; null: signs in with an identity provider. */
  password: string | null;
  /** IANA time zone that pages and days are shown in. */
  zone: string;
  theme: Theme;
  createdAt: Date;
}

/** Who made a change: a person at an address, or a command on the machine. */
export interface Actor {
  personId: string | null;
  /** As the audit log shows it: the e-mail address, or "command line". */
  name: string;
  address: string | null;
}

export const COMMAND_LINE_ACTOR: Actor = { personId: null, name: "command line", address: null };
