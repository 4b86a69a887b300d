import { DAY_MS } from "../domain/durations.ts";
import type { Learned } from "../model/learned.ts";
import { dollarsOf } from "./dollars.ts";

/** What a try is worth and costs, as shares of the amount due. */
export interface Stakes {
  /** What a recovery at that moment is worth. */
  worthAt(at: number): number;
  /** Cost of one try. */
  cost: number;
}

/** Where tries cost this share of what is due or more, none is made in a case in which none seems worth making. */
export const DEAR = 0.2;
/** Money that comes a day later is worth this much less. */
const LOSS_A_DAY = 0.004;
/** What gateways and networks take for a try: US dollars, and a share of the amount. */
const COST_DOLLARS = 0.12;
const COST_PART = 0.003;
export const COST_WORDS = `some ${COST_DOLLARS} US dollars and ${100 * COST_PART}%`;
/** An amount of nothing would make a try infinitely dear. */
const DOLLARS_MIN = 0.01;

/** What is due, in US dollars, roughly. `amount` in minor units. */
export const dollarsDue = (amount: number, currency: string) => Math.max(dollarsOf(amount, currency), DOLLARS_MIN);

/** What is at stake where so many US dollars have been due since `from`. */
export const stakesOf = (dollars: number, from: number): Stakes => ({
  worthAt: (at) => 1 - (LOSS_A_DAY * (at - from)) / DAY_MS,
  cost: COST_DOLLARS / dollars + COST_PART,
});

/**
 * What a try must bring beyond its cost where all tries succeed, as a part of the amount and in US dollars; where few do, as much less. Each decline makes an
 * issuer more suspicious: of the customer's next bills, which are as large, and of other people's, whatever this one is for. And chances that look just worth a
 * try are the least sure.
 */
const MARGIN_PART = 0.02;
const MARGIN_DOLLARS = 0.4;
/** As a part of the amount at most: small bills are customers too. */
const MARGIN_MAX = 0.06;

/** The same stakes with the margin on top of what a try costs: what a try must bring to be worth making. */
export const withMargin = (stakes: Stakes, { tries }: Learned, dollars: number): Stakes => ({
  ...stakes,
  cost: stakes.cost + Math.min(MARGIN_MAX, MARGIN_PART + MARGIN_DOLLARS / dollars) * tries[0]!,
});
