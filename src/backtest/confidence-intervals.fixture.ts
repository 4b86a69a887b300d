import assert from "node:assert/strict";
import { createRandom } from "../../lab/experiments/random-numbers.ts";
import { type Episode, estimateStrategy, isEstimate } from "./estimate.ts";

/** A strategy recovers the first share of invoices, and the merchant's other choices the second. */
const RARE_SHARES = [
  [0.01, 0.1],
  [0.02, 0.1],
  [0.98, 0.9],
] as const;

/** Asserts for rare outcomes that at least this many intervals of a share, and of a difference, hold the truth. */
export function assertCoverage(runs: number, coveredMin: number) {
  const random = createRandom(7);
  const history = (invoices: number, chanceOf: (gap: number) => number): Episode[] =>
    Array.from({ length: invoices }, (_, n) => {
      const choice = 1 + Math.floor(random() * 4);
      const decision = { situation: [0, 1, 2], choice, chance: null, succeeded: random() < chanceOf(choice) };
      return { customerId: `${n}`, amount: 1, decisions: [decision] };
    });
  for (const [truth, others] of RARE_SHARES) {
    let [inside, differences] = [0, 0];
    for (let run = 0; run < runs; run++) {
      const episodes = history(1300, (gap) => (gap === 1 ? truth : others));
      const chosen = episodes.map(() => [1]);
      const answer = estimateStrategy(episodes, chosen, 1, () => 1);
      assert.ok(isEstimate(answer));
      const difference = (3 / 4) * (truth - others);
      if (answer.low <= truth && truth <= answer.high) inside++;
      if (answer.differenceLow <= difference && difference <= answer.differenceHigh) differences++;
    }
    const covered = `${truth}: ${inside} and ${differences} of ${runs}`;
    assert.ok(inside >= coveredMin && differences >= coveredMin, covered);
  }
}
