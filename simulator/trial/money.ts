import { dollarsOf } from "../../src/decisions/dollars.ts";
import { stakesOf } from "../../src/decisions/stakes.ts";
import type { Bill } from "../worlds/world.ts";

export const dollars = (bill: Pick<Bill, "amount" | "currency">) => dollarsOf(bill.amount, bill.currency);

/** By what policies are judged: what a recovery of the bill is worth when it comes, and what a try costs. */
export const stakesOfBill = (bill: Bill) => stakesOf(dollars(bill), bill.createdAt.getTime());
