import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../domain/durations.ts";
import type { LedgerEntry } from "./attempt-ledger.ts";
import { buildGuard, findForbiddingRule, type ProposedAttempt } from "./guard.ts";
import { isUnsent } from "./unsent-attempts.ts";

test("an attempt was never sent when the gateway's status or code says so", () => {
  for (const fields of [
    { paymentGatewayStatus: "not_sent_to_network" },
    { paymentGatewayStatus: " Not-Sent-To-Network " },
    { paymentGatewayErrorCode: "previously_declined_do_not_retry" },
    { networkDeclineCode: "previously_declined_do_not_retry" },
    { paymentGatewayStatus: null, paymentGatewayErrorCode: "not_sent_to_network" },
  ])
    assert.ok(isUnsent({ state: "FAILED", ...fields }), JSON.stringify(fields));
});

test("an attempt counts as sent when the bank answered it, or when a block does not say at which point it happened", () => {
  for (const fields of [
    {},
    { paymentGatewayStatus: "declined_by_network" },
    { paymentGatewayStatus: "reversed_after_approval" },
    { paymentGatewayErrorCode: "highest_risk_level" },
    { paymentGatewayErrorCode: "do_not_try_again" },
  ])
    assert.equal(isUnsent({ state: "FAILED", ...fields }), false, JSON.stringify(fields));
  assert.equal(isUnsent({ state: "PAID", paymentGatewayStatus: "not_sent_to_network" }), false);
});

const START = Date.UTC(2026, 0, 1);
const daysAfterStart = (days: number) => new Date(START + days * DAY_MS);
const buildEntry = (at: Date, rest: Partial<LedgerEntry> = {}): LedgerEntry => ({
  ...{ at, amount: 1000, approved: false, onThisInvoice: true, onPresentCard: true, codes: null },
  ...rest,
});
const buildAttempt = (ledger: LedgerEntry[], network: string | null, paymentMethodType = "card"): ProposedAttempt => ({
  instrument: { paymentMethodType, network, cardCountry: null },
  ...{ amount: 1000, ledger, firstTriedAt: daysAfterStart(0), earlyMs: 0 },
});

test("an attempt that was never sent counts toward no network limit", () => {
  const attempts = (rest: Partial<LedgerEntry>) =>
    Array.from({ length: 20 }, (_, n) => buildEntry(daysAfterStart(n / 48), rest));
  for (const network of ["visa", "mastercard", null]) {
    assert.equal(
      findForbiddingRule(buildGuard(buildAttempt(attempts({ isUnsent: true }), network)), +daysAfterStart(0.5)),
      null,
      `${network}`,
    );
    assert.notEqual(
      findForbiddingRule(buildGuard(buildAttempt(attempts({}), network)), +daysAfterStart(0.5)),
      null,
      `${network}`,
    );
  }
});

test("an invoice has used no attempt when its first one was never sent", () => {
  const guard = buildGuard(buildAttempt([buildEntry(daysAfterStart(0), { isUnsent: true })], "visa"));
  assert.deepEqual(
    guard.limits.map(({ times }) => times),
    [[]],
  );
});

test("an attempt that was never sent is no presentation of a bank debit", () => {
  const blocked = [1, 2, 3].map((days) => buildEntry(daysAfterStart(days), { isUnsent: true }));
  const { usedUp, attemptsLeft } = buildGuard(
    buildAttempt([buildEntry(daysAfterStart(0)), ...blocked], null, "sepa_debit"),
  );
  assert.deepEqual([usedUp, attemptsLeft?.count], [null, 2]);
});
