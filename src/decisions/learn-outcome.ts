import type { Reason } from "../model/layout.ts";
import { countPerson, learnCase, learnOutcome as learnFromTry } from "../model/learn.ts";
import type { Learned } from "../model/learned.ts";
import { type History, recall } from "./recall.ts";

/** How a retry of a case ended. */
export interface RetryOutcome {
  at: Date;
  /** Why it failed; null: it was approved. */
  reason: Reason | null;
  /** No retry of the case was learned before. */
  isFirst: boolean;
}

/**
 * Learn from the outcome of a retry: changes `learned`.
 *
 * @param history  what was known right before the retry
 */
export function learnOutcome(learned: Learned, history: History, { at, reason, isFirst }: RetryOutcome) {
  const { person, belief } = recall(learned, history);
  if (isFirst) {
    // Whose earlier bill failed too is counted by now.
    const hadFailed = history.bills.slice(0, -1).some(({ charges }) => charges[0]?.approved === false);
    if (!hadFailed) countPerson(learned, person);
    learnCase(learned, belief);
  }
  learnFromTry(learned, person, belief, at.getTime(), reason);
}
