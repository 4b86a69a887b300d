import { formatTenths } from "../../src/engine/shares.ts";
import type { Comparison } from "./compare-policies.ts";

const MIN_CASE_COUNT = 5000;

export const LEGEND = [
  "warm is Dunlin with its pretrained model, cold is Dunlin with a new model.",
  "even is six retries spread evenly over the window, fixed is days 1, 3, 5 and 7.",
  "ladder is days 1, 3, 8, 10 and 12, expert follows rules by code and pay day, hours follows success counts by code and hour of the day.",
  "oracle knows the true chance at every time, but not the luck to come.",
  "recovered and value are shares of the failed money; value deducts the cost of waiting and retries.",
  "retries are per failed payment, per recovery counts retries per recovered payment.",
  "calibration error is the mean distance between predicted probabilities and outcomes; 0 is perfect.",
];

export const describeWorld = ({ world, seed, customers, cases }: Comparison) =>
  `World "${world}", seed ${seed}: ${customers} customers, ${cases} failed payments.`;

export const COLUMNS = ["policy", "recovered", "value", "retries", "per recovery", "rules broken", "calibration error"];

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

export function describeClosedGap({ cases, policies, gapClosed }: Comparison): string[] {
  if (policies.oracle!.recovered === 0)
    return [
      "Not even the oracle recovered anything, so there is no gap to close: the policy with the fewest retries loses least.",
    ];
  const gap = (from: string, share: number | null, words: string) => {
    const behind = policies[from]!.value - policies.warm!.value;
    if (share === null) return [];
    return behind > 0
      ? [`is ${formatTenths(behind)} of the money behind ${words}`]
      : [`closes ${formatTenths(share)} of the gap from ${words} to the oracle`];
  };
  const closed = [
    ...gap("even", gapClosed.fromEven, "six evenly spaced retries"),
    ...gap("fixed", gapClosed.fromFixed, "days 1, 3, 5, 7"),
  ];
  if (closed.length === 0) return ["The oracle is no better than a static policy here, so there is no gap to close."];
  const said = `Dunlin, warm, ${closed.join(", and ")}.`;
  return cases < MIN_CASE_COUNT
    ? [
        said,
        `With fewer than ${MIN_CASE_COUNT} failed payments, seeds differ by about 20 points: use more --customers, or several seeds.`,
      ]
    : [said];
}
