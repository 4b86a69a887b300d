import { type ChoiceValues, createChoiceValues, type DecisionContext, fitBehaviorModel } from "./behavior-model.ts";
import {
  type ConfidenceInterval,
  differenceInterval,
  type EstimatedShare,
  shareInterval,
} from "./confidence-intervals.ts";
import { type EpisodeWeights, MAX_UNSEEN_SHARE, sum, weighEpisodes } from "./importance-weights.ts";
import { STOP_CHOICE } from "./retry-gaps.ts";

export interface EpisodeDecision {
  situation: DecisionContext;
  /** As the merchant's system chose. */
  choice: number;
  chance: number | null;
  succeeded: boolean;
}

/** With decisions, oldest first. */
export interface Episode {
  /** A customer's outcomes are correlated. */
  customerId: string;
  amount: number;
  decisions: readonly EpisodeDecision[];
}

export interface Estimate {
  /** The merchant's system makes the later decisions. */
  depth: number;
  /** Recovered share of the failed amount or invoices. */
  share: number;
  low: number;
  high: number;
  /** From what was recovered. */
  difference: number;
  differenceLow: number;
  differenceHigh: number;
  /** At the strategy's last decision. */
  effective: number;
  /** Share of invoices for which it acts as the merchant's system hardly ever did. */
  unseen: number;
}

export interface NotEstimable {
  depth: number;
  /**
   * `few`: the effective sample is too small. `unseen`: too many choices were never made. `chances`: the stated propensities
   * contradict the history.
   */
  why: "few" | "unseen" | "chances";
  effective: number;
  unseen: number;
  /** Only for `chances`: the weight of agreeing choices, relative to the required weight. */
  standsFor?: number;
}

/** Smaller samples would make the intervals unreliable. */
export const MIN_EFFECTIVE_SAMPLE = 200;
const FOLDS = 5;

/**
 * Estimates what other choices would have recovered. Doubly robust, with self-normalized weights, one decision at a time:
 * unbiased if either the propensities or the expected values of choices are right. Intervals are clustered by customer.
 *
 * @param chosen  the strategy's choices by episode and decision, at least for the first `depth`
 * @param depth  decisions made by the strategy
 * @param weightOf  1 to count invoices, the amount to count money
 */
export function estimateStrategy(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  weightOf: (episode: Episode) => number,
): Estimate | NotEstimable {
  const groups = 1 + episodes.reduce((max, { decisions }) => Math.max(max, highestGroup(decisions)), 0);
  const behavior = fitBehaviorModel(allDecisions(episodes), groups);
  const weighted = weighEpisodes(episodes, chosen, depth, weightOf, behavior);
  const isMerchants = isSameChoices(episodes, chosen, depth);
  const { effective } = weighted;
  // The merchant's own choices were observed, however rare.
  const unseen = isMerchants ? 0 : weighted.unseen;
  if (effective < MIN_EFFECTIVE_SAMPLE) return { depth, why: "few", effective, unseen };
  if (unseen > MAX_UNSEEN_SHARE) return { depth, why: "unseen", effective, unseen };
  const { standsFor } = weighted;
  if (!isMerchants && standsFor !== null) return { depth, why: "chances", effective, unseen, standsFor };

  const base = Float64Array.from(episodes, weightOf);
  const total = sum(base);
  // Each episode's influence on the merchant's result, and below on the estimate.
  const merchantInfluences = new Float64Array(episodes.length);
  const recovered = Float64Array.from(episodes, (episode) => Number(isRecovered(episode)));
  const recoveredShare = addWeightedMean(merchantInfluences, base, recovered, total);
  const { share, influences } = isMerchants
    ? { share: recoveredShare, influences: merchantInfluences }
    : estimateDoublyRobust(episodes, chosen, depth, base, weighted, groups);
  const merchantShare = {
    share: recoveredShare,
    error: standardErrorOf(clusteredCovariance(episodes, merchantInfluences, merchantInfluences), total),
    effective: effectiveSampleSize(base),
  };
  const strategyShare = isMerchants
    ? merchantShare
    : { share, error: standardErrorOf(clusteredCovariance(episodes, influences, influences), total), effective };
  const ranges: [ConfidenceInterval, ConfidenceInterval] = [
    rangeOfContinued(strategyShare, weighted.continuedShare),
    shareInterval(merchantShare),
  ];
  const correlation = correlationOf(episodes, influences, merchantInfluences);
  const difference = isMerchants
    ? { low: 0, high: 0 }
    : differenceInterval(strategyShare, merchantShare, ranges, correlation);
  return {
    depth,
    share,
    // Unobserved choices could have gone either way.
    low: Math.max(0, ranges[0].low - unseen),
    high: Math.min(1, ranges[0].high + unseen),
    difference: share - recoveredShare,
    differenceLow: difference.low - unseen,
    differenceHigh: difference.high + unseen,
    effective,
    unseen,
  };
}

