import { computeDateCells, type DatedCharge } from "./date-outcomes.ts";
import {
  ANY_DAY_HYPOTHESIS,
  codeRow,
  FAMILIES,
  FIRST_HOLD,
  familyOfKind,
  HYPOTHESIS_COUNT,
  holdEnds,
  KIND_COUNT,
  KIND_CYCLE,
  kindOf,
  NEVER_HYPOTHESIS,
  reasonRow,
} from "./hypotheses.ts";
import { cycleChances, type LearnedModel, shiftIndex } from "./learned-model.ts";
import {
  anyDayWeight,
  classOf,
  FRESH_TO_SAME_OFFSET,
  MAX_WEEK_ATTEMPTS,
  PAID_BETWEEN,
  type Reason,
  STANDINGS,
  sincePayBins,
  sincePayCell,
  WEIGHT_STARTS,
} from "./model-layout.ts";
import { normalCdf } from "./normal-distribution.ts";
import { CYCLE_COUNT, CYCLE_KINDS, daysSincePay, KIND_BY_CYCLE } from "./pay-cycles.ts";
import { type BankClock, settlementDay, settlementHour } from "./settlement.ts";

/** Where a first charge has that money is never short: after the cycles. */
export const AMPLE_FUNDS = CYCLE_COUNT;

/** What is believed of a customer. */
export interface CustomerPosterior {
  country: string;
  /** How likely each pay cycle is in their country. */
  usual: Float64Array;
  /** How likely each pay cycle is theirs. */
  cycles: Float64Array;
  /** How likely money is never short. As far as it is, first charges teach nothing of how money runs out after pay; `cycles` is what holds if it is not. */
  ample: number;
  /** Their charges, as far as they say something of their dates; changed by `recordCharge`. */
  charges: DatedCharge[];
}

/** What is believed of a case. Changed by `observeRetry`, and by `observeOtherInvoice` as other bills are charged. */
export interface CasePosterior {
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
  clock: BankClock;
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
  clock: BankClock;
  failedAt: number;
  /** Tries on the card in the week before, the failed one included. */
  recent: number[];
}

/** Most people's money covers every bill. */
const USUAL_AMPLE_SHARE = 0.7;

/** Somebody new: paid as others of the country are. */
export function newCustomerPosterior(learned: LearnedModel, country: string): CustomerPosterior {
  const usual = cycleChances(learned, country);
  return { country, usual, cycles: usual.slice(), ample: USUAL_AMPLE_SHARE, charges: [] };
}

/** A code's own counts are filled up with so many cases of its reason. */
const CODE_STRENGTH = 30;
/** All names of a case together make a family likelier or less by no more than e to the power of this. */
const MAX_FEATURE_SHIFT = 3;

/** The chances of the kinds of explanation for a reason and a code, shifted by what the names tell. */
function kindChancesOf(learned: LearnedModel, reason: Reason, code: number | null, names: Int32Array): Float64Array {
  const row = reasonRow(reason);
  let all = 0;
  for (let kind = 0; kind < KIND_COUNT; kind++) all += learned.kinds[row + kind]!;
  const lean = FAMILIES.map(() => 0);
  for (const name of names) {
    const at = shiftIndex(name);
    for (let family = 0; family < lean.length; family++) lean[family]! += learned.shifts[at + family]!;
  }
  const factors = lean.map((sum) => Math.exp(Math.max(-MAX_FEATURE_SHIFT, Math.min(MAX_FEATURE_SHIFT, sum))));
  const chances = new Float64Array(KIND_COUNT);
  let total = 0;
  for (let kind = 0; kind < KIND_COUNT; kind++) {
    const own = code === null ? 0 : learned.kinds[code + kind]!;
    const count = own + (learned.kinds[row + kind]! * CODE_STRENGTH) / all;
    chances[kind] = Math.max(1e-6, count) * factors[familyOfKind(kind)]!;
    total += chances[kind]!;
  }
  for (let kind = 0; kind < KIND_COUNT; kind++) chances[kind]! /= total;
  return chances;
}

/** Of tries on the card, oldest first, as many as tell cases apart: each try of a storm is noted in every open case of the customer. */
export const latestAttempts = (tries: readonly number[]) => tries.slice(-MAX_WEEK_ATTEMPTS);

/** What to believe of a case that has just begun. */
export function newCasePosterior(learned: LearnedModel, person: CustomerPosterior, facts: CaseFacts): CasePosterior {
  const row = facts.code === null ? null : codeRow(facts.code);
  const kinds = kindChancesOf(learned, facts.reason, row, facts.names);
  const shares = new Float64Array(HYPOTHESIS_COUNT);
  for (let c = 0; c < CYCLE_COUNT; c++) shares[c] = kinds[KIND_CYCLE]! * person.cycles[c]!;
  for (let e = CYCLE_COUNT; e < HYPOTHESIS_COUNT; e++) shares[e] = kinds[kindOf(e)]!;
  return {
    reason: facts.reason,
    firstReason: facts.reason,
    codeRow: row,
    standing: facts.standing,
    names: facts.names,
    codeName: facts.codeName,
    thenName: null,
    rows: facts.rows,
    dateCells: computeDateCells(person.charges, facts.failedAt),
    clock: facts.clock,
    firstFailedAt: facts.failedAt,
    lastTriedAt: facts.failedAt,
    tries: 0,
    recent: latestAttempts(facts.recent.toSorted((one, other) => one - other)),
    beside: null,
    shares,
    cyclesBefore: person.cycles.slice(),
    holdsEnd: holdEnds(facts.failedAt, facts.clock.offsetMs),
  };
}

