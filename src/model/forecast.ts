import { DAY_MS } from "../domain/durations.ts";
import { type Belief, otherChances, otherOf } from "./belief.ts";
import { AT_ONCE, judgedBy, judgedHour, judgedOn } from "./booking.ts";
import { EXPLANATIONS, NEVER } from "./explanations.ts";
import {
  besideWeight,
  classOf,
  gapWeight,
  PAID_BETWEEN,
  ROW_WIDTH,
  sinceBins,
  sinceCell,
  TO_SAME,
  triesWeight,
} from "./layout.ts";
import type { Learned } from "./learned.ts";
import { phi } from "./normal.ts";
import { CELL_SPREAD, scaleOf, WEIGHTS_MAX } from "./observe.ts";
import { CYCLES, kindOfCycle, sincePay } from "./pay-cycles.ts";
import { caseWeights, columnsAt, historyWeights, momentWeights } from "./weights-of.ts";

/** What a case's future tries would meet at some slots, by each explanation that is likely enough to matter. */
export interface Forecast {
  slots: readonly number[];
  /** The chances of the explanations looked at, which sum to 1. */
  shares: Float64Array;
  /** For each slot: the chance that the very next try succeeds when it is made there. */
  chances: Float64Array;
  /** When the answer to a try at each slot is there: when the day is over on which a debit is booked. Null: at once. */
  answeredAt: Float64Array | null;
  /** Fills `tables.later` for these slots. */
  foresee(slots: readonly number[]): void;
  /** Whether the tables are still about this one. */
  isLatest(): boolean;
}

const DAYS_MAX = 370;
/** Every fourth hour of the first day, two slots of each later one, and the last. */
export const SLOTS_MAX = 2 * DAYS_MAX + 8;
const SIZE = SLOTS_MAX * EXPLANATIONS;

/**
 * The forecast made last, slot by explanation: number `slot * shares.length + explanation`. It is written over by the next one:
 * eight tables made anew took 80 µs of a decision's CPU.
 */
export const tables = {
  /** The chance of a try as the very next one. */
  next: new Float64Array(SIZE),
  /** The chance of a later one, twice for each number: when no pay came since the try before, and when some did. */
  later: new Float64Array(2 * SIZE),
  /** The day of the last pay; 0 where pay is not what is missing. */
  paidOn: new Int32Array(SIZE),
} as const;
const { next, later, paidOn } = tables;
let forecasts = 0;

/** A cycle with less than this share of all cycles' chance is left out, and so is what passes with less than this share of all that may be. */
const RARE = 0.006;
/** Tries that are planned after the next one are, as a rule, this far apart. */
const USUAL_GAP_MS = 3.5 * DAY_MS;

const indices = new Int32Array(WEIGHTS_MAX);
/** The weight that a cycle adds at a slot when it finds new pay, as `tables`. */
const cells = new Int32Array(SIZE);
/** Score of the very next try at a slot, and of a later one, whatever the explanation. */
const scores = new Float64Array(SLOTS_MAX);
const laterScores = new Float64Array(SLOTS_MAX);
/** What both are multiplied by, with what an explanation adds: see `scaleOf`. */
const scales = new Float64Array(SLOTS_MAX);
/** Whether `tables.later` holds a slot. */
const isForeseen = new Uint8Array(SLOTS_MAX);
const kindCells = new Int32Array(CYCLES);
const lastPaidOn = new Int32Array(CYCLES);

