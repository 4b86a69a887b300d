import { type CustomerHistory, inferPosterior } from "./infer-posterior.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import type { Reason } from "./learned/model-layout.ts";
import { chanceOf } from "./learned/observe.ts";
import { hasSettlementPattern, learnSettlement } from "./learned/settlement.ts";
import { recordPrediction } from "./learned/shortfall.ts";
import { countCustomer, learnCase, learnRetry } from "./learned/train.ts";

export interface RetryOutcome {
  at: Date;
  /** Null: approved. */
  reason: Reason | null;
  /** Whether no earlier retry of the case was learned from. */
  isFirst: boolean;
  /** Approval probability predicted at the decision; null: none. */
  said: number | null;
}

/**
 * Changes `learned`.
 *
 * @param start  the untrained model, which judges a scheme's settlement pattern: later training favors the pattern it was done
 * with
 * @param history  the facts right before the retry
 */
export function learnOutcome(
  learned: LearnedModel,
  start: LearnedModel,
  history: CustomerHistory,
  { at, reason, isFirst, said }: RetryOutcome,
) {
  const scheme = history.traits.paymentMethodType;
  // With the settlement pattern from when the retry was made: this outcome may change it.
  const { person, belief } = inferPosterior(learned, history);
  if (hasSettlementPattern(scheme))
    learnSettlement(learned, scheme, reason === null, (booking) =>
      [start, learned].map((model) => chanceOf(model, inferPosterior(model, history, booking).belief, at.getTime())),
    );
  if (isFirst) {
    // A customer whose earlier invoice failed was counted before.
    const hadFailed = history.bills.slice(0, -1).some(({ charges }) => charges[0]?.approved === false);
    if (!hadFailed) countCustomer(learned, person);
    learnCase(learned, belief);
  }
  learnRetry(learned, person, belief, at.getTime(), reason);
  if (said !== null) recordPrediction(learned, belief, said, at.getTime(), reason);
}
