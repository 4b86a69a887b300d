import { DAY_MS } from "../../src/domain/durations.ts";
import type { Arm, ArmHalf, CellTotals, Experiment, Measure, Phase } from "../../src/domain/experiment.ts";
import { analyzeExperiment, type InterimAnalysis } from "../../src/experiments/statistics/interim-analysis.ts";
import { countCustomer, emptyTally } from "../../src/experiments/statistics/tally.ts";
import { createRandom, drawNormal } from "./random-numbers.ts";

const START = new Date("2026-01-01T00:00:00Z");
const MATURITY_DAYS = 35;

export interface SimulatedMerchant {
  customersPerDay: number;
  days: number;
  recovered: number;
  /** Standard deviation of customers' recovered shares, 0 to `recovered`. */
  spread: number;
  again: number;
  amounts: number;
  effect: number;
  share: number;
  split: number | null;
  primary: Measure;
  /** At the beginning. */
  calibrationDays: number;
}

export const DEFAULT_MERCHANT: SimulatedMerchant = {
  customersPerDay: 60,
  days: 90,
  recovered: 0.55,
  spread: 0.25,
  again: 0.4,
  amounts: 0.8,
  effect: 0,
  share: 0.5,
  split: null,
  primary: "count",
  calibrationDays: 0,
};

const MONTH_DAYS = 30;
const PHASES = ["calibration", "comparison"] as const;
const ARMS = ["dunlin", "merchant"] as const;

export type OnDay = (day: number, analysis: InterimAnalysis) => boolean;

/** Daily, with the product's statistics. Day 1: the first invoice is old enough. */
export function runExperiment(business: SimulatedMerchant, seed: number, onDay: OnDay) {
  const { customersPerDay, days, again, spread, effect, recovered, amounts, calibrationDays } = business;
  const split = business.split ?? business.share;
  const random = createRandom(seed);
  const size = customersPerDay * days;
  const recoveredShares = new Float64Array(size);
  const amount = new Float64Array(size);
  const arm = new Uint8Array(size);
  const half = new Uint8Array(size);
  const failedCounts = [new Int32Array(size), new Int32Array(size)];
  const paidCounts = [new Int32Array(size), new Int32Array(size)];
  const head = new Int32Array(days + MONTH_DAYS + 1).fill(-1);
  const next = new Int32Array(size);
  const cells = createTallies();
  const at = (day: number) => new Date(START.getTime() + (day + MATURITY_DAYS) * DAY_MS);
  const experiment = buildExperiment(business);
  let lastAnalysis: InterimAnalysis | null = null;
  for (let day = 0; day < days; day++) {
    for (let customer = day * customersPerDay; customer < (day + 1) * customersPerDay; customer++) {
      recoveredShares[customer] = recovered + spread * Math.sqrt(3) * (2 * random() - 1);
      amount[customer] = amounts === 0 ? 2900 : Math.max(1, Math.round(2900 * Math.exp(amounts * drawNormal(random))));
      arm[customer] = random() < split ? 0 : 1;
      half[customer] = random() < 0.5 ? 0 : 1;
      next[customer] = head[day]!;
      head[day] = customer;
    }
    const phase = day < calibrationDays ? 0 : 1;
    for (let customer = head[day]!; customer >= 0; ) {
      const following = next[customer]!;
      const chance = recoveredShares[customer]! + (phase === 1 && arm[customer] === 0 ? effect : 0);
      const paid = random() < chance ? 1 : 0;
      const [failedBefore, paidBefore] = [failedCounts[phase]![customer]!, paidCounts[phase]![customer]!];
      const [count, money] = cells.at(phase, arm[customer]!, half[customer]!);
      const value = amount[customer]!;
      countCustomer(count, failedBefore, paidBefore, 1, paid);
      countCustomer(money, failedBefore * value, paidBefore * value, value, paid * value);
      failedCounts[phase]![customer] = failedBefore + 1;
      paidCounts[phase]![customer] = paidBefore + paid;
      if (random() < again) {
        next[customer] = head[day + MONTH_DAYS]!;
        head[day + MONTH_DAYS] = customer;
      }
      customer = following;
    }
    lastAnalysis = analyzeExperiment(experiment, cells.tallies, ["USD"], 0, lastAnalysis, at(day + 1));
    if (!onDay(day + 1, lastAnalysis)) return;
  }
}

function buildExperiment({ share, primary, calibrationDays }: SimulatedMerchant): Experiment {
  return {
    id: "simulated",
    name: "simulated",
    salt: "",
    share,
    startedAt: START,
    comparedFrom: new Date(START.getTime() + calibrationDays * DAY_MS),
    stoppedAt: null,
    maturityDays: MATURITY_DAYS,
    primary,
    margin: 0.03,
  };
}

function createTallies() {
  const all = Array.from({ length: 16 }, emptyTally);
  const index = (phase: number, arm: number, half: number) => (phase * 4 + arm * 2 + half) * 2;
  return {
    at: (phase: number, arm: number, half: number): [CellTotals, CellTotals] => {
      const first = index(phase, arm, half);
      return [all[first]!, all[first + 1]!];
    },
    tallies: (phase: Phase, arm: Arm, half: ArmHalf, measure: Measure) =>
      all[index(PHASES.indexOf(phase), ARMS.indexOf(arm), half - 1) + (measure === "count" ? 0 : 1)],
  };
}
