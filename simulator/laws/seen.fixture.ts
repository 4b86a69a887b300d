import { DAY_MS } from "../worlds/coin.ts";
import { FROM } from "../worlds/consumers/year.ts";
import type { Seen } from "./life.ts";

/** A month after the charge before, in the afternoon. */
export const AT = FROM + 40 * DAY_MS + 15 * 3_600_000;

/** A charge of 20, declined with a code, or approved. */
export const seen = (code: string | null, more: Partial<Seen> = {}): Seen => ({
  at: AT,
  days: 30,
  alarmed: 30,
  amount: 20,
  code,
  advice: undefined,
  card: 0,
  isBlocked: false,
  mail: 1,
  billedBefore: 0,
  signedUp: null,
  ...more,
});
