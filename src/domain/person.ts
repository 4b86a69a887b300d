export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** A user of the console. */
export interface Person {
  id: string;
  /** In lower case. */
  email: string;
  name: string;
  /** A hash; null with an identity provider. */
  password: string | null;
  /** IANA time zone. */
  zone: string;
  theme: Theme;
  createdAt: Date;
}

export interface Actor {
  personId: string | null;
  /** E-mail address, or "command line". */
  name: string;
  address: string | null;
}

export const COMMAND_LINE_ACTOR: Actor = { personId: null, name: "command line", address: null };
