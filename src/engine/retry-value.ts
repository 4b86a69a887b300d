import { DAY_MS } from "../domain/durations.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { toUsd } from "./us-dollars.ts";

/** As fractions of the amount due. */
export interface RetryValue {
  valueAt(at: number): number;
  cost: number;
}

/** As a fraction of the amount due; a case not worth retrying that costs more is never retried. */
export const EXPENSIVE_COST_RATE = 0.2;
const LOSS_RATE_PER_DAY = 0.004;
/** Gateway and network fees: US dollars, and a fraction of the amount. */
const COST_USD = 0.12;
const COST_RATE = 0.003;
export const COST_WORDING = `about USD ${COST_USD} plus ${100 * COST_RATE}% of the amount`;
/** Zero would make a retry infinitely expensive. */
const MIN_AMOUNT_USD = 0.01;

/** Approximate; `amount` is in minor units. */
export const amountDueUsd = (amount: number, currency: string) => Math.max(toUsd(amount, currency), MIN_AMOUNT_USD);

/** Due since `from`. */
export const retryValueOf = (dollars: number, from: number): RetryValue => ({
  valueAt: (at) => 1 - (LOSS_RATE_PER_DAY * (at - from)) / DAY_MS,
  cost: COST_USD / dollars + COST_RATE,
});

/**
 * Required beyond a retry's cost if all retries succeed; proportionally less if fewer do. Each decline makes an issuer more
 * suspicious.
 */
const MARGIN_RATE = 0.02;
const MARGIN_USD = 0.4;
/** So that small invoices are retried too. */
const MAX_MARGIN_RATE = 0.06;

export const withMargin = (retryValue: RetryValue, { tries }: LearnedModel, dollars: number): RetryValue => ({
  ...retryValue,
  cost: retryValue.cost + Math.min(MAX_MARGIN_RATE, MARGIN_RATE + MARGIN_USD / dollars) * tries[0]!,
});
