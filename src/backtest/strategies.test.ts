import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fromPretrained, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import { findFailedInvoices } from "./failed-invoices.ts";
import { parseHistory } from "./parse-history.ts";
import { buildStrategies } from "./strategies.ts";

const prior = JSON.parse(
  readFileSync(join(import.meta.dirname, "../engine/learned/prior.json"), "utf8"),
) as PretrainedModel;

/** What each way does right after the failure of `in_1`, the first row. Each row: a moment, a state, and what the columns are called; the others are the customer's other bills. */
function nextRetries(columns: string, ...rows: string[]) {
  const lines = rows.map((row, n) => `in_${n + 1},cus_1,4900,EUR,${row}`);
  const later = `in_9,cus_2,4900,EUR,2026-03-09T09:00:00Z,PAID${",".repeat(columns.split(",").length)}`;
  const file = [`invoiceId,customerId,amount,currency,createdAt,state,${columns}`, ...lines, later].join("\n");
  const failures = findFailedInvoices(parseHistory(file).attempts, new Date("2026-07-01"));
  const ways = buildStrategies(failures, fromPretrained(prior), []);
  return Object.fromEntries(
    ways.map((way) => [way.name, way.next(failures.invoices.find(({ invoiceId }) => invoiceId === "in_1")!, 0)]),
  );
}
const FAILED = "2026-01-05T09:00:00Z,FAILED";

test("a way reads a gateway's number as the service does: where the customer revoked the payment none of Dunlin's tries again", () => {
  const columns = "paymentGatewayErrorCode,paymentGatewayName,paymentMethodType";
  for (const revoked of ["2018,braintree", "26,Adyen"]) {
    const { dunlin, rules } = nextRetries(columns, `${FAILED},${revoked},card`);
    assert.deepEqual([dunlin, rules], [null, null], revoked);
  }
  assert.ok(nextRetries(columns, `${FAILED},2018,,card`).rules instanceof Date, "a number of nobody's means nothing");
});

test("a card that was barred is not taken for working again because the customer, who may be there, paid with it", () => {
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

test("what the customer did about other bills, who may be there, says nothing of when a try succeeds", () => {
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
