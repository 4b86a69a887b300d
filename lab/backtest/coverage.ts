import { type Episode, estimateStrategy, isEstimate } from "../../src/backtest/estimate.ts";
import { RETRY_GAPS, STOP_CHOICE } from "../../src/backtest/retry-gaps.ts";
import {
  createMerchantLog,
  type LogOptions,
  type MerchantLog,
  type RetryStrategy,
  USUAL_GAPS,
} from "./merchant-log.ts";

/** Ways to be judged: one that is sooner than the merchant's own, one that waits longer, and one that does what it does most often. */
export const STRATEGIES: Readonly<Record<string, RetryStrategy>> = {
  sooner: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! - 1),
  later: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! + 1),
  usual: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! + Math.floor(k / 2)),
};

const limitGap = (k: number, dayOf: number, gap: number) =>
  k < 4 && dayOf + RETRY_GAPS[gap]!.from <= 24 ? gap : STOP_CHOICE;

const TRUTH_CUSTOMERS = 300_000;
const TRUTH_SEED = 1_000_003;

/** What is measured of a way, and what is known for it. */
export interface CoverageTask {
  money: boolean;
  /** Whether the history says with which chance each choice was made. */
  chancesKnown: boolean;
}

/** What is backtested: so many first decisions are the ways' own. */
type HistoryOptions = LogOptions;

/** How often the truth was inside. */
export interface Coverage extends CoverageTask {
  way: string;
  /** What it recovers in truth. */
  truth: number;
  /** Runs in which anything was said; of these, those whose interval held the truth, and those whose interval of the difference held that. */
  said: number;
  covered: number;
  differences: number;
  /** Mean over these runs: half the interval's width, and the estimate less the truth. */
  half: number;
  bias: number;
}

/** Backtests of ways on `runs` stretches of history, judged by what they do in truth. */
export function measureCoverage(
  runs: number,
  ways: readonly string[],
  tasks: readonly CoverageTask[],
  of: HistoryOptions,
): Coverage[] {
  const { depth } = of;
  const judged = ways.map((way) => STRATEGIES[way]!);
  const own = trueValueOf(judged[0]!, { ...of, depth: 0 });
  const found = ways.flatMap((way) => {
    const truth = trueValueOf(STRATEGIES[way]!, of);
    return tasks.map((task) => {
      const measure = task.money ? ("money" as const) : ("count" as const);
      const none = { said: 0, covered: 0, differences: 0, half: 0, bias: 0 };
      return { way, ...task, truth: truth[measure], difference: truth[measure] - own[measure], ...none };
    });
  });
  for (let run = 0; run < runs; run++) {
    const log = createMerchantLog({ ...of, depth: 0 }, judged, run);
    const hidden = log.episodes.map(removeChances);
    for (const each of found) {
      const episodes = each.chancesKnown ? log.episodes : hidden;
      const chosen = log.chosen[ways.indexOf(each.way)]!;
      const answer = estimateStrategy(episodes, chosen, depth, each.money ? ({ amount }) => amount : () => 1);
      if (!isEstimate(answer)) continue;
      each.said++;
      if (answer.low <= each.truth && each.truth <= answer.high) each.covered++;
      if (answer.differenceLow <= each.difference && each.difference <= answer.differenceHigh) each.differences++;
      each.half += (answer.high - answer.low) / 2;
      each.bias += answer.share - each.truth;
    }
  }
  return found.map((each) => ({ ...each, half: each.half / each.said, bias: each.bias / each.said }));
}

/** What a way recovers in truth, as a share of invoices and of money. */
function trueValueOf(way: RetryStrategy, of: HistoryOptions): { count: number; money: number } {
  const { episodes }: MerchantLog = createMerchantLog({ ...of, customers: TRUTH_CUSTOMERS }, [way], TRUTH_SEED);
  let [recovered, amount, money] = [0, 0, 0];
  for (const episode of episodes) {
    amount += episode.amount;
    if (!episode.decisions.some(({ succeeded }) => succeeded)) continue;
    recovered++;
    money += episode.amount;
  }
  return { count: recovered / episodes.length, money: money / amount };
}

const removeChances = (episode: Episode): Episode => ({
  ...episode,
  decisions: episode.decisions.map((decided) => ({ ...decided, chance: null })),
});
