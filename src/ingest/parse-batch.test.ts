import assert from "node:assert/strict";
import { test } from "node:test";
import { INVOICE_KIND } from "./invoice-record.ts";
import {
  INVOICE,
  invoiceJsonWith,
  parseFixture,
  parseInvoices,
  parseInvoiceWith,
  parseTransactionWith,
  refusalMessage,
  textRefusalMessage,
  toBytes,
} from "./parse-batch.fixture.ts";
import { SUBSCRIPTION_KIND } from "./subscription-record.ts";

const AMOUNT = "must be an integer from 0 to 9007199254740991, written with digits only";
const TIMESTAMP_ERROR = /^invoices\[0\]\.createdAt must be an RFC 3339 timestamp/;
const IDENTIFIER = "must be a string of 1 to 255 characters, without control characters or lone surrogates";

test("an invoice is converted to its domain form", () => {
  const read = parseInvoiceWith({
    subscriptionId: "sub_1",
    businessEntity: "Müller & Söhne",
    updatedAt: "2026-01-15T12:00:00.5+01:00",
  });
  assert.deepEqual(read, {
    id: "in_1",
    state: "UNPAID",
    customerId: "cus_1",
    subscriptionId: "sub_1",
    businessEntity: "Müller & Söhne",
    amount: 1999,
    currency: "EUR",
    createdAt: new Date("2026-01-15T10:00:00.000Z"),
    updatedAt: new Date("2026-01-15T11:00:00.500Z"),
  });
});

test("the first record and field at fault are named, whichever check finds them", () => {
  const noDate = { ...INVOICE, createdAt: "2026-02-30T00:00:00Z", updatedAt: 1 };
  assert.match(
    refusalMessage(() => parseInvoices(noDate, { ...INVOICE, amount: "1" })),
    TIMESTAMP_ERROR,
  );
});

test("an optional null is the same as absent", () => {
  const read = parseInvoiceWith({ updatedAt: null, subscriptionId: null });
  assert.equal(read.updatedAt, undefined);
  assert.equal("subscriptionId" in read, false);
});

test("a subscription is read with all its fields and in every state of the API", () => {
  const states = ["ACTIVE", "CANCELED", "TRIALING", "PENDING", "PAST_DUE", "PAUSED", "EXPIRED"];
  const record = (state: string) => ({
    ...INVOICE,
    state: `SUBSCRIPTION_STATE_${state}`,
    planId: "gold",
    canceledAt: "2026-02-01T00:00:00Z",
    billingPeriod: 3,
    billingPeriodUnit: "BILLING_PERIOD_UNIT_WEEK",
  });
  const subscriptions = parseFixture(SUBSCRIPTION_KIND, toBytes({ subscriptions: states.map(record) }));
  assert.deepEqual(
    subscriptions.map(({ state }) => state),
    states,
  );
  assert.equal(subscriptions[0]!.billingPeriodUnit, "WEEK");
  assert.deepEqual(subscriptions[0]!.canceledAt, new Date("2026-02-01T00:00:00.000Z"));
});

test("a transaction is read with prefixes stripped", () => {
  const read = parseTransactionWith({
    declineCategory: "DECLINE_CATEGORY_INSUFFICIENT_FUNDS",
    cardFunding: "CARD_FUNDING_PREPAID",
    initiator: "TRANSACTION_INITIATOR_CUSTOMER",
    customerTimezone: "Europe/Berlin",
    networkToken: false,
    attemptNumber: 0,
    cardBin: "411111",
    cardLast4: "0011",
    paymentGatewayErrorMessage: "Insufficient funds.\nTry later.",
  });
  assert.equal(read.declineCategory, "INSUFFICIENT_FUNDS");
  assert.equal(read.cardFunding, "PREPAID");
  assert.equal(read.initiator, "CUSTOMER");
  assert.equal(read.networkToken, false);
  assert.equal(read.attemptNumber, 0);
});

test("a missing required field is named with its record", () => {
  for (const field of ["id", "state", "customerId", "amount", "currency", "createdAt"]) {
    const { [field]: _, ...rest } = INVOICE as Record<string, unknown>;
    assert.equal(
      refusalMessage(() => parseInvoices(INVOICE, rest)),
      `invoices[1].${field} is required`,
    );
  }
  assert.equal(
    refusalMessage(() => parseTransactionWith({ invoiceId: undefined })),
    "transactions[0].invoiceId is required",
  );
});

test("a required null is refused", () => {
  assert.equal(
    refusalMessage(() => parseInvoiceWith({ amount: null })),
    `invoices[0].amount ${AMOUNT}`,
  );
});

test("a record that is no object is refused", () => {
  for (const record of [null, 5, "x", []])
    assert.equal(
      refusalMessage(() => parseInvoices(record)),
      "invoices[0] must be an object",
    );
});

test("timestamps that do not exist in the calendar are refused", () => {
  const invalid = [
    "2026-02-30T10:00:00Z",
    "2025-02-29T10:00:00Z",
    "2100-02-29T00:00:00Z",
    "2026-13-01T10:00:00Z",
    "2026-00-01T10:00:00Z",
    "2026-01-00T10:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T10:60:00Z",
    "2016-12-31T23:59:60Z",
    "2026-01-01T10:00:00",
    "2026-01-01 10:00:00Z",
    "2026-01-01",
    "1",
    "now",
    "infinity",
    "",
    "0000-01-01T00:00:00Z",
    "1969-12-31T23:59:59.999Z",
    "2200-01-01T00:00:00Z",
    "2199-12-31T23:00:00-02:00",
    "1970-01-01T00:30:00+01:00",
    "+02026-01-01T00:00:00Z",
    "2026-01-01T10:00:00.Z",
    "2026-01-01T10:00:00+0100",
    "2026-01-01T10:00:00+24:00",
    "2026-01-01T10:00:00+01:60",
    "2026-01-01T10:00:00Z ",
    "2026-01-01T10:00:00ZZ",
    "２026-01-01T10:00:00Z",
    "2026-01-01T1:00:000Z",
  ];
  for (const text of invalid)
    assert.match(
      refusalMessage(() => parseInvoiceWith({ createdAt: text })),
      TIMESTAMP_ERROR,
      text,
    );
  for (const value of [1768471200, true, {}, []])
    assert.match(
      refusalMessage(() => parseInvoiceWith({ createdAt: value })),
      TIMESTAMP_ERROR,
    );
});

