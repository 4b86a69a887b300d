import { type Episode, estimateStrategy, isEstimate } from "../../src/backtest/estimate.ts";
import { RETRY_GAPS, STOP_CHOICE } from "../../src/backtest/retry-gaps.ts";
import {
  createMerchantLog,
  type LogOptions,
  type MerchantLog,
  type RetryStrategy,
  USUAL_GAPS,
} from "./merchant-log.ts";

export const STRATEGIES: Readonly<Record<string, RetryStrategy>> = {
  sooner: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! - 1),
  later: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! + 1),
  usual: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! + Math.floor(k / 2)),
};

const limitGap = (k: number, dayOf: number, gap: number) =>
  k < 4 && dayOf + RETRY_GAPS[gap]!.from <= 24 ? gap : STOP_CHOICE;

const TRUTH_CUSTOMERS = 300_000;
const TRUTH_SEED = 1_000_003;

export interface CoverageTask {
  money: boolean;
  chancesKnown: boolean;
}

type HistoryOptions = LogOptions;

export interface Coverage extends CoverageTask {
  way: string;
  truth: number;
  /** Runs with an estimate, with an interval that held the truth, and with a difference's interval that did. */
  said: number;
  covered: number;
  differences: number;
  /** Means over these runs: half the interval's width, and estimate minus truth. */
  half: number;
  bias: number;
}

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
