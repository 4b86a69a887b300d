import { type Belief, newBelief, newPerson } from "../model/belief.ts";
import { AT_ONCE } from "../model/booking.ts";
import { newFirsts } from "../model/firsts.ts";
import { AT, type Reason, rowStart } from "../model/layout.ts";
import { type Learned, newLearned } from "../model/learned.ts";
import type { TryQuestion } from "./choose-try.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const START = Date.UTC(2026, 3, 6, 10);
export const BANK = rowStart("issuer", "a bank");
/** A new model, but for first tries, of which it knows many at any time since the failure. */
export const learned: Learned = { ...newLearned(), firsts: newFirsts().fill(1e6) };

/** A German card that was declined for that reason at START. */
export function belief(reason: Reason): Belief {
  const names = new Int32Array(0);
  const facts = {
    reason,
    code: null,
    standing: 1,
    names,
    codeName: AT.name,
    rows: Int32Array.of(BANK),
    clock: { offsetMs: 2 * HOUR, booking: AT_ONCE },
    failedAt: START,
    recent: [START],
  };
  return newBelief(learned, newPerson(learned, "DE"), facts);
}
export const question = (rest: Partial<TryQuestion> = {}): TryQuestion => ({
  key: "case 1",
  now: START,
  windowEndsAt: START + 28 * DAY,
  triesLeft: 6,
  explores: true,
  allow: () => true,
  limits: [],
  dollars: 24,
  stakes: { worthAt: (at) => 1 - (0.004 * (at - START)) / DAY, cost: 0.008 },
  ...rest,
});
