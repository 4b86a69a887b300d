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
  /** No earlier retry of the case was learned from. */
  isFirst: boolean;
  /** Approval probability at the decision. */
  predictedChance: number | null;
}

/**
 * Changes `learnedModel`.
 *
 * @param untrained  judges a scheme's settlement pattern: training favors the pattern it was done with
 * @param history  the facts right before the retry
 */
export function learnOutcome(
  learnedModel: LearnedModel,
  untrained: LearnedModel,
  history: CustomerHistory,
  { at, reason, isFirst, predictedChance }: RetryOutcome,
) {
  const scheme = history.traits.paymentMethodType;
  // With the pattern from when the retry was made: this outcome may change it.
  const { customer, posterior } = inferPosterior(learnedModel, history);
  if (hasSettlementPattern(scheme))
    learnSettlement(learnedModel, scheme, reason === null, (booking) =>
      [untrained, learnedModel].map((model) =>
        chanceOf(model, inferPosterior(model, history, booking).posterior, at.getTime()),
      ),
    );
  if (isFirst) {
    // Otherwise counted before.
    const hadFailed = history.invoices.slice(0, -1).some(({ charges }) => charges[0]?.approved === false);
    if (!hadFailed) countCustomer(learnedModel, customer);
    learnCase(learnedModel, posterior);
  }
  learnRetry(learnedModel, customer, posterior, at.getTime(), reason);
  if (predictedChance !== null) recordPrediction(learnedModel, posterior, predictedChance, at.getTime(), reason);
}
