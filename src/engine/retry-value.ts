import { DAY_MS } from "../domain/durations.ts";
import type { LearnedModel } from "./learned/learned-model.ts";
import { toUsd } from "./us-dollars.ts";

/** What a try is worth and costs, as shares of the amount due. */
export interface RetryValue {
  /** What a recovery at that moment is worth. */
  worthAt(at: number): number;
  /** Cost of one try. */
  cost: number;
}

/** Where tries cost this share of what is due or more, none is made in a case in which none seems worth making. */
export const EXPENSIVE_COST_RATE = 0.2;
/** Money that comes a day later is worth this much less. */
const LOSS_RATE_PER_DAY = 0.004;
/** What gateways and networks take for a try: US dollars, and a share of the amount. */
const COST_USD = 0.12;
const COST_RATE = 0.003;
export const COST_WORDING = `some ${COST_USD} US dollars and ${100 * COST_RATE}%`;
/** An amount of nothing would make a try infinitely dear. */
const MIN_AMOUNT_USD = 0.01;

/** What is due, in US dollars, roughly. `amount` in minor units. */
export const amountDueUsd = (amount: number, currency: string) => Math.max(toUsd(amount, currency), MIN_AMOUNT_USD);

/** What is at stake where so many US dollars have been due since `from`. */
export const retryValueOf = (dollars: number, from: number): RetryValue => ({
  worthAt: (at) => 1 - (LOSS_RATE_PER_DAY * (at - from)) / DAY_MS,
  cost: COST_USD / dollars + COST_RATE,
});

/**
 * What a try must bring beyond its cost where all tries succeed, as a part of the amount and in US dollars; where few do, as much less. Each decline makes an
 * issuer more suspicious: of the customer's next bills, which are as large, and of other people's, whatever this one is for. And chances that look just worth a
 * try are the least sure.
 */
const MARGIN_RATE = 0.02;
const MARGIN_USD = 0.4;
/** As a part of the amount at most: small bills are customers too. */
const MAX_MARGIN_RATE = 0.06;

/** The same stakes with the margin on top of what a try costs: what a try must bring to be worth making. */
export const withMargin = (stakes: RetryValue, { tries }: LearnedModel, dollars: number): RetryValue => ({
  ...stakes,
  cost: stakes.cost + Math.min(MAX_MARGIN_RATE, MARGIN_RATE + MARGIN_USD / dollars) * tries[0]!,
});
