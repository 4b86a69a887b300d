import { keyedUniform } from "./keyed-uniform.ts";
import { type PayRhythm, payDueChance } from "./pay-rhythm.ts";

/** In portions, 0 to 15: coarse enough to compute future chances exactly. */
export const LEVEL_COUNT = 16;
/** At night, by day, in the evening. */
export const STEPS_PER_DAY = 3;

export interface Account {
  seed: number;
  key: number;
  rhythm: PayRhythm;
  /** In portions. */
  pay: number;
  /** Index into `SPENDING_RATES`. */
  spending: number;
  postedIn: number;
  /** No pay from this step on. */
  paidUntil: number;
  topUp: number;
  step: number;
  level: number;
}

const SPENDING_RATES = [0.02, 0.03, 0.045, 0.065, 0.09, 0.12, 0.16, 0.21, 0.27, 0.34];
export const SPENDING_CLASS_COUNT = SPENDING_RATES.length;
const ON_TIME_RATE = 0.9;
const LATE_RATE = 0.75;

/** `[spending][from * LEVEL_COUNT + to]`, per step. */
const SPENDING_TRANSITIONS = SPENDING_RATES.map((chance) => {
  const rows = new Float64Array(LEVEL_COUNT * LEVEL_COUNT);
  rows[0] = 1;
  for (let from = 1; from < LEVEL_COUNT; from++)
    for (let to = 0; to <= from; to++)
      rows[from * LEVEL_COUNT + to] =
        (to < from ? rows[(from - 1) * LEVEL_COUNT + to]! * chance : 0) +
        (to > 0 ? rows[(from - 1) * LEVEL_COUNT + to - 1]! * (1 - chance) : 0);
  return rows;
});

function payChance(account: Account, step: number): number {
  if (step % STEPS_PER_DAY !== account.postedIn || step >= account.paidUntil) return 0;
  const day = Math.floor(step / STEPS_PER_DAY);
  const onTime = payDueChance(account.rhythm, day) * ON_TIME_RATE;
  return onTime > 0 ? onTime : payDueChance(account.rhythm, day - 1) * (1 - ON_TIME_RATE) * LATE_RATE;
}

export function advanceAccount(account: Account, step: number) {
  while (account.step < step) {
    account.step++;
    let level = account.level;
    const spent = SPENDING_TRANSITIONS[account.spending]!;
    let draw = keyedUniform(account.seed, account.key, account.step, 1);
    for (let to = level; to >= 0; to--) {
      draw -= spent[level * LEVEL_COUNT + to]!;
      if (draw < 0 || to === 0) {
        level = to;
        break;
      }
    }
    if (keyedUniform(account.seed, account.key, account.step, 2) < payChance(account, account.step))
      level += account.pay;
    if (keyedUniform(account.seed, account.key, account.step, 3) < account.topUp) level += 2;
    account.level = Math.min(LEVEL_COUNT - 1, level);
  }
}

const levelBuffer = new Float64Array(LEVEL_COUNT);

/** In place. */
function stepChances(account: Account, chances: Float64Array, step: number) {
  const spent = SPENDING_TRANSITIONS[account.spending]!;
  const next = levelBuffer.fill(0);
  for (let from = 0; from < LEVEL_COUNT; from++) {
    const mass = chances[from]!;
    if (mass < 1e-12) continue;
    for (let to = 0; to <= from; to++) next[to]! += mass * spent[from * LEVEL_COUNT + to]!;
  }
  raiseLevels(next, account.pay, payChance(account, step));
  raiseLevels(next, 2, account.topUp);
  chances.set(next);
}

function raiseLevels(chances: Float64Array, amount: number, chance: number) {
  if (chance === 0) return;
  for (let from = LEVEL_COUNT - 1; from >= 0; from--) {
    const moved = chances[from]! * chance;
    chances[from]! -= moved;
    chances[Math.min(LEVEL_COUNT - 1, from + amount)]! += moved;
  }
}

/**
 * By step from the present one on.
 *
 * @param tried  each with its chance if the money had been there
 */
export function coverageChances(
  account: Account,
  need: number,
  untilStep: number,
  tried: readonly { step: number; approvalRate: number }[],
): Float64Array {
  const found = new Float64Array(Math.max(1, untilStep - account.step + 1));
  const chances = new Float64Array(LEVEL_COUNT);
  chances[account.level] = 1;
  let next = 0;
  for (let step = account.step; step < account.step + found.length; step++) {
    if (step > account.step) stepChances(account, chances, step);
    for (; next < tried.length && tried[next]!.step <= step; next++)
      applyFailedAttempt(chances, need, tried[next]!.approvalRate);
    let coveredShare = 0;
    for (let level = need; level < LEVEL_COUNT; level++) coveredShare += chances[level]!;
    found[step - account.step] = coveredShare;
  }
  return found;
}

function applyFailedAttempt(chances: Float64Array, need: number, approvalRate: number) {
  let total = 0;
  for (let level = 0; level < LEVEL_COUNT; level++) {
    if (level >= need) chances[level]! *= 1 - approvalRate;
    total += chances[level]!;
  }
  if (total > 1e-12) for (let level = 0; level < LEVEL_COUNT; level++) chances[level]! /= total;
}
