// `npm run lab -- experiments`: false alarms, sample sizes and power under daily analysis.
import { parseArgs } from "node:util";
import { benchExperimentCounting } from "../../bench/experiment-counting.ts";
import {
  countDetectedSplits,
  type FalseAlarms,
  measureFalseAlarms,
  measureStoppingTimes,
} from "../experiments/experiment-error-rates.ts";

const { values } = parseArgs({
  options: {
    tests: { type: "string", default: "10000" },
    runs: { type: "string", default: "1000" },
    cases: { type: "string", default: "1000000" },
  },
});
const tests = Number(values.tests);
const runs = Number(values.runs);
let missed = 0;

const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
function report(name: string, found: string, holds: boolean) {
  if (!holds) missed++;
  console.log(`${name}: ${found}${holds ? "" : "  MISSED"}`);
}
const alarmsText = ({ runs, any, difference, split, calibration, plain }: FalseAlarms) =>
  `${percent(any / runs)} (difference ${percent(difference / runs)}, split ${percent(split / runs)}, calibration ${percent(calibration / runs)}); a plain 95% interval, read every day: ${percent(plain / runs)}`;

console.log(`A/A tests of 90 days, analyzed every day; target: false alarms in at most 5% of ${tests} tests`);
const businesses = {
  "60 customers a day, 4 of 10 fail again": {},
  "with a calibration of 30 days": { calibrationDays: 30 },
  "measured by money, log-normal amounts": { primary: "USD" },
  "10 customers a day": { customersPerDay: 10 },
};
for (const [name, business] of Object.entries(businesses)) {
  const found = measureFalseAlarms(tests, business);
  report(`  ${name}`, alarmsText(found), found.any / found.runs <= 0.05);
}

const RARE_RATES = [0.02, 0.05, 0.95, 0.98];
const SMALL = { again: 0, spread: 0.01 };
const hundredths = (share: number) => `${Math.round(share * 100)} %`;
console.log(`The same with small arms and rare outcomes; target: at most 5% of ${tests} tests`);
for (const share of [0.9, 0.8])
  for (const recovered of RARE_RATES) {
    const found = measureFalseAlarms(tests, { ...SMALL, share, recovered });
    report(
      `  share ${hundredths(share)}, ${hundredths(recovered)} recovered`,
      alarmsText(found),
      found.any / found.runs <= 0.05,
    );
  }
for (const recovered of [0.05, 0.95]) {
  const found = measureFalseAlarms(tests, { ...SMALL, share: 0.9, recovered, primary: "USD", amounts: 1.2 });
  const words = `  share 90 %, ${hundredths(recovered)} recovered, measured by money, log-normal amounts, deviation 1.2`;
  report(words, alarmsText(found), found.any / found.runs <= 0.05);
}

console.log(
  `True differences, and whether the interval held them on all of 90 days; target: all but 5% of ${tests} tests`,
);
for (const share of [0.9, 0.5])
  for (const [recovered, effect] of [
    [0.02, 0.03],
    [0.95, 0.03],
    [0.95, -0.03],
  ] as const) {
    const { difference } = measureFalseAlarms(tests, { ...SMALL, share, recovered, effect });
    const words = `  share ${hundredths(share)}, ${hundredths(recovered)} recovered, ${effect > 0 ? "+" : ""}${Math.round(effect * 100)} points`;
    report(words, `missed in ${percent(difference / tests)}`, difference / tests <= 0.05);
  }

console.log(
  `True differences, analyzed every day; target: the median of ${runs} runs stops within 1.2 times the z-test's sample`,
);
for (const effect of [0.02, 0.03, 0.05]) {
  const { median, fixed, wrong } = measureStoppingTimes(effect, runs);
  const ratio = median / fixed;
  const holds = effect !== 0.03 || ratio <= 1.2;
  report(
    `  +${Math.round(effect * 100)} points`,
    `median ${median} invoices, z-test ${Math.round(fixed)}: ${ratio.toFixed(2)} times; other verdicts ${percent(wrong / runs)}`,
    holds,
  );
}

const splitDetectionRate = countDetectedSplits(runs) / runs;
report(
  "51/49 instead of 50/50, within 55,000 invoices; target: detected in at least 90%",
  percent(splitDetectionRate),
  splitDetectionRate >= 0.9,
);
const cases = Number(values.cases);
if (cases > 0) {
  const { counted, seconds, showMs } = await benchExperimentCounting(cases);
  const each = ((seconds / counted) * 1e6).toFixed(0);
  report(
    `${cases} failed invoices in PostgreSQL`,
    `counted in ${seconds.toFixed(1)} s (${each} µs each, including waits), results shown in ${showMs.toFixed(2)} ms`,
    counted === cases,
  );
}
console.log(missed === 0 ? "All targets are met." : `${missed} targets are missed.`);
process.exitCode = missed === 0 ? 0 : 1;
