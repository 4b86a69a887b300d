import { formatTenths } from "../../src/engine/shares.ts";
import type { Comparison } from "./compare-policies.ts";

/** With fewer failed payments than this the closed gap is uncertain. */
const MIN_CASE_COUNT = 5000;

/** Explains the rows and columns. */
export const LEGEND = [
  "warm is Dunlin with the prior that it ships, cold Dunlin that begins knowing nothing.",
  "even is six tries spread evenly over the window, fixed days 1, 3, 5 and 7.",
  "ladder is days 1, 3, 8, 10 and 12, expert rules by code and pay day, hours what was counted by code and hour of the day.",
  "oracle knows the true chance of every moment, but not the luck to come.",
  "recovered and value are shares of the money that failed; value is less what waiting and tries cost.",
  "tries are those for each failed payment, per recovery those for each that was recovered.",
  "calibration error is how far chances that were said are from what came, in the mean; 0 is none.",
];

export const describeWorld = ({ world, seed, customers, cases }: Comparison) =>
  `World "${world}", seed ${seed}: ${customers} customers, ${cases} failed payments.`;

export const COLUMNS = ["policy", "recovered", "value", "tries", "per recovery", "rules broken", "calibration error"];

/** Builds a row of COLUMNS for each policy. */
export const buildRows = ({ policies }: Comparison): string[][] =>
  Object.entries(policies).map(([name, figures]) => [
    name,
    formatTenths(figures.recovered),
    formatTenths(figures.value),
    figures.attempts.toFixed(2),
    figures.attemptsPerRecovery?.toFixed(2) ?? "",
    String(figures.brokenRules),
    figures.ece === null ? "" : figures.ece.toFixed(3),
  ]);

/** Describes in sentences how much of the gap to the oracle Dunlin closes. */
export function describeClosedGap({ cases, policies, gapClosed }: Comparison): string[] {
  if (policies.oracle!.recovered === 0)
    return ["Not even the oracle recovered anything, so there is no gap to close: who tries least loses least."];
  const gap = (from: string, share: number | null, words: string) => {
    const behind = policies[from]!.value - policies.warm!.value;
    if (share === null) return [];
    return behind > 0
      ? [`is ${formatTenths(behind)} of the money behind ${words}`]
      : [`closes ${formatTenths(share)} of the gap from ${words} to the oracle`];
  };
  const closed = [
    ...gap("even", gapClosed.fromEven, "six even tries"),
    ...gap("fixed", gapClosed.fromFixed, "days 1, 3, 5, 7"),
  ];
  if (closed.length === 0) return ["The oracle is no better than a static policy here, so there is no gap to close."];
  const said = `Dunlin, warm, ${closed.join(", and ")}.`;
  return cases < MIN_CASE_COUNT
    ? [
        said,
        `With fewer than ${MIN_CASE_COUNT} failed payments one seed differs from another by some 20 points: take more --customers, or several seeds.`,
      ]
    : [said];
}