/** Giving up at once recovers nothing for certain, so only the rest has a range. */
function rangeOfContinued({ share, error, effective }: EstimatedShare, continuedShare: number): ConfidenceInterval {
  if (continuedShare === 0) return { low: 0, high: 0 };
  const { low, high } = shareInterval({ share: share / continuedShare, error: error / continuedShare, effective });
  return { low: low * continuedShare, high: high * continuedShare };
}

/** Its result is then known without weighting. */
const isSameChoices = (episodes: readonly Episode[], chosen: readonly (readonly number[])[], depth: number) =>
  episodes.every(({ decisions }, i) => decisions.slice(0, depth).every(({ choice }, k) => choice === chosen[i]![k]));

/** With each episode's influence on the share. */
function estimateDoublyRobust(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  base: Float64Array,
  { weights, stopDecisions }: EpisodeWeights,
  groups: number,
) {
  const models = crossFitModels(episodes, chosen, depth, groups);
  const total = sum(base);
  const influences = new Float64Array(episodes.length);
  let share = 0;
  const expected = episodes.map(({ decisions }, i) => models[i]!.value(decisions, chosen[i]!, 0));
  share += addWeightedMean(influences, base, expected, total);
  for (let k = 0; k < depth; k++) {
    const residuals = episodes.map(({ decisions }, i) => {
      const decision = decisions[k];
      if (!decision || stopDecisions[i]! <= k || weights[k]![i] === 0) return 0;
      const laterValue =
        k + 1 < depth ? models[i]!.value(decisions, chosen[i]!, k + 1) : isRecoveredFrom(decisions, k + 1);
      return Number(decision.succeeded) + laterValue - models[i]!.expected(k, decision);
    });
    share += addWeightedMean(influences, weights[k]!, residuals, total);
  }
  return { share, influences };
}

export const isEstimate = (answer: Estimate | NotEstimable): answer is Estimate => "share" in answer;

function* allDecisions(episodes: readonly Episode[]) {
  for (const { decisions } of episodes) yield* decisions;
}

const highestGroup = (decisions: readonly EpisodeDecision[]) =>
  decisions.reduce((max, { situation }) => Math.max(max, ...situation), 0);

export const isRecovered = ({ decisions }: Episode) => decisions.some(({ succeeded }) => succeeded);

/** By decision `from` or a later one. */
function isRecoveredFrom(decisions: readonly EpisodeDecision[], from: number): number {
  for (let k = from; k < decisions.length; k++) if (decisions[k]!.succeeded) return 1;
  return 0;
}

/** Estimated from other episodes. */
interface OutcomeModel {
  expected(k: number, decision: Pick<EpisodeDecision, "situation" | "choice">): number;
  /** Of the strategy's choice at decision `k`; 0 if the episode ended earlier. */
  value(decisions: readonly EpisodeDecision[], chosen: readonly number[], k: number): number;
}

