import { type Habits, habitsOf, newWorths, type Situation, type Worths } from "./fit.ts";
import { STOP } from "./gaps.ts";

/** One decision of a failed invoice, after one of its failures. */
export interface Decided {
  situation: Situation;
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
  decisions: readonly Decided[];
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
  /** Share of the invoices in which it does what the merchant's system never did. */
  unseen: number;
}

/** Why nothing is said. */
export interface NotSaid {
  depth: number;
  why: "few" | "unseen";
  effective: number;
  unseen: number;
}

/** Below this the intervals are not what they say. */
const EFFECTIVE_MIN = 200;
/** More than this share of the choices unseen, and the answer would be invented. */
const UNSEEN_MAX = 0.05;
/** A choice that was made less often than this in alike situations was not really seen. */
const SEEN_MIN = 5;
const CHANCE_MIN = 0.005;
const FOLDS = 5;
const Z95 = 1.96;

/**
 * Estimates what other choices would have recovered, from a history in which choices varied: doubly robust, with self-normalised weights,
 * step by step. It is right when the chances of the merchant's choices are right, or what each choice is worth; intervals count
 * customers.
 *
 * @param chosen  by episode and decision: the choice of the way that is judged, at least for the first `depth` decisions
 * @param depth  how many decisions are its own
 * @param weightOf  1 for invoices, the amount for money
 */
export function estimate(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  weightOf: (episode: Episode) => number,
): Estimate | NotSaid {
  const groups = 1 + episodes.reduce((most, { decisions }) => Math.max(most, highestGroup(decisions)), 0);
  const habits = habitsOf(decisionsOf(episodes), groups);
  const weighed = weigh(episodes, chosen, depth, weightOf, habits);
  const isOwn = choseAlike(episodes, chosen, depth);
  const { effective } = weighed;
  // What the merchant's system did itself was seen, however seldom.
  const unseen = isOwn ? 0 : weighed.unseen;
  if (effective < EFFECTIVE_MIN) return { depth, why: "few", effective, unseen };
  if (unseen > UNSEEN_MAX) return { depth, why: "unseen", effective, unseen };

  const base = Float64Array.from(episodes, weightOf);
  const total = sum(base);
  // How far each episode moved what was recovered, and how far it moves the estimate.
  const own = new Float64Array(episodes.length);
  const recovered = Float64Array.from(episodes, (episode) => Number(isRecovered(episode)));
  const recoveredShare = addStep(own, base, recovered, total);
  const { share, moves } = isOwn
    ? { share: recoveredShare, moves: own }
    : stepByStep(episodes, chosen, depth, base, weighed, groups);
  const error = clusteredError(episodes, moves, total);
  const differences = moves.map((move, i) => move - own[i]!);
  const differenceError = clusteredError(episodes, differences, total);
  const difference = share - recoveredShare;
  // What was never seen may have gone either way.
  const half = Z95 * error + unseen;
  const differenceHalf = Z95 * differenceError + unseen;
  return {
    depth,
    share,
    low: Math.max(0, share - half),
    high: Math.min(1, share + half),
    difference,
    differenceLow: difference - differenceHalf,
    differenceHigh: difference + differenceHalf,
    effective,
    unseen,
  };
}

/** Whether a way chose as the merchant's system did, everywhere. Then what it recovers is known, and nothing is to be weighed. */
const choseAlike = (episodes: readonly Episode[], chosen: readonly (readonly number[])[], depth: number) =>
  episodes.every(({ decisions }, i) => decisions.slice(0, depth).every(({ choice }, k) => choice === chosen[i]![k]));

/** The recovered share, and how far each episode moves it. */
function stepByStep(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  base: Float64Array,
  { weights, stopped }: ReturnType<typeof weigh>,
  groups: number,
) {
  const models = modelsOf(episodes, chosen, depth, groups);
  const total = sum(base);
  const moves = new Float64Array(episodes.length);
  let share = 0;
  const expected = episodes.map(({ decisions }, i) => models[i]!.worth(decisions, chosen[i]!, 0));
  share += addStep(moves, base, expected, total);
  for (let k = 0; k < depth; k++) {
    const residuals = episodes.map(({ decisions }, i) => {
      const decided = decisions[k];
      if (!decided || stopped[i]! <= k || weights[k]![i] === 0) return 0;
      const then = k + 1 < depth ? models[i]!.worth(decisions, chosen[i]!, k + 1) : later(decisions, k + 1);
      return Number(decided.succeeded) + then - models[i]!.expected(k, decided);
    });
    share += addStep(moves, weights[k]!, residuals, total);
  }
  return { share, moves };
}

export const isSaid = (answer: Estimate | NotSaid): answer is Estimate => "share" in answer;

function* decisionsOf(episodes: readonly Episode[]) {
  for (const { decisions } of episodes) yield* decisions;
}

