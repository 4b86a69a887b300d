import { type ChoiceValues, createChoiceValues, type DecisionContext, fitBehaviorModel } from "./behavior-model.ts";
import {
  type ConfidenceInterval,
  differenceInterval,
  type EstimatedShare,
  shareInterval,
} from "./confidence-intervals.ts";
import { type EpisodeWeights, MAX_UNSEEN_SHARE, sum, weighEpisodes } from "./importance-weights.ts";
import { STOP_CHOICE } from "./retry-gaps.ts";

/** One decision of a failed invoice, after one of its failures. */
export interface EpisodeDecision {
  situation: DecisionContext;
  /** What the merchant's own system did. */
  choice: number;
  /** With which chance it did so, where that is known. */
  chance: number | null;
  /** Whether the try that followed succeeded. */
  succeeded: boolean;
}

/** A failed invoice of the history with all that was decided about it, oldest first. */
export interface Episode {
  /** Invoices of one customer fare alike. */
  customerId: string;
  /** Minor units. */
  amount: number;
  decisions: readonly EpisodeDecision[];
}

/** What a way of trying again would have recovered, and how sure that is. */
export interface Estimate {
  /** So many first decisions are its own; the merchant's own system goes on after that. */
  depth: number;
  /** Recovered share of what failed. */
  share: number;
  low: number;
  high: number;
  /** The same, less what was recovered. */
  difference: number;
  differenceLow: number;
  differenceHigh: number;
  /** At its last own decision the history weighs as much as so many invoices drawn at random. */
  effective: number;
  /** Share of the invoices in which it does what the merchant's system hardly ever did. */
  unseen: number;
}

/** Why nothing is said. */
export interface NotEstimable {
  depth: number;
  /** `chances`: those that the history states are not those of what it shows. */
  why: "few" | "unseen" | "chances";
  effective: number;
  unseen: number;
  /** Of `chances` alone: by those, what was done alike stands for so many times the invoices that it has to stand for. */
  standsFor?: number;
}

/** Below this the intervals are not what they say. */
export const MIN_EFFECTIVE_SAMPLE = 200;
const FOLDS = 5;

/**
 * Estimates what other choices would have recovered, from a history in which choices varied: doubly robust, with self-normalised weights,
 * step by step. It is right when the chances of the merchant's choices are right, or what each choice is worth; intervals count
 * customers.
 *
 * @param chosen  by episode and decision: the choice of the way that is judged, at least for the first `depth` decisions
 * @param depth  how many decisions are its own
 * @param weightOf  1 for invoices, the amount for money
 */
export function estimateStrategy(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  weightOf: (episode: Episode) => number,
): Estimate | NotEstimable {
  const groups = 1 + episodes.reduce((most, { decisions }) => Math.max(most, highestGroup(decisions)), 0);
  const habits = fitBehaviorModel(allDecisions(episodes), groups);
  const weighed = weighEpisodes(episodes, chosen, depth, weightOf, habits);
  const isOwn = isSameChoices(episodes, chosen, depth);
  const { effective } = weighed;
  // What the merchant's system did itself was seen, however seldom.
  const unseen = isOwn ? 0 : weighed.unseen;
  if (effective < MIN_EFFECTIVE_SAMPLE) return { depth, why: "few", effective, unseen };
  if (unseen > MAX_UNSEEN_SHARE) return { depth, why: "unseen", effective, unseen };
  const { standsFor } = weighed;
  if (!isOwn && standsFor !== null) return { depth, why: "chances", effective, unseen, standsFor };

  const base = Float64Array.from(episodes, weightOf);
  const total = sum(base);
  // How far each episode moved what was recovered, and how far it moves the estimate.
  const own = new Float64Array(episodes.length);
  const recovered = Float64Array.from(episodes, (episode) => Number(isRecovered(episode)));
  const recoveredShare = addWeightedMean(own, base, recovered, total);
  const { share, moves } = isOwn
    ? { share: recoveredShare, moves: own }
    : estimateDoublyRobust(episodes, chosen, depth, base, weighed, groups);
  const owns = {
    share: recoveredShare,
    error: standardErrorOf(clusteredCovariance(episodes, own, own), total),
    effective: effectiveSampleSize(base),
  };
  const known = isOwn
    ? owns
    : { share, error: standardErrorOf(clusteredCovariance(episodes, moves, moves), total), effective };
  const ranges: [ConfidenceInterval, ConfidenceInterval] = [
    rangeOfRequested(known, weighed.asked),
    shareInterval(owns),
  ];
  const difference = isOwn
    ? { low: 0, high: 0 }
    : differenceInterval(known, owns, ranges, correlationOf(episodes, moves, own));
  return {
    depth,
    share,
    // What was hardly ever seen may have gone either way.
    low: Math.max(0, ranges[0].low - unseen),
    high: Math.min(1, ranges[0].high + unseen),
    difference: share - recoveredShare,
    differenceLow: difference.low - unseen,
    differenceHigh: difference.high + unseen,
    effective,
    unseen,
  };
}

/** Of what is given up at once it is known that nothing comes, so only the rest has a range. */
function rangeOfRequested({ share, error, effective }: EstimatedShare, asked: number): ConfidenceInterval {
  if (asked === 0) return { low: 0, high: 0 };
  const { low, high } = shareInterval({ share: share / asked, error: error / asked, effective });
  return { low: low * asked, high: high * asked };
}

