import { dollarsOf } from "../../src/decisions/dollars.ts";
import type { Bill } from "../worlds/world.ts";

const DAY_MS = 86_400_000;

export const dollars = (bill: Pick<Bill, "amount" | "currency">) => dollarsOf(bill.amount, bill.currency);

/** What money is worth when it comes late: 0.4 % less for each day. */
export const lateFactor = (bill: Bill, at: number) => 1 - (0.004 * (at - bill.createdAt.getTime())) / DAY_MS;

/** Cost of one try as a share of the amount: 0.12 USD and 0.3 %. */
export const costShare = (bill: Bill) => 0.12 / dollars(bill) + 0.003;
