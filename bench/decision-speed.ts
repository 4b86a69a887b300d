// `node bench/decision-speed.ts`: CPU time of one decision over all moments of 28 days, and of one lesson; medians of rounds.

import { shippedPrior } from "../simulator/trial/worlds.ts";
import { chooseTry } from "../src/decisions/choose-try.ts";
import { newBelief, newPerson } from "../src/model/belief.ts";
import { learnOutcome } from "../src/model/learn.ts";
import { fromPrior } from "../src/model/prior.ts";

const DAY_MS = 86_400_000;
const ROUNDS = 21;
const PER_ROUND = 250;
const learned = fromPrior(shippedPrior());
const countries = ["US", "GB", "DE", "BR", "SE", "AU"];
const reasons = ["FUNDS", "GENERIC", "UNKNOWN"] as const;

function cpuMicros(work: (n: number) => void): number {
  let done = 0;
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let n = 0; n < PER_ROUND; n++) work(done++);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / PER_ROUND;
  });
  return rounds.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

function caseOf(n: number) {
  const failedAt = Date.UTC(2026, n % 12, 1 + (n % 28), n % 24);
  const person = newPerson(learned, countries[n % countries.length]!);
  const facts = {
    reason: reasons[n % 3]!,
    code: "51",
    standing: n % 3,
    names: new Int32Array(0),
    offsetMs: 0,
    failedAt,
    recent: [failedAt],
  };
  return { person, belief: newBelief(learned, person, facts), failedAt };
}
const cases = Array.from({ length: 500 }, (_, n) => caseOf(n));

const decision = cpuMicros((n) => {
  const { belief, failedAt } = cases[n % cases.length]!;
  chooseTry(learned, belief, {
    key: `case-${n}`,
    now: failedAt,
    windowEndsAt: failedAt + 28 * DAY_MS,
    triesLeft: 6,
    allow: () => true,
    stakes: { worthAt: (at) => 1 - (0.004 * (at - failedAt)) / DAY_MS, cost: 0.008 },
  });
});
const lesson = cpuMicros((n) => {
  const { person, belief, failedAt } = cases[n % cases.length]!;
  learnOutcome(learned, person, belief, failedAt + ((n / 500) | 0) * 0.1 * DAY_MS, n % 3 === 0 ? null : "FUNDS");
});
console.log(`decision ${decision.toFixed(0)} µs of CPU (aim 200), lesson ${lesson.toFixed(1)} µs (aim 20)`);