const highestGroup = (decisions: readonly Decided[]) =>
  decisions.reduce((most, { situation }) => Math.max(most, ...situation), 0);

const isRecovered = ({ decisions }: Episode) => decisions.some(({ succeeded }) => succeeded);

/** Whether an invoice is recovered by its decision `from` or a later one, as it was. */
function later(decisions: readonly Decided[], from: number): number {
  for (let k = from; k < decisions.length; k++) if (decisions[k]!.succeeded) return 1;
  return 0;
}

/**
 * How much each episode speaks for the way that is judged, after each of its decisions: none once the two differed, and the more the
 * seldomer the merchant's system chooses so. An invoice that is over keeps its weight.
 */
function weigh(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  weightOf: (episode: Episode) => number,
  habits: Habits,
) {
  const weights: Float64Array[] = [];
  let former = Float64Array.from(episodes, weightOf);
  /** At which decision the judged way gives up. */
  const stopped = new Float64Array(episodes.length).fill(Number.POSITIVE_INFINITY);
  let effective = episodes.length;
  let unseen = 0;
  for (let k = 0; k < depth; k++) {
    const now = Float64Array.from(former);
    let [asked, live, squares, blind] = [0, 0, 0, 0];
    episodes.forEach(({ decisions }, i) => {
      const decided = decisions[k];
      if (!decided || stopped[i]! < k) return;
      const wanted = chosen[i]![k]!;
      if (wanted === STOP) {
        stopped[i] = k;
        return;
      }
      asked++;
      const { situation, choice, chance } = decided;
      if (habits.seen(situation, wanted) < SEEN_MIN) blind += former[i]!;
      now[i] = choice === wanted ? former[i]! / Math.max(chance ?? habits.chance(situation, choice), CHANCE_MIN) : 0;
      live += now[i]!;
      squares += now[i]! ** 2;
    });
    unseen += blind / sum(former);
    if (asked > 0) effective = Math.min(effective, squares > 0 ? live ** 2 / squares : 0);
    weights.push(now);
    former = now;
  }
  return { weights, stopped, effective, unseen };
}

/** What decisions are worth, for one part of the episodes learned from the other parts. */
interface Model {
  expected(k: number, decided: Pick<Decided, "situation" | "choice">): number;
  /** What the judged way expects at decision `k` of an episode; 0 when it was over before. */
  worth(decisions: readonly Decided[], chosen: readonly number[], k: number): number;
}

/** For each episode a model that has seen none of its customer. */
function modelsOf(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  groups: number,
): Model[] {
  const folds = episodes.map(({ customerId }) => foldOf(customerId));
  const seen = episodes.map(({ decisions }, i) => ({ decisions, chosen: chosen[i]! }));
  const models = Array.from({ length: FOLDS }, (_, fold) =>
    modelOf(
      seen.filter((_, i) => folds[i] !== fold),
      depth,
      groups,
    ),
  );
  return folds.map((fold) => models[fold]!);
}

/** Backwards: what a choice is worth is what follows when the judged way goes on. */
function modelOf(
  seen: readonly { decisions: readonly Decided[]; chosen: readonly number[] }[],
  depth: number,
  groups: number,
): Model {
  const worths: Worths[] = [];
  const expected: Model["expected"] = (k, { situation, choice }) =>
    choice === STOP ? 0 : worths[k]!.expected(situation, choice);
  const worth: Model["worth"] = (decisions, chosen, k) => {
    const decided = decisions[k];
    return decided ? expected(k, { situation: decided.situation, choice: chosen[k]! }) : 0;
  };
  for (let k = depth - 1; k >= 0; k--) {
    const fitted = newWorths(groups);
    for (const { decisions, chosen } of seen) {
      const decided = decisions[k];
      if (!decided || decided.choice === STOP) continue;
      const then = k + 1 < depth ? worth(decisions, chosen, k + 1) : later(decisions, k + 1);
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
function addStep(moves: Float64Array, weights: Float64Array, values: ArrayLike<number>, total: number): number {
  const weight = sum(weights);
  let mean = 0;
  for (let i = 0; i < moves.length; i++) mean += (weights[i]! * values[i]!) / weight;
  for (let i = 0; i < moves.length; i++) moves[i]! += ((weights[i]! * total) / weight) * (values[i]! - mean);
  return mean;
}

/** Standard error of a mean whose terms come in customers. */
function clusteredError(episodes: readonly Episode[], moves: ArrayLike<number>, total: number): number {
  const byCustomer = new Map<string, number>();
  episodes.forEach(({ customerId }, i) => {
    byCustomer.set(customerId, (byCustomer.get(customerId) ?? 0) + moves[i]!);
  });
  let squares = 0;
  for (const move of byCustomer.values()) squares += move * move;
  const customers = byCustomer.size;
  return (Math.sqrt(squares) / total) * Math.sqrt(customers / Math.max(1, customers - 1));
}

const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