/** @param slots  moments of possible tries, earliest first; two a day of a year at most */
export function forecastOf(learned: Learned, belief: Belief, slots: readonly number[]): Forecast {
  const { mean } = learned;
  const lastDay = judgedOn(belief.clock, belief.lastTriedAt);
  const end = judgedOn(belief.clock, slots.at(-1) ?? belief.lastTriedAt);
  const { kept, shares, cycles } = likely(belief, lastDay, end);
  const width = kept.length;
  if (slots.length > SLOTS_MAX)
    throw new RangeError(`${slots.length} slots, and at most ${SLOTS_MAX} can be looked at`);
  const number = ++forecasts;
  const chances = new Float64Array(slots.length);
  const then = sincePay(lastDay);
  for (let k = 0; k < cycles; k++) {
    kindCells[k] = sinceCell(belief.standing, PAID_BETWEEN.fresh, kindOfCycle[kept[k]!]!, 0);
    lastPaidOn[k] = lastDay - then.row[then.from + kept[k]!]!;
  }
  scoreSlots(learned, belief, slots);
  isForeseen.fill(0, 0, slots.length);
  for (let s = 0; s < slots.length; s++) {
    const at = slots[s]!;
    const score = scores[s]!;
    const scale = scales[s]!;
    const day = judgedOn(belief.clock, at);
    const { row, from } = sincePay(day);
    const bins = sinceBins(judgedHour(belief.clock, at));
    let chance = 0;
    let place = s * width;
    for (let k = 0; k < cycles; k++, place++) {
      const since = row[from + kept[k]!]!;
      const cell = kindCells[k]! + bins[since]!;
      const paid = day - since;
      paidOn[place] = paid;
      cells[place] = cell;
      const p = phi((score + mean[paid === lastPaidOn[k] ? cell + TO_SAME : cell]!) * scale);
      next[place] = p;
      chance += shares[k]! * p;
    }
    const others = otherChances(learned, belief, at, score, scale);
    for (let k = cycles; k < width; k++, place++) {
      const p = others[otherOf(belief, kept[k]!, at)]!;
      paidOn[place] = 0;
      next[place] = p;
      chance += shares[k]! * p;
    }
    chances[s] = chance;
  }
  const foresee = (some: readonly number[]) => fillLater(learned, belief, slots, kept, cycles, some);
  return {
    slots,
    shares,
    chances,
    answeredAt: answersOf(belief, slots),
    foresee,
    isLatest: () => number === forecasts,
  };
}

function answersOf({ clock }: Belief, slots: readonly number[]) {
  if (clock.booking === AT_ONCE) return null;
  return Float64Array.from(slots, (at) => judgedBy(clock, at));
}

// By itself, as all that takes long: of a function that is made anew in each forecast V8 forgets the fast code whenever it collects garbage.
function fillLater(
  learned: Learned,
  belief: Belief,
  slots: readonly number[],
  kept: readonly number[],
  cycles: number,
  some: readonly number[],
) {
  const { mean } = learned;
  const width = kept.length;
  for (const s of some) {
    if (isForeseen[s]) continue;
    isForeseen[s] = 1;
    const score = laterScores[s]!;
    const scale = scales[s]!;
    let place = s * width;
    for (let k = 0; k < cycles; k++, place++) {
      const cell = cells[place]!;
      later[2 * place] = phi((score + mean[cell + TO_SAME]!) * scale);
      later[2 * place + 1] = phi((score + mean[cell]!) * scale);
    }
    const at = slots[s]!;
    const others = otherChances(learned, belief, at, score, scale);
    for (let k = cycles; k < width; k++, place++)
      later[2 * place] = later[2 * place + 1] = others[otherOf(belief, kept[k]!, at)]!;
  }
}

/** Writes the score of each slot as the very next try, and as a later one, and the scale of both. */
function scoreSlots({ mean, variance }: Learned, belief: Belief, slots: readonly number[]) {
  let shared = 0;
  let unknown = CELL_SPREAD;
  const known = caseWeights(belief, indices);
  for (let n = 0; n < known; n++) {
    shared += mean[indices[n]!]!;
    unknown += variance[indices[n]!]!;
  }
  sumRows(mean, belief.rows, rowScores);
  sumRows(variance, belief.rows, rowSpreads);
  const of = classOf(belief.reason);
  const laterTries = mean[triesWeight(of, belief.tries + 1)]! - mean[triesWeight(of, belief.tries)]!;
  const usualGap = mean[gapWeight(of, USUAL_GAP_MS)]!;
  for (let s = 0; s < slots.length; s++) {
    const at = slots[s]!;
    const count = historyWeights(belief, at, indices, momentWeights(of, belief.clock, at, indices, 0));
    let score = shared;
    let spread = unknown;
    for (let n = 0; n < count; n++) {
      score += mean[indices[n]!]!;
      spread += variance[indices[n]!]!;
    }
    const columns = columnsAt(belief, at);
    for (let n = 0; n < columns.length; n++) {
      score += rowScores[columns[n]!]!;
      spread += rowSpreads[columns[n]!]!;
    }
    scores[s] = score;
    scales[s] = scaleOf(spread);
    // Rows count as for the very next try: in what they learned from, a longer wait was a later moment too, and they are not told apart.
    laterScores[s] = score + laterTries + usualGap - mean[gapWeight(of, at - belief.lastTriedAt)]!;
    // The next try tells more than another bill's charge before it.
    if (belief.beside) laterScores[s]! -= mean[besideWeight(belief.beside.approved, at - belief.beside.at)]!;
  }
}