/** Cross-fitting: each episode's model was fitted without its customer. */
function crossFitModels(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  groups: number,
): OutcomeModel[] {
  const folds = episodes.map(({ customerId }) => foldOf(customerId));
  const samples = episodes.map(({ decisions }, i) => ({ decisions, chosen: chosen[i]! }));
  const models = Array.from({ length: FOLDS }, (_, fold) =>
    fitOutcomeModel(
      samples.filter((_, i) => folds[i] !== fold),
      depth,
      groups,
    ),
  );
  return folds.map((fold) => models[fold]!);
}

/** Fitted backwards: a choice's value includes what follows if the strategy continues. */
function fitOutcomeModel(
  samples: readonly { decisions: readonly EpisodeDecision[]; chosen: readonly number[] }[],
  depth: number,
  groups: number,
): OutcomeModel {
  const valuesByDecision: ChoiceValues[] = [];
  const expected: OutcomeModel["expected"] = (k, { situation, choice }) =>
    choice === STOP_CHOICE ? 0 : valuesByDecision[k]!.expected(situation, choice);
  const value: OutcomeModel["value"] = (decisions, chosen, k) => {
    const decision = decisions[k];
    return decision ? expected(k, { situation: decision.situation, choice: chosen[k]! }) : 0;
  };
  for (let k = depth - 1; k >= 0; k--) {
    const values = createChoiceValues(groups);
    for (const { decisions, chosen } of samples) {
      const decision = decisions[k];
      if (!decision || decision.choice === STOP_CHOICE) continue;
      const laterValue = k + 1 < depth ? value(decisions, chosen, k + 1) : isRecoveredFrom(decisions, k + 1);
      values.add(decision.situation, decision.choice, Number(decision.succeeded) + laterValue);
    }
    valuesByDecision[k] = values;
  }
  return { expected, value };
}

function foldOf(customerId: string): number {
  let hash = 7;
  for (let n = 0; n < customerId.length; n++) hash = (Math.imul(hash, 31) + customerId.charCodeAt(n)) | 0;
  return (hash >>> 0) % FOLDS;
}

/** Also adds the terms to `influences`. */
function addWeightedMean(
  influences: Float64Array,
  weights: Float64Array,
  values: ArrayLike<number>,
  total: number,
): number {
  const weight = sum(weights);
  let mean = 0;
  for (let i = 0; i < influences.length; i++) mean += (weights[i]! * values[i]!) / weight;
  for (let i = 0; i < influences.length; i++) influences[i]! += ((weights[i]! * total) / weight) * (values[i]! - mean);
  return mean;
}

/** Of two means, clustered by customer. */
function clusteredCovariance(episodes: readonly Episode[], one: ArrayLike<number>, other: ArrayLike<number>): number {
  const byCustomer = new Map<string, [number, number]>();
  episodes.forEach(({ customerId }, i) => {
    const sums = byCustomer.get(customerId) ?? [0, 0];
    byCustomer.set(customerId, [sums[0] + one[i]!, sums[1] + other[i]!]);
  });
  let products = 0;
  for (const [a, b] of byCustomer.values()) products += a * b;
  const customers = byCustomer.size;
  return (products * customers) / Math.max(1, customers - 1);
}

const standardErrorOf = (squares: number, total: number) => Math.sqrt(squares) / total;

function correlationOf(episodes: readonly Episode[], one: ArrayLike<number>, other: ArrayLike<number>): number {
  const scale = Math.sqrt(clusteredCovariance(episodes, one, one) * clusteredCovariance(episodes, other, other));
  return scale > 0 ? clusteredCovariance(episodes, one, other) / scale : 0;
}

/** Kish's formula. */
const effectiveSampleSize = (weights: Float64Array) =>
  sum(weights) ** 2 / weights.reduce((squares, each) => squares + each ** 2, 0);