test("timestamps are kept in UTC, to the millisecond", () => {
  const valid = {
    "2024-02-29T10:00:00Z": "2024-02-29T10:00:00.000Z",
    "2026-01-01t10:00:00z": "2026-01-01T10:00:00.000Z",
    "2026-01-01T00:30:00.123999999+02:00": "2025-12-31T22:30:00.123Z",
    "2026-01-01T10:00:00.1Z": "2026-01-01T10:00:00.100Z",
    "2026-01-01T10:00:00-00:00": "2026-01-01T10:00:00.000Z",
    "1969-12-31T23:30:00-01:00": "1970-01-01T00:30:00.000Z",
    "2200-01-01T00:30:00+01:00": "2199-12-31T23:30:00.000Z",
    "2000-03-01T00:00:00Z": "2000-03-01T00:00:00.000Z",
  };
  for (const [text, utc] of Object.entries(valid))
    assert.equal(parseInvoiceWith({ createdAt: text }).createdAt.toISOString(), utc);
});

test("identifiers are 1 to 255 characters without control characters or lone surrogates", () => {
  for (const id of [
    "",
    "x".repeat(256),
    "é".repeat(256),
    "a\u0000b",
    "a\nb",
    "a\u007fb",
    "a\u0085b",
    "\ud800",
    "\udc00x",
  ])
    assert.equal(
      refusalMessage(() => parseInvoiceWith({ id })),
      `invoices[0].id ${IDENTIFIER}`,
    );
  assert.equal(textRefusalMessage(invoiceJsonWith("customerId", '"\\ud83d"')), `invoices[0].customerId ${IDENTIFIER}`);
  assert.equal(
    refusalMessage(() => parseInvoiceWith({ id: 5 })),
    `invoices[0].id ${IDENTIFIER}`,
  );
  for (const id of ["x", "x".repeat(255), "😀".repeat(255), "with space", "constructor", "__proto__"])
    assert.equal(parseInvoiceWith({ id }).id, id);
});

test("text that PostgreSQL cannot store is refused", () => {
  assert.match(
    refusalMessage(() => parseInvoiceWith({ businessEntity: "a\u0000" })),
    /^invoices\[0\]\.businessEntity must be a string/,
  );
  for (const text of ["a\u0000b", "\udfff"])
    assert.match(
      refusalMessage(() => parseTransactionWith({ paymentGatewayErrorMessage: text })),
      /paymentGatewayErrorMessage must be a string of at most 4000/,
    );
});

test("enums, currencies, countries, cards and time zones are checked", () => {
  assert.match(
    refusalMessage(() => parseInvoiceWith({ state: "INVOICE_STATE_OPEN" })),
    /^invoices\[0\]\.state must be one of INVOICE_STATE_PAID, /,
  );
  assert.match(
    refusalMessage(() => parseInvoiceWith({ state: "UNPAID" })),
    /^invoices\[0\]\.state must be one of/,
  );
  for (const currency of ["eur", "EU", "EURO", "E1R", "EUR\n"])
    assert.equal(
      refusalMessage(() => parseInvoiceWith({ currency })),
      "invoices[0].currency must be three capital letters",
    );
  assert.equal(parseInvoiceWith({ currency: "ZZZ" }).currency, "ZZZ");
  const invalid: Record<string, unknown[]> = {
    cardCountry: ["de", "DEU"],
    cardBin: ["41111", "411111111", 411111],
    cardLast4: ["111", "11111", 1111],
    cardExpiryMonth: [0, 13, 1.5, "1"],
    cardExpiryYear: [27, 2200, "2027"],
    attemptNumber: [-1, 2 ** 31],
    networkToken: ["true", 1],
    paymentMethodType: ["Card", "card "],
    declineCategory: ["INSUFFICIENT_FUNDS", "DECLINE_CATEGORY_"],
    cardFunding: ["CREDIT", "CARD_FUNDING_GIFT"],
    customerTimezone: ["Europe/Nowhere", "+01:00", "local", "constructor"],
    recoveryActionId: ["a\nb"],
  };
  for (const [field, values] of Object.entries(invalid))
    for (const value of values) {
      const message = refusalMessage(() => parseTransactionWith({ [field]: value }));
      assert.ok(message.startsWith(`transactions[0].${field} must be`), `${field} ${String(value)}: ${message}`);
    }
  for (const zone of ["UTC", "Asia/Calcutta", "America/Argentina/Buenos_Aires"])
    assert.equal(parseTransactionWith({ customerTimezone: zone }).customerTimezone, zone);
});

test("unknown fields are ignored, even a thousand of them and those with dangerous names", () => {
  const manyFields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, { index }]));
  assert.deepEqual(parseInvoiceWith(manyFields), parseInvoiceWith({}));
  const [invoice] = parseFixture(
    INVOICE_KIND,
    toBytes(invoiceJsonWith("__proto__", '{"polluted": true, "amount": 1}')),
  );
  assert.deepEqual(Object.keys(invoice!).sort(), Object.keys(parseInvoiceWith({})).sort());
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  parseInvoiceWith({ constructor: { prototype: { polluted: true } } });
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});
