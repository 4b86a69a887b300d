import { DAY_MS } from "../domain/durations.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { toUsd } from "./us-dollars.ts";

/** Value and cost of a retry, as fractions of the amount due. */
export interface RetryValue {
  /** Returns the value of a recovery at a time. */
  worthAt(at: number): number;
  /** Cost of one retry. */
  cost: number;
}

/** If a retry costs this fraction of the amount due or more, a case not worth retrying is never retried. */
export const EXPENSIVE_COST_RATE = 0.2;
/** Loss of value per day of delay. */
const LOSS_RATE_PER_DAY = 0.004;
/** Fees of gateways and networks for a retry: US dollars, and a fraction of the amount. */
const COST_USD = 0.12;
const COST_RATE = 0.003;
export const COST_WORDING = `about ${COST_USD} US dollars and ${100 * COST_RATE}%`;
/** An amount of zero would make a retry infinitely expensive. */
const MIN_AMOUNT_USD = 0.01;

/** Returns the amount due in approximate US dollars. `amount` is in minor units. */
export const amountDueUsd = (amount: number, currency: string) => Math.max(toUsd(amount, currency), MIN_AMOUNT_USD);

/** Returns value and cost for an amount due in US dollars since `from`. */
export const retryValueOf = (dollars: number, from: number): RetryValue => ({
  worthAt: (at) => 1 - (LOSS_RATE_PER_DAY * (at - from)) / DAY_MS,
  cost: COST_USD / dollars + COST_RATE,
});

/**
 * The value that a retry must bring beyond its cost if all retries succeed, as a fraction of the amount and in US dollars;
 * proportionally less if fewer succeed. Each decline makes an issuer more suspicious of the merchant's next charges, and
 * probabilities close to the limit are the least certain.
 */
const MARGIN_RATE = 0.02;
const MARGIN_USD = 0.4;
/** The margin's maximum as a fraction of the amount, so that small invoices are retried too. */
const MAX_MARGIN_RATE = 0.06;

/** Adds the margin to the cost: the value that a retry must reach to be worth making. */
export const withMargin = (stakes: RetryValue, { tries }: LearnedModel, dollars: number): RetryValue => ({
  ...stakes,
  cost: stakes.cost + Math.min(MAX_MARGIN_RATE, MARGIN_RATE + MARGIN_USD / dollars) * tries[0]!,
});
