import { retryValueOf } from "../../src/engine/retry-value.ts";
import { toUsd } from "../../src/engine/us-dollars.ts";
import type { Bill } from "../worlds/world.ts";

export const amountUsd = (bill: Pick<Bill, "amount" | "currency">) => toUsd(bill.amount, bill.currency);

export const retryValueOfInvoice = (bill: Bill) => retryValueOf(amountUsd(bill), bill.createdAt.getTime());
