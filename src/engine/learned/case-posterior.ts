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
  SINCE_PAY_BINS,
  STANDINGS,
  sincePayBins,
  sincePayCell,
  WEIGHT_STARTS,
} from "./model-layout.ts";
import { CYCLE_COUNT, daysSincePay, KIND_BY_CYCLE } from "./pay-cycles.ts";
import { type BankClock, settlementDay, settlementHour } from "./settlement.ts";

/** "Never short of money" among a first charge's hypotheses. */
export const AMPLE_FUNDS = CYCLE_COUNT;

export interface CustomerPosterior {
  country: string;
  /** In the customer's country. */
  usualCycles: Float64Array;
  cycles: Float64Array;
  /**
   * Probability of never being short of money, so that first charges say nothing about how it runs out. `cycles` assumes the
   * opposite.
   */
  ample: number;
  /** `recordCharge` adds them. */
  charges: DatedCharge[];
}

/** Changed by `observeRetry` and `observeOtherInvoice`. */
export interface CasePosterior {
  /** Of the last failed attempt. */
  reason: Reason;
  /** Of the first charge. */
  firstReason: Reason;
  /** Start of the first failure code's counts. */
  codeRow: number | null;
  /** One of STANDINGS, when the case began. */
  standing: number;
  features: Int32Array;
  /** For the first failure's code and advice. */
  codeFeature: number;
  /** Added to that one; null if the code is the same. */
  laterCodeFeature: number | null;
  /** Where they begin. */
  rows: Int32Array;
  /** By date, up to and including this case's first charge. */
  dateCells: Uint8Array;
  clock: BankClock;
  firstFailedAt: number;
  lastTriedAt: number;
  retryCount: number;
  /** Latest that affect the model, oldest first. */
  recent: number[];
  /** Latest since the last retry, among the first MAX_OTHER_INVOICE_CHARGES; `count`: theirs. */
  otherCharge: { at: number; approved: boolean; count: number } | null;
  shares: Float64Array;
  /** When the case began; apply if missing pay is not the cause. */
  cyclesBefore: Float64Array;
  holdsEnd: Float64Array;
}

export interface CaseFacts
  extends Pick<CasePosterior, "reason" | "standing" | "features" | "codeFeature" | "rows" | "clock"> {
  /** As reported. */
  code: string | null;
  failedAt: number;
  /** On the card in the week before, including the failed one. */
  recent: number[];
}

/** Most customers can pay every invoice. */
const USUAL_AMPLE_SHARE = 0.7;

export function newCustomerPosterior(model: LearnedModel, country: string): CustomerPosterior {
  const usualCycles = cycleChances(model, country);
  return { country, usualCycles, cycles: usualCycles.slice(), ample: USUAL_AMPLE_SHARE, charges: [] };
}

/** Cases with the same reason. */
const CODE_STRENGTH = 30;
/** A case's features together change a family's odds by at most e to the power of this. */
const MAX_FEATURE_SHIFT = 3;

/** By reason and code, shifted by the features. */
function kindChancesOf(model: LearnedModel, reason: Reason, code: number | null, features: Int32Array): Float64Array {
  const row = reasonRow(reason);
  let all = 0;
  for (let kind = 0; kind < KIND_COUNT; kind++) all += model.kinds[row + kind]!;
  const lean = FAMILIES.map(() => 0);
  for (const name of features) {
    const at = shiftIndex(name);
    for (let family = 0; family < lean.length; family++) lean[family]! += model.shifts[at + family]!;
  }
  const factors = lean.map((sum) => Math.exp(Math.max(-MAX_FEATURE_SHIFT, Math.min(MAX_FEATURE_SHIFT, sum))));
  const chances = new Float64Array(KIND_COUNT);
  let total = 0;
  for (let kind = 0; kind < KIND_COUNT; kind++) {
    const ownCount = code === null ? 0 : model.kinds[code + kind]!;
    const count = ownCount + (model.kinds[row + kind]! * CODE_STRENGTH) / all;
    chances[kind] = Math.max(1e-6, count) * factors[familyOfKind(kind)]!;
    total += chances[kind]!;
  }
  for (let kind = 0; kind < KIND_COUNT; kind++) chances[kind]! /= total;
  return chances;
}

/** Oldest first. Limited, because every attempt in a burst is recorded in each of the customer's open cases. */
export const latestAttempts = (attempts: readonly number[]) => attempts.slice(-MAX_WEEK_ATTEMPTS);

