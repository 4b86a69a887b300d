import { retryValueOf } from "../../src/engine/retry-value.ts";
import { toUsd } from "../../src/engine/us-dollars.ts";
import type { Bill } from "../worlds/world.ts";

export const amountUsd = (bill: Pick<Bill, "amount" | "currency">) => toUsd(bill.amount, bill.currency);

/** The value by which policies are judged: of a recovery at a time, and the cost of a retry. */
export const retryValueOfInvoice = (bill: Bill) => retryValueOf(amountUsd(bill), bill.createdAt.getTime());
