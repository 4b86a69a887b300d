// `npm run bench:backtest`: how often a backtest's intervals hold the truth, on histories whose truth is known.
import { parseArgs } from "node:util";
import { coverage, WAYS } from "../simulator/backtest/coverage.ts";

const { values } = parseArgs({ options: { runs: { type: "string", default: "1000" } } });
const runs = Number(values.runs);
const FITTED = { money: false, chancesKnown: false };
const PARTS = [
  {
    depth: 1,
    customers: 3000,
    tasks: [FITTED, { money: false, chancesKnown: true }, { money: true, chancesKnown: false }],
  },
  { depth: 2, customers: 10_000, tasks: [FITTED] },
];

let missed = 0;
console.log(`Intervals at 95 %; aim: the truth is inside in 93 to 97 % of ${runs} runs`);
for (const { depth, customers, tasks } of PARTS)
  for (const found of coverage(runs, Object.keys(WAYS), tasks, depth, customers)) {
    const { way, money, chancesKnown, said, covered, half, bias } = found;
    const share = covered / said;
    const holds = share >= 0.93 && share <= 0.97;
    if (!holds) missed++;
    const words = `${money ? "money" : "invoices"}, chances ${chancesKnown ? "known" : "fitted"}`;
    const figures = `${(share * 100).toFixed(1)} % of ${said}, ± ${(half * 100).toFixed(1)} points, bias ${(bias * 100).toFixed(2)}`;
    console.log(
      `  ${way.padEnd(7)} first ${depth}, ${customers} customers, ${words}: ${figures}${holds ? "" : "  MISSED"}`,
    );
  }
console.log(missed === 0 ? "All aims are met." : `${missed} aims are missed.`);
process.exitCode = missed === 0 ? 0 : 1;
