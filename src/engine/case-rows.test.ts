import assert from "node:assert/strict";
import { test } from "node:test";
import { caseRows } from "./case-features.ts";
import { ROW_WIDTH, ROWS_BY_KIND, rowStart } from "./learned/model-layout.ts";

const COMMON_VALUES = {
  country:
    "US GB DE FR ES IT NL BE AT CH SE DK NO FI PL PT IE CZ HU RO GR CA MX BR AR CL CO AU NZ JP KR SG HK IN ID MY TH PH ZA TR IL AE SA",
  code: "51 05 54 14 41 43 04 07 15 57 59 61 62 63 65 78 79 82 91 93 96 19 1a 46 r0 r1 r3 n7 r01 r02 r03 r09 am04 ms03 ms02 ac01 ac04 ac06 md01 0 1 b",
  advice: "01 02 03 04 05 21 22 24 25 26 27 28 29 30 40 41 42 43 99",
  network: "visa mastercard amex american_express discover jcb unionpay diners maestro cartes_bancaires elo interac",
  period: "1day 1week 2week 4week 1month 2month 3month 6month 12month 1year 2year 30day 90day",
  pay: "credit:card debit:card prepaid:card ?:card ?:sepa_debit ?:ach_debit ?:bacs_debit ?:paypal",
} as const;

const YEARLY = { billingPeriod: 1, billingPeriodUnit: "YEAR" };

test("common values share no row, and a missing value has none", () => {
  for (const [kind, values] of Object.entries(COMMON_VALUES) as [keyof typeof COMMON_VALUES, string][]) {
    const starts = values.split(" ").map((value) => rowStart(kind, value));
    assert.equal(new Set(starts).size, starts.length, kind);
  }
  const unknown = { funding: null, paymentMethodType: null, network: null, issuer: null };
  const plan = { billingPeriod: null, billingPeriodUnit: null };
  const traits = {
    ...unknown,
    ...plan,
    country: "SE",
    dollars: 20,
    tenureDays: null,
    declineCode: null,
    adviceCode: null,
  };
  const facts = { funding: "debit", paymentMethodType: "card", network: "Visa", issuer: "A Bank", declineCode: "R01" };
  assert.equal(caseRows(traits).length, 2, "a country and an amount there always are");
  const rows = caseRows({ ...traits, ...facts, ...YEARLY, tenureDays: 400, adviceCode: "24" });
  const kindsOf = (some: Int32Array) =>
    [...some].map((row) => {
      const kind = Object.entries(ROWS_BY_KIND).find(
        ([, { start, rows: count }]) => row >= start && row < start + count * ROW_WIDTH,
      );
      return kind![0];
    });
  assert.deepEqual(kindsOf(rows), Object.keys(ROWS_BY_KIND));
  assert.equal(caseRows({ ...traits, billingPeriod: 1, billingPeriodUnit: "MONTH" }).length, 2, "the usual period");
  const beyond = caseRows({ ...traits, dollars: 1e12, tenureDays: 1e9 });
  assert.deepEqual(kindsOf(beyond), ["country", "amount", "tenure"], "steps beyond the last");
});
