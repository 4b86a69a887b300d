import { type Clock, judgedHour, judgedOn } from "./booking.ts";
import { type DatedCharge, dateCells } from "./dates.ts";
import {
  ANY_DAY,
  codeRow,
  EXPLANATIONS,
  FAMILIES,
  FIRST_HOLD,
  familyOfKind,
  holdEnds,
  KIND_CYCLE,
  KINDS,
  kindOf,
  NEVER,
  reasonRow,
} from "./explanations.ts";
import {
  AT,
  anyDayWeight,
  classOf,
  PAID_BETWEEN,
  type Reason,
  STANDINGS,
  sinceBins,
  sinceCell,
  TO_SAME,
  WEEK_TRIES_MAX,
} from "./layout.ts";
import { cycleChances, type Learned, shiftsAt } from "./learned.ts";
import { phi } from "./normal.ts";
import { CYCLE_KINDS, CYCLES, kindOfCycle, sincePay } from "./pay-cycles.ts";

/** Where a first charge has that money is never short: after the cycles. */
export const AMPLE = CYCLES;

/** What is believed of a customer. */
export interface Person {
  country: string;
  /** How likely each pay cycle is in their country. */
  usual: Float64Array;
  /** How likely each pay cycle is theirs. */
  cycles: Float64Array;
  /** How likely money is never short. As far as it is, first charges teach nothing of how money runs out after pay; `cycles` is what holds if it is not. */
  ample: number;
  /** Their charges, as far as they say something of their dates; changed by `noteCharge`. */
  charges: DatedCharge[];
}

/** What is believed of a case. Changed by `observeTry`, and by `observeBeside` as other bills are charged. */
export interface Belief {
  /** Why the last try failed. */
  reason: Reason;
  /** Why the first charge failed. */
  firstReason: Reason;
  /** Where the first failure's code has its counts; null when it had none. */
  codeRow: number | null;
  /** One of STANDINGS, as the case began. */
  standing: number;
  /** Weights of the names that describe the case. */
  names: Int32Array;
  /** The one among them of the first failure's code and advice. */
  codeName: number;
  /** The weight of the last decline's code beside that one; null: it is the same. */
  thenName: number | null;
  /** Where its rows of weights begin. */
  rows: Int32Array;
  /** For each date of the month, the cell of what the customer's charges showed of it until the case began, its own first one among them. */
  dateCells: Uint8Array;
  clock: Clock;
  firstFailedAt: number;
  lastTriedAt: number;
  /** Tries since the first failure. */
  tries: number;
  /** The latest tries on the card, oldest first: as many as tell cases apart. */
  recent: number[];
  /** The latest charge of another bill of the customer since the last try, of the first BESIDE_MAX; null: there was none. `count`: how many they are. */
  beside: { at: number; approved: boolean; count: number } | null;
  /** Chance of each explanation. */
  shares: Float64Array;
  /** The person's cycles when the case began: they hold where pay is not what is missing. */
  cyclesBefore: Float64Array;
  holdsEnd: Float64Array;
}

/** What tells a case apart when it begins. */
export interface CaseFacts {
  reason: Reason;
  /** The decline's code as it came. */
  code: string | null;
  /** One of STANDINGS. */
  standing: number;
  names: Int32Array;
  codeName: number;
  rows: Int32Array;
  clock: Clock;
  failedAt: number;
  /** Tries on the card in the week before, the failed one included. */
  recent: number[];
}

/** Most people's money covers every bill. */
const AMPLE_USUAL = 0.7;

/** Somebody new: paid as others of the country are. */
export function newPerson(learned: Learned, country: string): Person {
  const usual = cycleChances(learned, country);
  return { country, usual, cycles: usual.slice(), ample: AMPLE_USUAL, charges: [] };
}

/** A code's own counts are filled up with so many cases of its reason. */
const CODE_STRENGTH = 30;
/** All names of a case together make a family likelier or less by no more than e to the power of this. */
const LEAN_MAX = 3;

/** The chances of the kinds of explanation for a reason and a code, shifted by what the names tell. */
function kindChances(learned: Learned, reason: Reason, code: number | null, names: Int32Array): Float64Array {
  const row = reasonRow(reason);
  let all = 0;
  for (let kind = 0; kind < KINDS; kind++) all += learned.kinds[row + kind]!;
  const lean = FAMILIES.map(() => 0);
  for (const name of names) {
    const at = shiftsAt(name);
    for (let family = 0; family < lean.length; family++) lean[family]! += learned.shifts[at + family]!;
  }
  const factors = lean.map((sum) => Math.exp(Math.max(-LEAN_MAX, Math.min(LEAN_MAX, sum))));
  const chances = new Float64Array(KINDS);
  let total = 0;
  for (let kind = 0; kind < KINDS; kind++) {
    const own = code === null ? 0 : learned.kinds[code + kind]!;
    const count = own + (learned.kinds[row + kind]! * CODE_STRENGTH) / all;
    chances[kind] = Math.max(1e-6, count) * factors[familyOfKind(kind)]!;
    total += chances[kind]!;
  }
  for (let kind = 0; kind < KINDS; kind++) chances[kind]! /= total;
  return chances;
}

/** Of tries on the card, oldest first, as many as tell cases apart: each try of a storm is noted in every open case of the customer. */
export const latestOf = (tries: readonly number[]) => tries.slice(-WEEK_TRIES_MAX);

