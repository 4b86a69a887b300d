import assert from "node:assert/strict";
import { test } from "node:test";
import { findFailedInvoices } from "./failed-invoices.ts";
import { parseHistory } from "./parse-history.ts";
import { RETRY_GAPS, STOP_CHOICE } from "./retry-gaps.ts";

const NOW = new Date(Date.UTC(2026, 6, 1));

/** Finds failures among these attempts of one invoice. Adds an invoice that is late enough for the window to be over. */
function findFailures(...attempts: [day: number, state: string, initiator?: string][]) {
  const row = (invoiceId: string, [day, state, initiator = ""]: [number, string, string?]) =>
    `${invoiceId},${new Date(Date.UTC(2026, 0, 1 + day)).toISOString()},${state},4900,EUR,${initiator}`;
  const rows = [...attempts.map((each) => row("in_1", each)), row("in_2", [60, "PAID"])];
  return findFailedInvoices(
    parseHistory(["invoiceId,createdAt,state,amount,currency,initiator", ...rows].join("\n")).attempts,
    NOW,
  );
}
const CUSTOMER = "TRANSACTION_INITIATOR_CUSTOMER";
const gapFrom = (days: number) => RETRY_GAPS.findIndex(({ from }) => from === days);

test("an invoice that the customer pays before the first retry is left out and counted", () => {
  const paid = findFailures([0, "FAILED"], [0, "PAID", CUSTOMER]);
  assert.deepEqual([paid.invoices, paid.paidBefore], [[], 1]);
  assert.equal(findFailures([0, "FAILED"], [3, "PAID", "BILLING_SYSTEM"]).paidBefore, 0);
});

test("a retry counts, and the next choice is unknown, when the customer pays after it", () => {
  const { invoices, paidBefore } = findFailures([0, "FAILED"], [3, "FAILED"], [4, "PAID", "customer"]);
  assert.equal(paidBefore, 0);
  assert.deepEqual(
    invoices[0]!.decisions.map(({ choice, succeeded }) => [choice, succeeded]),
    [[gapFrom(3), false]],
  );
});

test("a customer's failed attempt is no retry, and an attempt after the window changes nothing", () => {
  const { invoices } = findFailures([0, "FAILED"], [1, "FAILED", CUSTOMER], [3, "FAILED"], [40, "PAID", CUSTOMER]);
  assert.deepEqual(
    invoices[0]!.decisions.map(({ choice }) => choice),
    [gapFrom(3), STOP_CHOICE],
  );
  const last = findFailures([0, "FAILED"], [3, "FAILED"], [5, "FAILED", CUSTOMER]).invoices[0]!;
  assert.equal(last.decisions.at(-1)!.choice, STOP_CHOICE, "the merchant's system made no further retry in time");
});

test("an attempt dated in the future is left out, and does not extend the history", () => {
  const header = "invoiceId,createdAt,state,amount,currency";
  const row = (invoiceId: string, at: string, state: string) => `${invoiceId},${at},${state},4900,EUR`;
  const rows = [row("in_1", "2026-06-20", "FAILED"), row("in_2", "2026-06-21", "PAID")];
  const failuresWith = (...more: string[]) =>
    findFailedInvoices(parseHistory([header, ...rows, ...more].join("\n")).attempts, NOW);
  const { ahead, ...rest } = failuresWith(row("in_1", "2099-02-01", "PAID"), row("in_3", "2099-01-01", "PAID"));
  assert.deepEqual([ahead, rest.aheadFrom], [2, new Date("2099-01-01")]);
  const plain = failuresWith();
  assert.equal(plain.tooYoung, 1);
  assert.deepEqual({ ...rest, aheadFrom: null, ahead: 0 }, { ...plain });
  const { from, to, tooYoung } = findFailedInvoices(
    failuresWith().invoices.flatMap(({ attempts }) => attempts),
    NOW,
  );
  assert.deepEqual([from, to, tooYoung], [NOW, NOW, 0], "an empty history starts and ends now");
});
