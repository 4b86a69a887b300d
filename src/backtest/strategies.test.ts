import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { NumberedRule } from "../domain/recovery-rule.ts";
import { fromPretrained, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import { findFailedInvoices } from "./failed-invoices.ts";
import { parseHistory } from "./parse-history.ts";
import { buildStrategies } from "./strategies.ts";

const prior = JSON.parse(
  readFileSync(join(import.meta.dirname, "../engine/learned/prior.json"), "utf8"),
) as PretrainedModel;

/** Returns each strategy's next retry after the failure of `in_1`, the first row. The other rows are the customer's other invoices. */
const nextRetries = (columns: string, ...rows: string[]) => nextRetriesUnder([], columns, ...rows);
function nextRetriesUnder(rules: readonly NumberedRule[], columns: string, ...rows: string[]) {
  const lines = rows.map((row, n) => `in_${n + 1},cus_1,4900,EUR,${row}`);
  const later = `in_9,cus_2,4900,EUR,2026-03-09T09:00:00Z,PAID${",".repeat(columns.split(",").length)}`;
  const file = [`invoiceId,customerId,amount,currency,createdAt,state,${columns}`, ...lines, later].join("\n");
  const failures = findFailedInvoices(parseHistory(file).attempts, new Date("2026-07-01"));
  const strategies = buildStrategies(failures, fromPretrained(prior), [], rules);
  return Object.fromEntries(
    strategies.map(({ name, next }) => [
      name,
      next(failures.invoices.find(({ invoiceId }) => invoiceId === "in_1")!, 0),
    ]),
  );
}
const FAILED = "2026-01-05T09:00:00Z,FAILED";

test("a strategy interprets a gateway's number as the service does, and does not retry a revoked payment", () => {
  const columns = "paymentGatewayErrorCode,paymentGatewayName,paymentMethodType";
  for (const revoked of ["2018,braintree", "26,Adyen"]) {
    const { dunlin, rules } = nextRetries(columns, `${FAILED},${revoked},card`);
    assert.deepEqual([dunlin, rules], [null, null], revoked);
  }
  assert.ok(
    nextRetries(columns, `${FAILED},2018,,card`).rules instanceof Date,
    "a number without a gateway means nothing",
  );
});

test("a blocked card is not considered working again when the customer paid with it", () => {
  const columns = "initiator,networkDeclineCode,cardFingerprint,cardBrand,paymentMethodType";
  const card = "fp_1,visa,card";
  const next = (initiator: string) =>
    nextRetries(
      columns,
      `${FAILED},,51,${card}`,
      `2025-11-05T09:00:00Z,FAILED,,41,${card}`,
      `2025-12-20T09:00:00Z,PAID,${initiator},,${card}`,
    ).rules;
  assert.ok(next("BILLING_SYSTEM") instanceof Date);
  assert.equal(next("CUSTOMER"), "card");
});

test("a customer's own attempts on other invoices do not influence the time of a retry", () => {
  const columns = "initiator,networkDeclineCode,cardFingerprint,cardBrand,paymentMethodType";
  const card = "visa,card";
  const next = (initiator: string) =>
    nextRetries(
      columns,
      `${FAILED},,51,fp_1,${card}`,
      ...["09", "10", "11", "12"].map((month) => `2025-${month}-05T09:00:00Z,FAILED,${initiator},51,fp_2,${card}`),
    ).dunlin;
  const alone = nextRetries(columns, `${FAILED},,51,fp_1,${card}`).dunlin;
  assert.deepEqual(next("CUSTOMER"), alone);
  assert.notDeepEqual(next("BILLING_SYSTEM"), alone);
});

test("Dunlin's strategies follow the merchant's rules: quiet times, the budget and invoices that are left out", () => {
  const columns = "networkDeclineCode,cardCountry,cardBrand,paymentMethodType";
  const row = `${FAILED},51,DE,visa,card`;
  const rule: NumberedRule = {
    ...{ id: "", number: 1, name: "Germany", conditions: { cardCountries: ["DE"] }, leaveOut: false },
    ...{ windowDays: null, budget: null, leadMs: null, quiet: null },
  };
  const hours = { from: 20, to: 16 };
  const quiet = nextRetriesUnder([{ ...rule, quiet: { weekdays: [], dates: [], hours } }], columns, row);
  for (const next of [quiet.dunlin, quiet.rules]) {
    const hour = ((next as Date).getUTCHours() + 1) % 24;
    assert.ok(hour >= 16 && hour < 20, `${hour}`);
  }
  for (const outcome of [{ leaveOut: true }, { budget: 0 }]) {
    const { dunlin, rules, fixed } = nextRetriesUnder([{ ...rule, ...outcome }], columns, row);
    assert.deepEqual([dunlin, rules], [null, null]);
    assert.ok(fixed instanceof Date);
  }
  const other = { ...rule, conditions: { cardCountries: ["FR"] }, leaveOut: true };
  assert.deepEqual(nextRetriesUnder([other], columns, row), nextRetries(columns, row));
});
