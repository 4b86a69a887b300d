// `npm run lab -- backtest`: how often a backtest's intervals hold the known truth.
import { parseArgs } from "node:util";
import { measureCoverage } from "../backtest/coverage.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "1000" } } });
const runs = Number(values.runs);
const ESTIMATED_PROPENSITIES = { money: false, chancesKnown: false };
const KNOWN_PROPENSITIES = { money: false, chancesKnown: true };
const WEIGHTED_BY_MONEY = { money: true, chancesKnown: false };
const BOTH = ["sooner", "later"];
const makeRareWorld = (ease: number) => ({
  ways: ["later"],
  of: { depth: 1, customers: 3000, ease },
  tasks: [ESTIMATED_PROPENSITIES, KNOWN_PROPENSITIES, WEIGHTED_BY_MONEY],
});
const PARTS = [
  {
    ways: BOTH,
    of: { depth: 1, customers: 3000 },
    tasks: [ESTIMATED_PROPENSITIES, KNOWN_PROPENSITIES, WEIGHTED_BY_MONEY],
  },
  { ways: BOTH, of: { depth: 2, customers: 10_000 }, tasks: [ESTIMATED_PROPENSITIES] },
  // So many retries can be estimated only for a merchant that mostly follows the strategy itself.
  {
    ways: ["usual"],
    of: { depth: 3, customers: 5_000, isSteady: true },
    tasks: [ESTIMATED_PROPENSITIES, KNOWN_PROPENSITIES, WEIGHTED_BY_MONEY],
  },
  {
    ways: ["usual"],
    of: { depth: 4, customers: 10_000, isSteady: true },
    tasks: [ESTIMATED_PROPENSITIES, KNOWN_PROPENSITIES, WEIGHTED_BY_MONEY],
  },
  // About 1%, 2%, 5%, 95% and 98% are recovered.
  ...[-5.4, -4.7, -3.7, 5.55, 6.35].map(makeRareWorld),
];

let missed = 0;
const percent = (share: number) => (share * 100).toFixed(1);
const isCoverageValid = (share: number) => share >= 0.93 && share <= 0.97;
console.log(`95% intervals of shares and of differences; target: they hold the truth in 93% to 97% of ${runs} runs`);
for (const { ways, of, tasks } of PARTS)
  for (const found of measureCoverage(runs, ways, tasks, of)) {
    const { way, money, chancesKnown, truth, said, half, bias } = found;
    const [covered, differences] = [found.covered / said, found.differences / said];
    const isMet = isCoverageValid(covered) && isCoverageValid(differences);
    if (!isMet) missed++;
    const words = `${money ? "money" : "invoices"}, propensities ${chancesKnown ? "known" : "fitted"}`;
    const figures = `${percent(covered)} and ${percent(differences)} % of ${said}, ± ${percent(half)} points, bias ${(bias * 100).toFixed(2)}`;
    console.log(
      `  ${way.padEnd(6)} first ${of.depth}, ${of.customers} customers, truth ${percent(truth)} %, ${words}: ${figures}${isMet ? "" : "  MISSED"}`,
    );
  }
console.log(missed === 0 ? "All targets are met." : `${missed} targets are missed.`);
process.exitCode = missed === 0 ? 0 : 1;
