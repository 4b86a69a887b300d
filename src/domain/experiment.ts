const ARMS = ["dunlin", "merchant"] as const;
export type Arm = (typeof ARMS)[number];

/** In the calibration, the merchant's system handles both arms, so they must be alike. */
export type Phase = "calibration" | "comparison";

/** An arm's halves have the same treatment. */
export type ArmHalf = 1 | 2;

/** The recovered share of invoices (`count`), or of money in a currency. */
export type Measure = string;
export const COUNT_MEASURE: Measure = "count";

/** Only the end can change, because results of different splits cannot be combined. */
export interface Experiment {
  id: string;
  name: string;
  /** Makes assignments independent of other experiments. */
  salt: string;
  /** Customers in `dunlin`, 0 to 1. */
  share: number;
  startedAt: Date;
  /** Earlier failures belong to the calibration. Equal to `startedAt` without one. */
  comparedFrom: Date;
  stoppedAt: Date | null;
  /** An invoice's age when it is counted, paid or not. */
  maturityDays: number;
  /** For the verdict. */
  primary: Measure;
  /** Smallest difference that matters: 0.03 is three points. */
  margin: number;
}

export interface ExperimentCell {
  phase: Phase;
  arm: Arm;
  half: ArmHalf;
  measure: Measure;
}

/**
 * Sums over customers: `due` failed and `got` was recovered, as invoices or minor units. The products give the variance between
 * customers.
 */
export interface CellTotals {
  customers: number;
  due: number;
  got: number;
  dueDue: number;
  dueGot: number;
  gotGot: number;
}