/** Whether a way chose as the merchant's system did, everywhere. Then what it recovers is known, and nothing is to be weighed. */
const isSameChoices = (episodes: readonly Episode[], chosen: readonly (readonly number[])[], depth: number) =>
  episodes.every(({ decisions }, i) => decisions.slice(0, depth).every(({ choice }, k) => choice === chosen[i]![k]));

/** The recovered share, and how far each episode moves it. */
function estimateDoublyRobust(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  base: Float64Array,
  { weights, stopped }: EpisodeWeights,
  groups: number,
) {
  const models = crossFitModels(episodes, chosen, depth, groups);
  const total = sum(base);
  const moves = new Float64Array(episodes.length);
  let share = 0;
  const expected = episodes.map(({ decisions }, i) => models[i]!.worth(decisions, chosen[i]!, 0));
  share += addWeightedMean(moves, base, expected, total);
  for (let k = 0; k < depth; k++) {
    const residuals = episodes.map(({ decisions }, i) => {
      const decided = decisions[k];
      if (!decided || stopped[i]! <= k || weights[k]![i] === 0) return 0;
      const then = k + 1 < depth ? models[i]!.worth(decisions, chosen[i]!, k + 1) : isRecoveredFrom(decisions, k + 1);
      return Number(decided.succeeded) + then - models[i]!.expected(k, decided);
    });
    share += addWeightedMean(moves, weights[k]!, residuals, total);
  }
  return { share, moves };
}

export const isEstimate = (answer: Estimate | NotEstimable): answer is Estimate => "share" in answer;

function* allDecisions(episodes: readonly Episode[]) {
  for (const { decisions } of episodes) yield* decisions;
}

const highestGroup = (decisions: readonly EpisodeDecision[]) =>
  decisions.reduce((most, { situation }) => Math.max(most, ...situation), 0);

export const isRecovered = ({ decisions }: Episode) => decisions.some(({ succeeded }) => succeeded);

/** Whether an invoice is recovered by its decision `from` or a later one, as it was. */
function isRecoveredFrom(decisions: readonly EpisodeDecision[], from: number): number {
  for (let k = from; k < decisions.length; k++) if (decisions[k]!.succeeded) return 1;
  return 0;
}

/** What decisions are worth, for one part of the episodes learned from the other parts. */
interface OutcomeModel {
  expected(k: number, decided: Pick<EpisodeDecision, "situation" | "choice">): number;
  /** What the judged way expects at decision `k` of an episode; 0 when it was over before. */
  worth(decisions: readonly EpisodeDecision[], chosen: readonly number[], k: number): number;
}

/** For each episode a model that has seen none of its customer. */
function crossFitModels(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  groups: number,
): OutcomeModel[] {
  const folds = episodes.map(({ customerId }) => foldOf(customerId));
  const seen = episodes.map(({ decisions }, i) => ({ decisions, chosen: chosen[i]! }));
  const models = Array.from({ length: FOLDS }, (_, fold) =>
    fitOutcomeModel(
      seen.filter((_, i) => folds[i] !== fold),
      depth,
      groups,
    ),
  );
  return folds.map((fold) => models[fold]!);
}

/** Backwards: what a choice is worth is what follows when the judged way goes on. */
function fitOutcomeModel(
  seen: readonly { decisions: readonly EpisodeDecision[]; chosen: readonly number[] }[],
  depth: number,
  groups: number,
): OutcomeModel {
  const worths: ChoiceValues[] = [];
  const expected: OutcomeModel["expected"] = (k, { situation, choice }) =>
    choice === STOP_CHOICE ? 0 : worths[k]!.expected(situation, choice);
  const worth: OutcomeModel["worth"] = (decisions, chosen, k) => {
    const decided = decisions[k];
    return decided ? expected(k, { situation: decided.situation, choice: chosen[k]! }) : 0;
  };
  for (let k = depth - 1; k >= 0; k--) {
    const fitted = createChoiceValues(groups);
    for (const { decisions, chosen } of seen) {
      const decided = decisions[k];
      if (!decided || decided.choice === STOP_CHOICE) continue;
      const then = k + 1 < depth ? worth(decisions, chosen, k + 1) : isRecoveredFrom(decisions, k + 1);
      fitted.add(decided.situation, decided.choice, Number(decided.succeeded) + then);
    }
    worths[k] = fitted;
  }
  return { expected, worth };
}

function foldOf(customerId: string): number {
  let hash = 7;
  for (let n = 0; n < customerId.length; n++) hash = (Math.imul(hash, 31) + customerId.charCodeAt(n)) | 0;
  return (hash >>> 0) % FOLDS;
}

/** Adds a weighted mean's terms to `moves`, and returns the mean. */
function addWeightedMean(moves: Float64Array, weights: Float64Array, values: ArrayLike<number>, total: number): number {
  const weight = sum(weights);
  let mean = 0;
  for (let i = 0; i < moves.length; i++) mean += (weights[i]! * values[i]!) / weight;
  for (let i = 0; i < moves.length; i++) moves[i]! += ((weights[i]! * total) / weight) * (values[i]! - mean);
  return mean;
}

/** How far customers move two means together, a sum of products: invoices of one customer go together. */
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

/** So many equal weights would tell as much. */
const effectiveSampleSize = (weights: Float64Array) =>
  sum(weights) ** 2 / weights.reduce((squares, each) => squares + each ** 2, 0);
