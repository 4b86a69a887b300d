import { type Belief, cellOf } from "./belief.ts";
import { EXPLANATIONS } from "./explanations.ts";
import { AT, classOf, gapWeight, PAID_BETWEEN, REASONS, sinceBin, sinceCell, triesWeight } from "./layout.ts";
import type { Learned } from "./learned.ts";
import { phi } from "./normal.ts";
import { CYCLES, kindOfCycle, sincePay } from "./pay-cycles.ts";
import { historyWeights, momentWeights } from "./weights-of.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** What a case's future tries would meet, for each slot and each explanation that is likely enough to matter. */
export interface Forecast {
  slots: readonly number[];
  /** The explanations looked at, and their chances, which sum to 1. */
  explanations: Int32Array;
  chances: Float64Array;
  /** Score of a slot whatever the explanation: as the very next try, and as a later one. */
  next: Float64Array;
  later: Float64Array;
  /** Slot by explanation: what it adds when pay came since the try before, and when none did. */
  fresh: Float64Array;
  same: Float64Array;
  /** Slot by explanation: the day of the last pay; and as of the last try. */
  paidOn: Int32Array;
  lastPaidOn: Int32Array;
}

/** A cycle with less than this share of all cycles' chance is left out, and so is another explanation less likely. */
const RARE = 0.004;
/** Tries that are planned after the next one are, as a rule, this far apart. */
const USUAL_GAP_MS = 3.5 * DAY_MS;

const indices = new Int32Array(16);

/** @param slots  moments of possible tries, earliest first */
export function forecast(learned: Learned, belief: Belief, slots: readonly number[]): Forecast {
  const { mean } = learned;
  const lastDay = dayOf(belief, belief.lastTriedAt);
  const end = dayOf(belief, slots.at(-1) ?? belief.lastTriedAt);
  const { kept, chances, cycles } = likely(belief, lastDay, end);
  const width = kept.length;
  const found: Forecast = {
    slots,
    explanations: Int32Array.from(kept),
    chances,
    next: new Float64Array(slots.length),
    later: new Float64Array(slots.length),
    fresh: new Float64Array(slots.length * width),
    same: new Float64Array(slots.length * width),
    paidOn: new Int32Array(slots.length * width),
    lastPaidOn: new Int32Array(width),
  };
  let shared = mean[AT.reason + REASONS.indexOf(belief.reason)]!;
  for (const name of belief.names) shared += mean[name]!;
  const of = classOf(belief.reason);
  const laterTries = mean[triesWeight(of, belief.tries + 1)]! - mean[triesWeight(of, belief.tries)]!;
  const usualGap = mean[gapWeight(of, USUAL_GAP_MS)]!;
  const then = sincePay(lastDay);
  for (let k = 0; k < width; k++) found.lastPaidOn[k] = k < cycles ? lastDay - then.row[then.from + kept[k]!]! : -1;
  let today = Number.NaN;
  for (let s = 0; s < slots.length; s++) {
    const at = slots[s]!;
    const local = at + belief.offsetMs;
    const count = historyWeights(belief, at, indices, momentWeights(of, local, indices, 0));
    let score = shared;
    for (let n = 0; n < count; n++) score += mean[indices[n]!]!;
    found.next[s] = score;
    found.later[s] = score + laterTries + usualGap - mean[gapWeight(of, at - belief.lastTriedAt)]!;
    const day = Math.floor(local / DAY_MS);
    const hour = Math.floor((local - day * DAY_MS) / HOUR_MS);
    const from = s * width;
    if (day === today) copyDay(found, from, cycles, width);
    const { row, from: rowFrom } = sincePay(day);
    for (let k = 0; k < cycles; k++) {
      const since = row[rowFrom + kept[k]!]!;
      // Through the day only pay day itself changes.
      if (day === today && since > 0) continue;
      const bin = sinceBin(since, hour);
      const kind = kindOfCycle[kept[k]!]!;
      found.fresh[from + k] = mean[sinceCell(PAID_BETWEEN.fresh, kind, bin)]!;
      found.same[from + k] = mean[sinceCell(PAID_BETWEEN.same, kind, bin)]!;
      found.paidOn[from + k] = day - since;
    }
    for (let k = cycles; k < width; k++)
      found.fresh[from + k] = found.same[from + k] = mean[cellOf(belief, kept[k]!, at)]!;
    today = day;
  }
  return found;
}

const dayOf = (belief: Belief, at: number) => Math.floor((at + belief.offsetMs) / DAY_MS);

const merged = new Float64Array(CYCLES);

/**
 * The explanations worth a look, cycles first. Cycles that pay on the same days as far as the slots reach are one here,
 * and what rare ones are left out leave their chance to the other cycles, so that no family gains by it.
 */
function likely(belief: Belief, from: number, to: number) {
  const days = [from, from + ((to - from) >> 2), (from + to) >> 1, to - ((to - from) >> 2), to].map(sincePay);
  const alike = new Map<number, number>();
  let all = 0;
  for (let c = 0; c < CYCLES; c++) {
    const weight = belief.weights[c]!;
    all += weight;
    merged[c] = 0;
    if (weight < 1e-5) continue;
    let key = kindOfCycle[c]!;
    for (const { row, from: at } of days) key = key * 40 + row[at + c]!;
    const twin = alike.get(key) ?? c;
    alike.set(key, twin);
    merged[twin]! += weight;
  }
  const kept: number[] = [];
  let sum = 0;
  for (const c of alike.values()) {
    if (merged[c]! < RARE * all || merged[c]! < RARE / 4) continue;
    kept.push(c);
    sum += merged[c]!;
  }
  const cycles = kept.length;
  for (let e = CYCLES; e < EXPLANATIONS; e++) if (belief.weights[e]! > RARE) kept.push(e);
  const chances = Float64Array.from(kept, (e) => (e < CYCLES ? (merged[e]! * all) / sum : belief.weights[e]!));
  return { kept, chances, cycles };
}

function copyDay({ fresh, same, paidOn }: Forecast, from: number, cycles: number, width: number) {
  for (const values of [fresh, same, paidOn]) values.copyWithin(from, from - width, from - width + cycles);
}

/** The chance that the very next try succeeds when it is made at that slot. */
export function chanceAt(forecast: Forecast, slot: number): number {
  const { explanations, chances, fresh, same, paidOn, lastPaidOn, next } = forecast;
  const width = explanations.length;
  let chance = 0;
  for (let k = 0; k < width; k++) {
    const place = slot * width + k;
    const adds = paidOn[place] === lastPaidOn[k] ? same[place]! : fresh[place]!;
    chance += chances[k]! * phi(next[slot]! + adds);
  }
  return chance;
}
