import { YEAR_START } from "../worlds/consumers/year.ts";
import { DAY_MS } from "../worlds/keyed-uniform.ts";
import type { ObservedCharge } from "./candidate-life.ts";

/** A month after the previous charge, in the afternoon. */
export const CHARGE_TIME = YEAR_START + 40 * DAY_MS + 15 * 3_600_000;

export const buildObservedCharge = (code: string | null, more: Partial<ObservedCharge> = {}): ObservedCharge => ({
  at: CHARGE_TIME,
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
