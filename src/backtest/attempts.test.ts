import assert from "node:assert/strict";
import { test } from "node:test";
import { readHistory } from "./attempts.ts";
import { groupOf } from "./failed-invoices.ts";

const CSV = `Invoice ID,customer_id,createdAt,state,amount,currency,networkDeclineCode,note
inv_1,cus_1,2026-01-05T09:00:00Z,FAILED,4900,EUR,51,"a, quoted ""note"""
inv_1,cus_1,2026-01-08T09:00:00Z,TRANSACTION_STATE_PAID,4900,eur,,
`;

test("a heading may spell its names in any way, and unknown columns are passed over", () => {
  const { attempts, problems } = readHistory(`\ufeff${CSV}`);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    attempts.map(({ invoiceId, customerId, approved, amount, currency, networkDeclineCode }) => [
      invoiceId,
      customerId,
      approved,
      amount,
      currency,
      networkDeclineCode,
    ]),
    [
      ["inv_1", "cus_1", false, 4900, "EUR", "51"],
      ["inv_1", "cus_1", true, 4900, "EUR", null],
    ],
  );
});

test("a number of the gateway's is read by the gateway's name", () => {
  const line = "inv_1,2026-01-05T09:00:00Z,FAILED,4900,EUR,12";
  const heading =
    "invoiceId,createdAt,state,amount,currency,paymentGatewayErrorCode,paymentGatewayName,paymentGatewayType";
  const history = [heading, `${line},Adyen,`, `${line},EU acquiring,adyen`, `${line},,`].join("\n");
  assert.deepEqual(readHistory(history).attempts.map(groupOf), ["FUNDS", "FUNDS", "UNKNOWN"]);
});

test("the same in JSON lines is the same history", () => {
  const lines = [
    {
      invoiceId: "inv_1",
      customerId: "cus_1",
      createdAt: "2026-01-05T09:00:00Z",
      state: "FAILED",
      amount: 4900,
      currency: "EUR",
      networkDeclineCode: "51",
    },
    {
      invoiceId: "inv_1",
      customerId: "cus_1",
      createdAt: "2026-01-08T09:00:00Z",
      state: "PAID",
      amount: 4900,
      currency: "EUR",
    },
  ];
  const json = lines.map((line) => JSON.stringify(line)).join("\n");
  assert.deepEqual(readHistory(json).attempts, readHistory(CSV).attempts);
});

test("a record that can't be read is left out and named by its line; one that is pending is no attempt", () => {
  const { attempts, problems, leftOut } = readHistory(`invoiceId,createdAt,state,amount,currency,propensity
inv_1,2026-01-05T09:00:00Z,FAILED,49.00,EUR,
inv_2,yesterday,FAILED,4900,EUR,
inv_3,2026-01-05T09:00:00Z,PENDING,4900,EUR,
inv_4,2026-01-05T09:00:00Z,FAILED,4900,EUR,0
inv_5,2026-01-05T09:00:00Z,FAILED,4900,EUR,0.25
`);
  assert.deepEqual(
    attempts.map(({ invoiceId, customerId, chance }) => [invoiceId, customerId, chance]),
    [["inv_5", "inv_5", 0.25]],
  );
  assert.equal(leftOut, 3);
  assert.deepEqual(problems, [
    'line 2: amount "49.00" is no whole number of minor units',
    'line 3: createdAt "yesterday" is no moment',
    'line 5: propensity "0" is no chance above 0',
  ]);
});

test("a heading without what every record needs is refused, and says what it has", () => {
  assert.throws(
    () => readHistory("invoice,date,amount\n1,2,3\n"),
    /no invoiceid, no createdat, no state, no currency\. It has: invoice, date, amount/,
  );
});
