/** Who looks after a customer's failed payments: Dunlin, or the merchant's own system, which is what Dunlin is compared with. */
const ARMS = ["dunlin", "merchant"] as const;
export type Arm = (typeof ARMS)[number];

/**
 * In the calibration both arms are left to the merchant's own system, so they must come out alike; in the comparison the arm
 * `dunlin` is treated.
 */
export type Phase = "calibration" | "comparison";

/** Each arm has two halves that are treated alike: A1, A2, B1, B2. */
export type ArmHalf = 1 | 2;

/** What is compared: recovered invoices of failed ones (`count`), or recovered money of failed money in one currency (its code). */
export type Measure = string;
export const COUNT_MEASURE: Measure = "count";

/** An experiment on a merchant's customers. All but its end is fixed when it is made: results of a split that changes can't be added up. */
export interface Experiment {
  id: string;
  name: string;
  /** Makes the assignment of this experiment independent of any other one's. */
  salt: string;
  /** Share of the customers that the arm `dunlin` gets, between 0 and 1. */
  share: number;
  startedAt: Date;
  /** Invoices that fail before this moment belong to the calibration. `startedAt`: there is none. */
  comparedFrom: Date;
  stoppedAt: Date | null;
  /** An invoice is counted this long after it failed, paid or not, in both arms. */
  maturityDays: number;
  /** The measure that the verdict rests on. */
  primary: Measure;
  /** The smallest difference that matters, as a share: 0.03 is three points. */
  margin: number;
}

/** Which customers are added up: one cell of the result. */
export interface ExperimentCell {
  phase: Phase;
  arm: Arm;
  half: ArmHalf;
  measure: Measure;
}

/**
 * Sums over the customers of a cell. Of a customer, `due` is what failed and `got` what of it was recovered: numbers of
 * invoices, or minor units. The sums of products give the variance between customers.
 */
export interface CellTotals {
  customers: number;
  due: number;
  got: number;
  dueDue: number;
  dueGot: number;
  gotGot: number;
}
