import { type CustomerHistory, inferPosterior } from "./infer-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import type { Reason } from "./learned/model-layout.ts";
import { chanceOf } from "./learned/observe.ts";
import { hasSettlementPattern, learnSettlement } from "./learned/settlement.ts";
import { recordPrediction } from "./learned/shortfall.ts";
import { countCustomer, learnCase, learnRetry } from "./learned/train.ts";

/** How a retry of a case ended. */
export interface RetryOutcome {
  at: Date;
  /** Why it failed; null: it was approved. */
  reason: Reason | null;
  /** No retry of the case was learned before. */
  isFirst: boolean;
  /** The chance of approval that was said when it was decided; null: none was. */
  said: number | null;
}

/**
 * Learn from the outcome of a retry: changes `learned`.
 *
 * @param start  what was known before any lesson: by that a scheme's booking is judged too. What was learned by one booking speaks for
 *   it; what was known before speaks for none
 * @param history  what was known right before the retry
 */
export function learnOutcome(
  learned: LearnedModel,
  start: LearnedModel,
  history: CustomerHistory,
  { at, reason, isFirst, said }: RetryOutcome,
) {
  const scheme = history.traits.paymentMethodType;
  // By the booking that was held when the retry was made: this outcome may change which one is.
  const { person, belief } = inferPosterior(learned, history);
  if (hasSettlementPattern(scheme))
    learnSettlement(learned, scheme, reason === null, (booking) =>
      [start, learned].map((model) => chanceOf(model, inferPosterior(model, history, booking).belief, at.getTime())),
    );
  if (isFirst) {
    // Whose earlier bill failed too is counted by now.
    const hadFailed = history.bills.slice(0, -1).some(({ charges }) => charges[0]?.approved === false);
    if (!hadFailed) countCustomer(learned, person);
    learnCase(learned, belief);
  }
  learnRetry(learned, person, belief, at.getTime(), reason);
  if (said !== null) recordPrediction(learned, belief, said, at.getTime(), reason);
}
