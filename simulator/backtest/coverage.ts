import { type Episode, estimate, isSaid } from "../../src/backtest/estimate.ts";
import { GAPS, STOP } from "../../src/backtest/gaps.ts";
import { type MerchantLog, merchantLog, USUAL_GAPS, type Way } from "./merchant-log.ts";

/** Ways to be judged: one that is sooner than the merchant's own, and one that waits longer. */
export const WAYS: Readonly<Record<string, Way>> = {
  sooner: (k, kind, dayOf) => within(k, dayOf, USUAL_GAPS[kind]! - 1),
  later: (k, kind, dayOf) => within(k, dayOf, USUAL_GAPS[kind]! + 1),
};

const within = (k: number, dayOf: number, gap: number) => (k < 4 && dayOf + GAPS[gap]!.from <= 24 ? gap : STOP);

const TRUTH_CUSTOMERS = 300_000;
const TRUTH_SEED = 1_000_003;

/** What is measured of a way, and what is known for it. */
export interface Task {
  money: boolean;
  /** Whether the history says with which chance each choice was made. */
  chancesKnown: boolean;
}

/** How often the truth was inside. */
export interface Coverage extends Task {
  way: string;
  /** Runs in which anything was said; of these, those whose interval held the truth. */
  said: number;
  covered: number;
  /** Mean over these runs: half the interval's width, and the estimate less the truth. */
  half: number;
  bias: number;
}

/** Backtests of ways that own their first `depth` decisions, on `runs` stretches of history, judged by what they do in truth. */
export function coverage(
  runs: number,
  ways: readonly string[],
  tasks: readonly Task[],
  depth: number,
  customers: number,
): Coverage[] {
  const found = ways.flatMap((way) => tasks.map((task) => ({ way, ...task, said: 0, covered: 0, half: 0, bias: 0 })));
  const judged = ways.map((way) => WAYS[way]!);
  const truths = new Map(ways.map((way) => [way, truthOf(WAYS[way]!, depth)]));
  for (let run = 0; run < runs; run++) {
    const log = merchantLog({ customers, depth: 0 }, judged, run);
    const hidden = log.episodes.map(withoutChances);
    for (const each of found) {
      const episodes = each.chancesKnown ? log.episodes : hidden;
      const chosen = log.chosen[ways.indexOf(each.way)]!;
      const answer = estimate(episodes, chosen, depth, each.money ? ({ amount }) => amount : () => 1);
      if (!isSaid(answer)) continue;
      const truth = truths.get(each.way)![each.money ? "money" : "count"];
      each.said++;
      if (answer.low <= truth && truth <= answer.high) each.covered++;
      each.half += (answer.high - answer.low) / 2;
      each.bias += answer.share - truth;
    }
  }
  return found.map((each) => ({ ...each, half: each.half / each.said, bias: each.bias / each.said }));
}

/** What a way recovers in truth, as a share of invoices and of money. */
function truthOf(way: Way, depth: number): { count: number; money: number } {
  const { episodes }: MerchantLog = merchantLog({ customers: TRUTH_CUSTOMERS, depth }, [way], TRUTH_SEED);
  let [recovered, amount, money] = [0, 0, 0];
  for (const episode of episodes) {
    amount += episode.amount;
    if (!episode.decisions.some(({ succeeded }) => succeeded)) continue;
    recovered++;
    money += episode.amount;
  }
  return { count: recovered / episodes.length, money: money / amount };
}

const withoutChances = (episode: Episode): Episode => ({
  ...episode,
  decisions: episode.decisions.map((decided) => ({ ...decided, chance: null })),
});
