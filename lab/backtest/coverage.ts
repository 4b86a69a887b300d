import { type Episode, estimateStrategy, isEstimate } from "../../src/backtest/estimate.ts";
import { RETRY_GAPS, STOP_CHOICE } from "../../src/backtest/retry-gaps.ts";
import { createMerchantLog, type LogOptions, type RetryStrategy, USUAL_GAPS } from "./merchant-log.ts";

export const STRATEGIES: Readonly<Record<string, RetryStrategy>> = {
  sooner: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! - 1),
  later: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! + 1),
  usual: (k, kind, dayOf) => limitGap(k, dayOf, USUAL_GAPS[kind]! + Math.floor(k / 2)),
};

const limitGap = (k: number, dayOf: number, gap: number) =>
  k < 4 && dayOf + RETRY_GAPS[gap]!.from <= 24 ? gap : STOP_CHOICE;

const TRUTH_CUSTOMERS = 300_000;
/** A log with all of them would fill the memory, and the garbage collector took most of the time. */
const TRUTH_LOG_CUSTOMERS = 3000;
const TRUTH_SEED = 1_000_003;

export interface CoverageTask {
  money: boolean;
  chancesKnown: boolean;
}

/** `truthCustomers`: how many show the truth. */
type HistoryOptions = LogOptions & { truthCustomers?: number };

export interface Coverage extends CoverageTask {
  strategy: string;
  truth: number;
  /** Runs with an estimate, with an interval that held the truth, and the same for a difference. */
  estimateCount: number;
  covered: number;
  differences: number;
  /** Means over these runs: half the interval's width, and estimate minus truth. */
  halfWidth: number;
  bias: number;
}

export function measureCoverage(
  runs: number,
  strategyNames: readonly string[],
  tasks: readonly CoverageTask[],
  options: HistoryOptions,
): Coverage[] {
  const { depth } = options;
  const strategies = strategyNames.map((name) => STRATEGIES[name]!);
  const ownStrategy = trueValueOf(strategies[0]!, { ...options, depth: 0 });
  const results = strategyNames.flatMap((strategyName) => {
    const truth = trueValueOf(STRATEGIES[strategyName]!, options);
    return tasks.map((task) => {
      const measure = task.money ? ("money" as const) : ("count" as const);
      const zeroCounts = { estimateCount: 0, covered: 0, differences: 0, halfWidth: 0, bias: 0 };
      return {
        strategy: strategyName,
        ...task,
        truth: truth[measure],
        difference: truth[measure] - ownStrategy[measure],
        ...zeroCounts,
      };
    });
  });
  for (let run = 0; run < runs; run++) {
    const log = createMerchantLog({ ...options, depth: 0 }, strategies, run);
    const hidden = log.episodes.map(removeChances);
    for (const each of results) {
      const episodes = each.chancesKnown ? log.episodes : hidden;
      const choices = log.choicesByStrategy[strategyNames.indexOf(each.strategy)]!;
      const answer = estimateStrategy(episodes, choices, depth, each.money ? ({ amount }) => amount : () => 1);
      if (!isEstimate(answer)) continue;
      each.estimateCount++;
      if (answer.low <= each.truth && each.truth <= answer.high) each.covered++;
      if (answer.differenceLow <= each.difference && each.difference <= answer.differenceHigh) each.differences++;
      each.halfWidth += (answer.high - answer.low) / 2;
      each.bias += answer.share - each.truth;
    }
  }
  return results.map((each) => ({
    ...each,
    halfWidth: each.halfWidth / each.estimateCount,
    bias: each.bias / each.estimateCount,
  }));
}

function trueValueOf(strategy: RetryStrategy, options: HistoryOptions): { count: number; money: number } {
  let [invoices, recovered, amount, money] = [0, 0, 0, 0];
  const logCount = Math.ceil((options.truthCustomers ?? TRUTH_CUSTOMERS) / TRUTH_LOG_CUSTOMERS);
  for (let log = 0; log < logCount; log++) {
    const logOptions = { ...options, customers: TRUTH_LOG_CUSTOMERS };
    for (const episode of createMerchantLog(logOptions, [strategy], TRUTH_SEED + log).episodes) {
      invoices++;
      amount += episode.amount;
      if (!episode.decisions.some(({ succeeded }) => succeeded)) continue;
      recovered++;
      money += episode.amount;
    }
  }
  return { count: recovered / invoices, money: money / amount };
}

const removeChances = (episode: Episode): Episode => ({
  ...episode,
  decisions: episode.decisions.map((decided) => ({ ...decided, chance: null })),
});
