/** Who handles the failed payments: Dunlin, or the merchant's own system. */
const ARMS = ["dunlin", "merchant"] as const;
export type Arm = (typeof ARMS)[number];

/** In the calibration the merchant's own system handles both arms, so they must be alike. */
export type Phase = "calibration" | "comparison";

/** The halves of an arm have the same treatment. */
export type ArmHalf = 1 | 2;

/** The share of recovered invoices (`count`), or of recovered money in a currency. */
export type Measure = string;
export const COUNT_MEASURE: Measure = "count";

/** Only the end can change, because results of different splits cannot be combined. */
export interface Experiment {
  id: string;
  name: string;
  /** Makes assignments independent of other experiments. */
  salt: string;
  /** Of customers in the arm `dunlin`, between 0 and 1. */
  share: number;
  startedAt: Date;
  /** Invoices that fail earlier belong to the calibration. Equal to `startedAt` without one. */
  comparedFrom: Date;
  stoppedAt: Date | null;
  /** The age at which an invoice is counted, paid or not. */
  maturityDays: number;
  /** Of the verdict. */
  primary: Measure;
  /** The smallest difference that matters: 0.03 is three points. */
  margin: number;
}

export interface ExperimentCell {
  phase: Phase;
  arm: Arm;
  half: ArmHalf;
  measure: Measure;
}

/**
 * Sums over customers. For each one, `due` is what failed and `got` what was recovered: a number of invoices, or minor
 * units. The products give the variance between customers.
 */
export interface CellTotals {
  customers: number;
  due: number;
  got: number;
  dueDue: number;
  dueGot: number;
  gotGot: number;
}