/** What to believe of a case that has just begun. */
export function newBelief(learned: Learned, person: Person, facts: CaseFacts): Belief {
  const row = facts.code === null ? null : codeRow(facts.code);
  const kinds = kindChances(learned, facts.reason, row, facts.names);
  const shares = new Float64Array(EXPLANATIONS);
  for (let c = 0; c < CYCLES; c++) shares[c] = kinds[KIND_CYCLE]! * person.cycles[c]!;
  for (let e = CYCLES; e < EXPLANATIONS; e++) shares[e] = kinds[kindOf(e)]!;
  return {
    reason: facts.reason,
    firstReason: facts.reason,
    codeRow: row,
    standing: facts.standing,
    names: facts.names,
    codeName: facts.codeName,
    thenName: null,
    rows: facts.rows,
    dateCells: dateCells(person.charges, facts.failedAt),
    clock: facts.clock,
    firstFailedAt: facts.failedAt,
    lastTriedAt: facts.failedAt,
    tries: 0,
    recent: latestOf(facts.recent.toSorted((one, other) => one - other)),
    beside: null,
    shares,
    cyclesBefore: person.cycles.slice(),
    holdsEnd: holdEnds(facts.failedAt, facts.clock.offsetMs),
  };
}

/** The share of each kind in a belief, written into `kinds`. */
export function kindsOf(belief: Belief, kinds = new Float64Array(KINDS)): Float64Array {
  kinds.fill(0);
  for (let e = 0; e < EXPLANATIONS; e++) kinds[kindOf(e)]! += belief.shares[e]!;
  return kinds;
}

/** The chance of each pay cycle by what a case has shown, written into `cycles`; where pay is not what is missing, it has shown nothing. */
export function cyclesOf({ shares, cyclesBefore }: Belief, cycles: Float64Array): Float64Array {
  let paid = 0;
  for (let c = 0; c < CYCLES; c++) paid += shares[c]!;
  for (let c = 0; c < CYCLES; c++) cycles[c] = shares[c]! + (1 - paid) * cyclesBefore[c]!;
  return cycles;
}

/** For the call at hand: the first cell of each kind of cycle. */
const firstCells = new Int32Array(CYCLE_KINDS.length);

/**
 * Which weight each explanation adds to a try at that moment.
 *
 * @param cells  EXPLANATIONS numbers, filled in
 */
export function explainTry(belief: Belief, at: number, cells: Int32Array) {
  const day = judgedOn(belief.clock, at);
  const lastDay = judgedOn(belief.clock, belief.lastTriedAt);
  const now = sincePay(day);
  const then = sincePay(lastDay);
  const bins = sinceBins(judgedHour(belief.clock, at));
  for (let kind = 0; kind < firstCells.length; kind++)
    firstCells[kind] = sinceCell(belief.standing, PAID_BETWEEN.fresh, kind, 0);
  for (let c = 0; c < CYCLES; c++) {
    const since = now.row[now.from + c]!;
    const isSame = day - since === lastDay - then.row[then.from + c]!;
    cells[c] = firstCells[kindOfCycle[c]!]! + bins[since]! + (isSame ? TO_SAME : 0);
  }
  const others = otherCells(belief, at);
  for (let e = CYCLES; e < EXPLANATIONS; e++) cells[e] = others[otherOf(belief, e, at)]!;
}

/** What explanations other than a pay cycle may add to a try. */
const OTHER = { before: 0, after: 1, anyDay: 2, never: 3 } as const;
const OTHERS = 4;

/** Which of the OTHERS an explanation other than a pay cycle adds to a try at that moment. */
export const otherOf = ({ holdsEnd }: Belief, explanation: number, at: number): number =>
  explanation === NEVER
    ? OTHER.never
    : explanation === ANY_DAY
      ? OTHER.anyDay
      : at >= holdsEnd[explanation - FIRST_HOLD]!
        ? OTHER.after
        : OTHER.before;

const others = new Int32Array(OTHERS);
/** The weights of the OTHERS at that moment. Written over by the next call. */
function otherCells({ reason, lastTriedAt }: Belief, at: number): Int32Array {
  const of = classOf(reason);
  others[OTHER.before] = AT.before + of;
  others[OTHER.after] = AT.after + of;
  others[OTHER.anyDay] = anyDayWeight(of, at - lastTriedAt);
  others[OTHER.never] = AT.never;
  return others;
}

const ofOther = new Float64Array(OTHERS);
/** The chance of a try at a moment by each of the OTHERS, which adds its weight to a score. Written over by the next call. */
export function otherChances(
  { mean }: Learned,
  belief: Belief,
  at: number,
  score: number,
  scale: number,
): Float64Array {
  const cells = otherCells(belief, at);
  for (let n = 0; n < OTHERS; n++) ofOther[n] = phi((score + mean[cells[n]!]!) * scale);
  return ofOther;
}

/** The weights of a bill's first charge: for each cycle, and for money that is never short. */
export function explainFirst(clock: Clock, at: number, cells: Int32Array) {
  const day = judgedOn(clock, at);
  const { row, from } = sincePay(day);
  const bins = sinceBins(judgedHour(clock, at));
  for (let kind = 0; kind < firstCells.length; kind++)
    firstCells[kind] = sinceCell(STANDINGS.between, PAID_BETWEEN.first, kind, 0);
  for (let c = 0; c < CYCLES; c++) cells[c] = firstCells[kindOfCycle[c]!]! + bins[row[from + c]!]!;
  cells[AMPLE] = AT.ample;
}
