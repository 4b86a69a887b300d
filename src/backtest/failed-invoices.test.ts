import assert from "node:assert/strict";
import { test } from "node:test";
import { readHistory } from "./attempts.ts";
import { failuresOf } from "./failed-invoices.ts";
import { GAPS, STOP } from "./gaps.ts";

/** Attempts of one invoice, each with its day, its state and who made it; and one that is new enough for the invoice's window to be over. */
function failures(...attempts: [day: number, state: string, initiator?: string][]) {
  const row = (invoiceId: string, [day, state, initiator = ""]: [number, string, string?]) =>
    `${invoiceId},${new Date(Date.UTC(2026, 0, 1 + day)).toISOString()},${state},4900,EUR,${initiator}`;
  const rows = [...attempts.map((each) => row("in_1", each)), row("in_2", [60, "PAID"])];
  return failuresOf(readHistory(["invoiceId,createdAt,state,amount,currency,initiator", ...rows].join("\n")).attempts);
}
const CUSTOMER = "TRANSACTION_INITIATOR_CUSTOMER";
const after = (days: number) => GAPS.findIndex(({ from }) => from === days);

test("an invoice that its customer pays before the first retry says nothing of retries: it is left out, and counted", () => {
  const paid = failures([0, "FAILED"], [0, "PAID", CUSTOMER]);
  assert.deepEqual([paid.invoices, paid.paidBefore], [[], 1]);
  assert.equal(failures([0, "FAILED"], [3, "PAID", "BILLING_SYSTEM"]).paidBefore, 0);
});

test("where a customer pays after a retry, that one was made, and what would have come next is not known", () => {
  const { invoices, paidBefore } = failures([0, "FAILED"], [3, "FAILED"], [4, "PAID", "customer"]);
  assert.equal(paidBefore, 0);
  assert.deepEqual(
    invoices[0]!.decisions.map(({ choice, succeeded }) => [choice, succeeded]),
    [[after(3), false]],
  );
});

test("a customer's own failed attempt is no retry, and one after the window changes nothing", () => {
  const { invoices } = failures([0, "FAILED"], [1, "FAILED", CUSTOMER], [3, "FAILED"], [40, "PAID", CUSTOMER]);
  assert.deepEqual(
    invoices[0]!.decisions.map(({ choice }) => choice),
    [after(3), STOP],
  );
  const last = failures([0, "FAILED"], [3, "FAILED"], [5, "FAILED", CUSTOMER]).invoices[0]!;
  assert.equal(last.decisions.at(-1)!.choice, STOP, "the merchant's system had its time, and tried no more");
});