const rowScores = new Float64Array(ROW_WIDTH);
const rowSpreads = new Float64Array(ROW_WIDTH);
/** The numbers of a case's rows added up, column by column. */
function sumRows(numbers: Float64Array, rows: Int32Array, sums: Float64Array) {
  sums.fill(0);
  for (let n = 0; n < rows.length; n++) {
    const row = rows[n]!;
    for (let column = 0; column < ROW_WIDTH; column++) sums[column]! += numbers[row + column]!;
  }
}

const merged = new Float64Array(CYCLES);
const chief = new Int32Array(CYCLES);

/**
 * The explanations worth a look, cycles first. Cycles that pay on the same days as far as the slots reach are one here. What is unlikely leaves its chance to
 * what is kept of its family: where little is hoped for, what is unlikely by itself is most of the hope together.
 */
function likely({ shares }: Belief, from: number, to: number) {
  const twins = twinsOf(from, to);
  let paid = 0;
  merged.fill(0);
  for (let c = 0; c < CYCLES; c++) {
    const twin = twins[c]!;
    if (twin === c || shares[c]! > shares[chief[twin]!]!) chief[twin] = c;
    merged[twin]! += shares[c]!;
    paid += shares[c]!;
  }
  const kept: number[] = [];
  const keptShares: number[] = [];
  for (let c = 0; c < CYCLES; c++) {
    if (twins[c] !== c || merged[c]! < RARE * paid) continue;
    kept.push(chief[c]!);
    keptShares.push(merged[c]!);
  }
  const cycles = kept.length;
  sumTo(keptShares, 0, paid);
  let passes = 0;
  let likeliest = CYCLES;
  for (let e = CYCLES; e < NEVER; e++) {
    passes += shares[e]!;
    if (shares[e]! > shares[likeliest]!) likeliest = e;
  }
  for (let e = CYCLES; e < NEVER; e++) {
    if (shares[e]! < RARE * (paid + passes) && e !== likeliest) continue;
    kept.push(e);
    keptShares.push(shares[e]!);
  }
  sumTo(keptShares, cycles, passes);
  kept.push(NEVER);
  keptShares.push(shares[NEVER]!);
  return { kept, shares: Float64Array.from(keptShares), cycles };
}

/** Multiplies the numbers from a place on so that they sum to that; where they are zero, so is `sum`. */
function sumTo(numbers: number[], from: number, sum: number) {
  let before = 0;
  for (let n = from; n < numbers.length; n++) before += numbers[n]!;
  if (before === 0) return;
  for (let n = from; n < numbers.length; n++) numbers[n]! *= sum / before;
}

const twinsByDays = new Map<string, Uint8Array>();
/** Cases of a day share their days, so a few hundred pairs are all that is asked for. */
const TWINS_MAX = 1000;

/** For each cycle the first one that, looked at on five days of that stretch, was paid on the same days. */
function twinsOf(from: number, to: number): Uint8Array {
  const key = `${from}:${to}`;
  let twins = twinsByDays.get(key);
  if (!twins) {
    if (twinsByDays.size >= TWINS_MAX) twinsByDays.clear();
    const days = [from, from + ((to - from) >> 2), (from + to) >> 1, to - ((to - from) >> 2), to].map(sincePay);
    const alike = new Map<string, number>();
    twins = Uint8Array.from({ length: CYCLES }, (_, c) => {
      const looks = [kindOfCycle[c], ...days.map(({ row, from: at }) => row[at + c])].join();
      if (!alike.has(looks)) alike.set(looks, c);
      return alike.get(looks)!;
    });
    twinsByDays.set(key, twins);
  }
  return twins;
}
