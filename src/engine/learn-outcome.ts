import { type CustomerHistory, inferPosterior } from "./infer-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import type { Reason } from "./learned/model-layout.ts";
import { chanceOf } from "./learned/observe.ts";
import { hasSettlementPattern, learnSettlement } from "./learned/settlement.ts";
import { recordPrediction } from "./learned/shortfall.ts";
import { countCustomer, learnCase, learnRetry } from "./learned/train.ts";

/** The outcome of a retry. */
export interface RetryOutcome {
  at: Date;
  /** Why it failed; null: it was approved. */
  reason: Reason | null;
  /** Whether no retry of the case was learned from before. */
  isFirst: boolean;
  /** The probability of approval predicted when it was decided; null: none. */
  said: number | null;
}

/**
 * Trains the model on the outcome of a retry: changes `learned`.
 *
 * @param start  the model before any training, which also judges the settlement pattern of a scheme: later training favors the
 * pattern it was done with
 * @param history  the facts right before the retry
 */
export function learnOutcome(
  learned: LearnedModel,
  start: LearnedModel,
  history: CustomerHistory,
  { at, reason, isFirst, said }: RetryOutcome,
) {
  const scheme = history.traits.paymentMethodType;
  // With the settlement pattern that was used when the retry was made: this outcome may change the pattern.
  const { person, belief } = inferPosterior(learned, history);
  if (hasSettlementPattern(scheme))
    learnSettlement(learned, scheme, reason === null, (booking) =>
      [start, learned].map((model) => chanceOf(model, inferPosterior(model, history, booking).belief, at.getTime())),
    );
  if (isFirst) {
    // A customer whose earlier invoice failed has been counted already.
    const hadFailed = history.bills.slice(0, -1).some(({ charges }) => charges[0]?.approved === false);
    if (!hadFailed) countCustomer(learned, person);
    learnCase(learned, belief);
  }
  learnRetry(learned, person, belief, at.getTime(), reason);
  if (said !== null) recordPrediction(learned, belief, said, at.getTime(), reason);
}