/** The share of each kind in a belief, written into `kinds`. */
export function kindShares(belief: CasePosterior, kinds = new Float64Array(KIND_COUNT)): Float64Array {
  kinds.fill(0);
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) kinds[kindOf(e)]! += belief.shares[e]!;
  return kinds;
}

/** The chance of each pay cycle by what a case has shown, written into `cycles`; where pay is not what is missing, it has shown nothing. */
export function cycleShares({ shares, cyclesBefore }: CasePosterior, cycles: Float64Array): Float64Array {
  let paid = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) paid += shares[c]!;
  for (let c = 0; c < CYCLE_COUNT; c++) cycles[c] = shares[c]! + (1 - paid) * cyclesBefore[c]!;
  return cycles;
}

/** The first cell of each kind of cycle. */
const firstCells = (standing: number, between: number) =>
  CYCLE_KINDS.map((_, kind) => sincePayCell(standing, between, kind, 0));

/**
 * Which weight each explanation adds to a try at that moment.
 *
 * @param cells  EXPLANATIONS numbers, filled in
 */
export function fillRetryCells(belief: CasePosterior, at: number, cells: Int32Array) {
  const day = settlementDay(belief.clock, at);
  const lastDay = settlementDay(belief.clock, belief.lastTriedAt);
  const now = daysSincePay(day);
  const then = daysSincePay(lastDay);
  const bins = sincePayBins(settlementHour(belief.clock, at));
  const firstCellByCycleKind = firstCells(belief.standing, PAID_BETWEEN.fresh);
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const since = now.row[now.from + c]!;
    const isSame = day - since === lastDay - then.row[then.from + c]!;
    cells[c] = firstCellByCycleKind[KIND_BY_CYCLE[c]!]! + bins[since]! + (isSame ? FRESH_TO_SAME_OFFSET : 0);
  }
  const others = computeOtherEffectCells(belief, at);
  for (let e = CYCLE_COUNT; e < HYPOTHESIS_COUNT; e++) cells[e] = others[otherEffectOf(belief, e, at)]!;
}

/** What explanations other than a pay cycle may add to a try. */
const OTHER_EFFECT = { before: 0, after: 1, anyDay: 2, never: 3 } as const;

/** Which of the OTHERS an explanation other than a pay cycle adds to a try at that moment. */
export const otherEffectOf = ({ holdsEnd }: CasePosterior, explanation: number, at: number): number =>
  explanation === NEVER_HYPOTHESIS
    ? OTHER_EFFECT.never
    : explanation === ANY_DAY_HYPOTHESIS
      ? OTHER_EFFECT.anyDay
      : at >= holdsEnd[explanation - FIRST_HOLD]!
        ? OTHER_EFFECT.after
        : OTHER_EFFECT.before;

/** The weights of the other effects at a time, in the order of `OTHER_EFFECT`. */
function computeOtherEffectCells(
  { reason, lastTriedAt }: CasePosterior,
  at: number,
): [before: number, after: number, anyDay: number, never: number] {
  const of = classOf(reason);
  return [WEIGHT_STARTS.before + of, WEIGHT_STARTS.after + of, anyDayWeight(of, at - lastTriedAt), WEIGHT_STARTS.never];
}

/** The chance of a retry under each of the other effects, in the order of `OTHER_EFFECT`. */
export function computeOtherEffectChances(
  { mean }: LearnedModel,
  belief: CasePosterior,
  at: number,
  score: number,
  scale: number,
): number[] {
  const [before, after, anyDay, never] = computeOtherEffectCells(belief, at);
  return [
    normalCdf((score + mean[before]!) * scale),
    normalCdf((score + mean[after]!) * scale),
    normalCdf((score + mean[anyDay]!) * scale),
    normalCdf((score + mean[never]!) * scale),
  ];
}

/** The weights of a bill's first charge: for each cycle, and for money that is never short. */
export function fillFirstChargeCells(clock: BankClock, at: number, cells: Int32Array) {
  const day = settlementDay(clock, at);
  const { row, from } = daysSincePay(day);
  const bins = sincePayBins(settlementHour(clock, at));
  const firstCellByCycleKind = firstCells(STANDINGS.between, PAID_BETWEEN.first);
  for (let c = 0; c < CYCLE_COUNT; c++) cells[c] = firstCellByCycleKind[KIND_BY_CYCLE[c]!]! + bins[row[from + c]!]!;
  cells[AMPLE_FUNDS] = WEIGHT_STARTS.ample;
}
