import assert from "node:assert/strict";
import { test } from "node:test";
import {
  INVOICE,
  parseInvoices,
  parseInvoiceWith,
  refusalMessage,
  textRefusalMessage,
  VISA,
} from "./parse-batch.fixture.ts";

const AMOUNT = "must be an integer from 0 to 9007199254740991, written with digits only";
const CURRENCY = "must be three capital letters";

test("all problems of a batch are listed with their paths, in the order of its records", () => {
  const message = refusalMessage(() =>
    parseInvoices(INVOICE, { ...INVOICE, currency: "eur", amount: "5", card: VISA }, 7, {
      ...INVOICE,
      id: undefined,
      businessEntity: "4111 1111 1111 1111",
    }),
  );
  assert.deepEqual(
    message.split("; ").map((each) => each.replace(/ \(13 to 19 .*/, "")),
    [
      `invoices[1].amount ${AMOUNT}`,
      `invoices[1].currency ${CURRENCY}`,
      "invoices[1].card must not hold a card number",
      "invoices[2] must be an object",
      "invoices[3].id is required",
      "invoices[3].businessEntity must not hold a card number",
    ],
  );
});

test("values that parsing would change are listed among the other problems, and each path once", () => {
  const record = JSON.stringify(INVOICE);
  const duplicated = record.replace('"amount":1999', '"amount":1999,"amount":-1');
  const changed = record.replace('"amount":1999', '"amount":1e21').replace("EUR", "eur");
  assert.equal(
    textRefusalMessage(`{"invoices":[${record.replace("EUR", "E")},${duplicated},${changed}],"x":{"a":1,"a":1}}`),
    [
      `invoices[0].currency ${CURRENCY}`,
      "invoices[1].amount appears twice in the same object",
      `invoices[2].amount ${AMOUNT}`,
      `invoices[2].currency ${CURRENCY}`,
      "x.a appears twice in the same object",
    ].join("; "),
  );
});

test("twenty problems are listed and the others counted", () => {
  const invalid = { ...INVOICE, currency: "eur" };
  const listProblems = (count: number) =>
    Array.from({ length: count }, (_, n) => `invoices[${n}].currency ${CURRENCY}`);
  const problemsOf = (count: number) => refusalMessage(() => parseInvoices(...Array(count).fill(invalid))).split("; ");
  assert.deepEqual(problemsOf(20), listProblems(20));
  assert.deepEqual(problemsOf(21), [...listProblems(20), "and 1 more problem"]);
  assert.deepEqual(problemsOf(200), [...listProblems(20), "and 180 more problems"]);
});

test("a message has at most 8,000 characters for any paths", () => {
  const deep = (levels: number): unknown => (levels === 0 ? VISA : { ["x".repeat(64)]: deep(levels - 1) });
  const message = refusalMessage(() => parseInvoices(...Array(20).fill({ ...INVOICE, x: deep(25) })));
  assert.ok(message.length > 5_000 && message.length <= 8_000, `${message.length}`);
  assert.match(message, /; and 1[0-9] more problems$/);
});

test("a body with thousands of duplicate keys is refused quickly, with the path of one", () => {
  const duplicated = `{${'"a":1,'.repeat(19_000)}"a":1}`;
  assert.equal(
    textRefusalMessage(`{"invoices":[${JSON.stringify({ ...INVOICE, x: "@" }).replace('"@"', duplicated)}]}`),
    "invoices[0].x.a appears twice in the same object",
  );
  parseInvoiceWith({ x: { a: 1 } });
});
