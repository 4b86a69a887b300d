import assert from "node:assert/strict";
import { test } from "node:test";
import { INVOICE_KIND } from "./invoice-record.ts";
import {
  INVOICE,
  invoiceJsonWith,
  parseFixture,
  parseInvoices,
  parseInvoiceWith,
  refusalMessage,
  textRefusalMessage,
  toBytes,
} from "./parse-batch.fixture.ts";

const AMOUNT = "must be an integer from 0 to 9007199254740991, written with digits only";

test("the batch must be an array of 1 to 200 records in an object", () => {
  assert.equal(textRefusalMessage("[]"), "the body must be an object with the array invoices");
  assert.equal(textRefusalMessage("null"), "the body must be an object with the array invoices");
  assert.equal(textRefusalMessage("{}"), "invoices is required");
  assert.equal(textRefusalMessage('{"__proto__": {"invoices": []}}'), "invoices is required");
  assert.equal(textRefusalMessage('{"invoices": {}}'), "invoices must be an array");
  assert.equal(
    refusalMessage(() => parseInvoices()),
    "invoices must hold at least one record",
  );
  assert.equal(parseInvoices(...Array(200).fill(INVOICE)).length, 200);
  assert.equal(
    refusalMessage(() => parseInvoices(...Array(201).fill(INVOICE))),
    "invoices must hold at most 200 records",
  );
});

test("a body with too many objects or levels is refused before it is parsed", () => {
  const repeatedBody = (unit: string, bytes: number) =>
    Buffer.from(`{"invoices":[${unit.repeat(bytes / unit.length)}{}]}`);
  const levels = "the body must not be nested deeper than 32 levels";
  assert.equal(textRefusalMessage(repeatedBody("{},", 29_000)), "invoices must hold at most 200 records");
  assert.match(textRefusalMessage(repeatedBody("{},", 1_000_000)), /^the body must not hold more than 20000 commas/);
  assert.equal(textRefusalMessage(repeatedBody("[", 1_000_000)), levels);
  assert.equal(textRefusalMessage(repeatedBody('{"a":', 1_000_000)), levels);
});

test("amounts that JavaScript would change are refused", () => {
  for (const literal of [
    "9007199254740993",
    "9007199254740992",
    "1e21",
    "1e400",
    "5.0",
    "-0",
    "1e3",
    "1E3",
    "5.00000000000000000001",
    "9007199254740991.4",
    '"5"',
    "-1",
    "0.5",
    "true",
    "[]",
  ]) {
    assert.equal(textRefusalMessage(invoiceJsonWith("amount", literal)), `invoices[0].amount ${AMOUNT}`, literal);
    assert.equal(
      textRefusalMessage(invoiceJsonWith("amount", literal).replace(": [", ":[")),
      `invoices[0].amount ${AMOUNT}`,
      literal,
    );
  }
  for (const literal of ["0", "9007199254740991"])
    assert.equal(parseFixture(INVOICE_KIND, toBytes(invoiceJsonWith("amount", literal)))[0]!.amount, Number(literal));
});

test("numbers of unknown fields are accepted in any notation", () => {
  const [invoice] = parseFixture(INVOICE_KIND, toBytes(invoiceJsonWith("rate", '{"tax": 19.0, "list": [1e3, -0]}')));
  assert.equal("rate" in invoice!, false);
});

test("a key that appears twice in an object is refused in any notation", () => {
  const duplicated = JSON.stringify({ invoices: [INVOICE] });
  const expected = "invoices[0].amount appears twice in the same object";
  assert.equal(textRefusalMessage(duplicated.replace('"amount":1999', '"amount":1999,"amount":1')), expected);
  assert.equal(textRefusalMessage(duplicated.replace('"amount":1999', '"amount":1999,"\\u0061mount":1999')), expected);
  assert.equal(textRefusalMessage(duplicated.replace('"amount":1999', '"amount" : 1999,\n"amount" : 1999')), expected);
  assert.equal(textRefusalMessage('{"invoices":[],"invoices":[{}]}'), "invoices appears twice in the same object");
  assert.equal(
    textRefusalMessage(`{"invoices":[${JSON.stringify(INVOICE)}],"x":{"y":1,"y":1}}`),
    "x.y appears twice in the same object",
  );
});

test("text that looks like JSON inside a string is kept", () => {
  const businessEntity = '{"amount": 5.0, "amount": -0} \\" , "a":1e9 \\';
  assert.equal(parseInvoiceWith({ businessEntity }).businessEntity, businessEntity);
});

test("a body that is not JSON in UTF-8 is refused, and the message repeats no part of it", () => {
  const json = JSON.stringify({ invoices: [INVOICE] });
  assert.equal(textRefusalMessage(""), "the body is empty: send JSON");
  assert.equal(textRefusalMessage(`\ufeff${json}`), "the body must not begin with a byte order mark");
  assert.match(textRefusalMessage(Buffer.from(json, "utf16le")), /^the body is not valid JSON/);
  assert.equal(textRefusalMessage(Buffer.from(`\ufeff${json}`, "utf16le")), "the body must be UTF-8");
  assert.equal(
    textRefusalMessage(Buffer.concat([Buffer.from('{"invoices":["'), Buffer.from([0xff, 0xc3, 0x28])])),
    "the body must be UTF-8",
  );
  assert.equal(textRefusalMessage(Buffer.from([0xed, 0xa0, 0x80])), "the body must be UTF-8"); // a surrogate in UTF-8
  assert.match(
    textRefusalMessage('{"invoices": NaN}'),
    /^the body is not valid JSON, at character \d+$|^the body is not valid JSON$/,
  );
  for (const text of ["{", '{"invoices":[1,]}', "secret-key-123", "{'a':1}", '{"a":"\n"}', "{}{}"])
    assert.match(textRefusalMessage(text), /^the body is not valid JSON(, at character \d+)?$/, text);
});

test("deep nesting is refused, with and without whitespace", () => {
  const nest = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const expected = "the body must not be nested deeper than 32 levels";
  for (const depth of [31, 5_000, 500_000])
    for (const space of ["", " "])
      assert.equal(
        textRefusalMessage(`{"invoices":${space}[${JSON.stringify(INVOICE).replace("{", `{"x":${nest(depth)},`)}]}`),
        expected,
      );
  assert.equal(textRefusalMessage(nest(5_000)), "the body must be an object with the array invoices");
  assert.match(textRefusalMessage(`{"invoices":[${nest(5_000)}]}`), /invoices\[0\] must be an object|nested deeper/);
  parseInvoiceWith({ x: JSON.parse(nest(25)) });
});