export function newCasePosterior(model: LearnedModel, customer: CustomerPosterior, facts: CaseFacts): CasePosterior {
  const { code, failedAt, ...sharedFields } = facts;
  const row = code === null ? null : codeRow(code);
  const kinds = kindChancesOf(model, facts.reason, row, facts.features);
  const shares = new Float64Array(HYPOTHESIS_COUNT);
  for (let c = 0; c < CYCLE_COUNT; c++) shares[c] = kinds[KIND_CYCLE]! * customer.cycles[c]!;
  for (let e = CYCLE_COUNT; e < HYPOTHESIS_COUNT; e++) shares[e] = kinds[kindOf(e)]!;
  return {
    ...sharedFields,
    firstReason: facts.reason,
    codeRow: row,
    laterCodeFeature: null,
    dateCells: computeDateCells(customer.charges, failedAt),
    firstFailedAt: failedAt,
    lastTriedAt: failedAt,
    retryCount: 0,
    recent: latestAttempts(facts.recent.toSorted((a, b) => a - b)),
    otherCharge: null,
    shares,
    cyclesBefore: customer.cycles.slice(),
    holdsEnd: holdEnds(failedAt, facts.clock.offsetMs),
  };
}

export function kindShares(posterior: CasePosterior, kinds = new Float64Array(KIND_COUNT)): Float64Array {
  kinds.fill(0);
  for (let e = 0; e < HYPOTHESIS_COUNT; e++) kinds[kindOf(e)]! += posterior.shares[e]!;
  return kinds;
}

/** If missing pay is not the cause, the case has shown nothing about pay cycles. */
export function cycleShares({ shares, cyclesBefore }: CasePosterior, cycles: Float64Array): Float64Array {
  let paid = 0;
  for (let c = 0; c < CYCLE_COUNT; c++) paid += shares[c]!;
  for (let c = 0; c < CYCLE_COUNT; c++) cycles[c] = shares[c]! + (1 - paid) * cyclesBefore[c]!;
  return cycles;
}

/** @param cells  HYPOTHESIS_COUNT numbers */
export function fillRetryCells(posterior: CasePosterior, at: number, cells: Int32Array) {
  const day = settlementDay(posterior.clock, at);
  const lastDay = settlementDay(posterior.clock, posterior.lastTriedAt);
  const pay = daysSincePay(day);
  const lastPay = daysSincePay(lastDay);
  const bins = sincePayBins(settlementHour(posterior.clock, at));
  const firstCell = sincePayCell(posterior.standing, PAID_BETWEEN.fresh, 0, 0);
  for (let c = 0; c < CYCLE_COUNT; c++) {
    const since = pay.row[pay.from + c]!;
    const isSame = day - since === lastDay - lastPay.row[lastPay.from + c]!;
    cells[c] = firstCell + KIND_BY_CYCLE[c]! * SINCE_PAY_BINS + bins[since]! + (isSame ? FRESH_TO_SAME_OFFSET : 0);
  }
  for (let e = CYCLE_COUNT; e < HYPOTHESIS_COUNT; e++) cells[e] = otherCell(posterior, e, at);
}

/** The cell of a hypothesis that is not about pay. */
export function otherCell({ reason, lastTriedAt, holdsEnd }: CasePosterior, hypothesis: number, at: number): number {
  if (hypothesis === NEVER_HYPOTHESIS) return WEIGHT_STARTS.never;
  const classIndex = classOf(reason);
  if (hypothesis === ANY_DAY_HYPOTHESIS) return anyDayWeight(classIndex, at - lastTriedAt);
  return (at < holdsEnd[hypothesis - FIRST_HOLD]! ? WEIGHT_STARTS.before : WEIGHT_STARTS.after) + classIndex;
}

/** For each cycle and for "never short of money". */
export function fillFirstChargeCells(clock: BankClock, at: number, cells: Int32Array) {
  const day = settlementDay(clock, at);
  const { row, from } = daysSincePay(day);
  const bins = sincePayBins(settlementHour(clock, at));
  const firstCell = sincePayCell(STANDINGS.between, PAID_BETWEEN.first, 0, 0);
  for (let c = 0; c < CYCLE_COUNT; c++)
    cells[c] = firstCell + KIND_BY_CYCLE[c]! * SINCE_PAY_BINS + bins[row[from + c]!]!;
  cells[AMPLE_FUNDS] = WEIGHT_STARTS.ample;
}
