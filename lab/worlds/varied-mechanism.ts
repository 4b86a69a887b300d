import { chooseWeighted, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";
import type { PayRhythm } from "./pay-rhythm.ts";
import { STEPS_PER_DAY } from "./simulation-steps.ts";

export type Weighted<T> = readonly (readonly [T, number])[];
/** Why a charge fails. */
export type Cause = "money" | "hold" | "limit" | "down" | "suspicion" | "gone";
/** Common in the country, or on days that each customer draws. */
export type Income = "usual" | "dated" | "weekly" | "fortnightly" | "four_weekly" | "irregular";
/** How an issuer reports causes: as they are, all as 05, most as 51, or some hidden behind 05. */
export type Wording = "honest" | "generic" | "funds" | "masked";

/** Everything that a variation draws. Seeds draw customers and their luck. */
export interface Mechanism {
  /** Share of first charges that fail, by cause. */
  failing: Readonly<Record<Cause, number>>;
  /** Each decline multiplies the approvals of retries by exp(−strength), less as it fades. */
  harm: { scope: "none" | "customer" | "issuer"; strength: number; halfLifeDays: number };
  /** After a decline, a customer without money brings some with probability 1 − exp(−urge). */
  topUp: { urge: number; delayDays: number; lastsDays: number };
  income: { rhythms: Weighted<Income>; slots: readonly number[]; lasts: number; shape: number };
  /** In ms, log-uniform. */
  lengths: Readonly<Record<"hold" | "down", readonly [number, number]>>;
  limitEnds: "midnight" | "month";
  wordings: Weighted<Wording>;
  /** How much less is approved from 0 to 6. */
  night: number;
  merchants: number;
  windowDays: readonly number[];
  priceFactor: number;
}

export function drawMechanism(variation: number): Mechanism {
  const draw = (purpose: number) => keyedUniform(variation, purpose, 0, 161);
  const logUniform = (purpose: number, low: number, high: number) => low * (high / low) ** draw(purpose);
  const choose = <T>(purpose: number, choices: readonly T[]) => choices[Math.floor(draw(purpose) * choices.length)]!;
  const weights: Record<Cause, number> = {
    money: 0.2 + 0.8 * draw(1),
    hold: 0.05 + 0.5 * draw(2) ** 2,
    limit: 0.02 + 0.15 * draw(3) ** 2,
    down: 0.02 + 0.15 * draw(4) ** 2,
    suspicion: 0.03 + 0.5 * draw(5),
    gone: 0.04 + 0.25 * draw(6),
  };
  const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  const share = (0.115 + 0.02 * draw(7)) / total;
  const failing = Object.fromEntries(Object.entries(weights).map(([cause, weight]) => [cause, share * weight]));
  const holdFrom = logUniform(8, 1, 48) * HOUR_MS;
  const downFrom = logUniform(9, 0.3, 3) * HOUR_MS;
  return {
    failing: failing as Mechanism["failing"],
    harm: {
      scope: choose(11, ["none", "customer", "issuer"]),
      strength: logUniform(12, 0.1, 1.2),
      halfLifeDays: logUniform(13, 0.5, 12),
    },
    topUp: {
      urge: draw(14) < 0.4 ? 0 : logUniform(15, 0.2, 2),
      delayDays: logUniform(16, 0.1, 3),
      lastsDays: logUniform(17, 0.4, 8),
    },
    income: {
      rhythms: INCOMES.map((kind, n) => [kind, draw(20 + n) ** 2] as const),
      slots: [Math.floor(STEPS_PER_DAY * draw(26)), Math.floor(STEPS_PER_DAY * draw(27))],
      lasts: 0.15 + 0.6 * draw(28),
      shape: 1 + 2 * draw(29),
    },
    lengths: {
      hold: [holdFrom, holdFrom * logUniform(31, 4, 40)],
      down: [downFrom, downFrom * logUniform(32, 4, 20)],
    },
    limitEnds: choose(33, ["midnight", "midnight", "month"]),
    wordings: WORDINGS.map((wording, n) => [wording, draw(40 + n)] as const),
    night: draw(45) < 0.5 ? 0 : 0.6 * draw(46),
    merchants: Math.floor(logUniform(47, 1, 24)),
    windowDays: [choose(48, WINDOW_DAYS), choose(49, WINDOW_DAYS)],
    priceFactor: logUniform(50, 0.4, 4),
  };
}

const INCOMES = ["usual", "dated", "weekly", "fortnightly", "four_weekly", "irregular"] as const;
const WORDINGS = ["honest", "generic", "funds", "masked"] as const;
const WINDOW_DAYS = [3, 5, 7, 7, 10, 14, 21, 28] as const;

export function drawRhythm(income: Income, usual: Weighted<PayRhythm>, draw: (purpose: number) => number): PayRhythm {
  const weekday = 1 + Math.floor(5 * draw(11));
  switch (income) {
    case "usual":
      return chooseWeighted(draw(12), usual);
    case "dated":
      return { kind: "dated", days: [1 + Math.floor(31 * draw(12))] };
    case "weekly":
      return { kind: "weekly", weekday };
    case "fortnightly":
      return { kind: "fortnightly", weekday, phase: Math.floor(2 * draw(12)) };
    case "four_weekly":
      return { kind: "four_weekly", phase: Math.floor(28 * draw(12)) };
    case "irregular":
      return { kind: "irregular", perDay: 0.05 + 0.25 * draw(12) };
  }
}

export function cycleDaysOf(rhythm: PayRhythm): number {
  if (rhythm.kind === "irregular") return 1 / rhythm.perDay;
  if (rhythm.kind === "weekly") return 7;
  return rhythm.kind === "fortnightly" ? 14 : 30 / (rhythm.kind === "dated" ? rhythm.days.length : 1);
}

/** Share of the time without money. */
export function computeEmptyRate(rhythm: PayRhythm, lastsDays: number, shape: number): number {
  const cycleDays = cycleDaysOf(rhythm);
  if (rhythm.kind === "irregular") return cycleDays / (cycleDays + lastsDays);
  let sum = 0;
  for (let n = 0; n < 32; n++) sum += Math.exp(-((((n + 0.5) * cycleDays) / (32 * lastsDays)) ** shape));
  return 1 - sum / 32;
}
