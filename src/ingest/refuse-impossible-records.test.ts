import assert from "node:assert/strict";
import { test } from "node:test";
import { INVOICE_KIND } from "./invoice-record.ts";
import { refusalMessage, toBytes } from "./parse-batch.fixture.ts";
import { parseBatch } from "./parse-batch.ts";
import { refuseImpossibleRecords } from "./refuse-impossible-records.ts";
import { SUBSCRIPTION_KIND } from "./subscription-record.ts";

const NOW = new Date("2026-03-02T10:00:00Z");
const CLOCK = { now: NOW, skewMs: 5 * 60_000 };
const invoice = { id: "in_1", state: "INVOICE_STATE_UNPAID", customerId: "c", amount: 4900, currency: "EUR" };
const earlier = { createdAt: "2026-03-01T10:00:00Z" };
const check = (...records: object[]) =>
  refuseImpossibleRecords("invoices", parseBatch(INVOICE_KIND, toBytes({ invoices: records })), CLOCK);
const refusalOf = (...records: object[]) => refusalMessage(() => check(...records));

test("a date in the future is refused with the difference and a hint to send UTC", () => {
  const ahead = { ...invoice, ...earlier, updatedAt: "2026-03-02T10:58:00Z" };
  assert.equal(
    refusalOf({ ...invoice, ...earlier }, ahead),
    "invoices[1].updatedAt is 58 minutes in the future; send UTC",
  );
  assert.match(refusalOf({ ...ahead, updatedAt: "2036-03-02T10:00:00Z" }), /updatedAt is 3653 days in the future/);
  assert.match(
    refusalOf({ ...invoice, createdAt: "2026-03-02T13:00:00Z" }),
    /^invoices\[0\]\.createdAt is 3 hours in the future/,
  );
  // Escaped text takes another path through the parser.
  assert.match(refusalOf({ ...ahead, businessEntity: '"' }), /58 minutes/);
});

test("a date that is ahead by at most the clock skew is accepted", () => {
  check({ ...invoice, ...earlier, updatedAt: "2026-03-02T10:05:00Z" });
  assert.match(
    refusalOf({ ...invoice, ...earlier, updatedAt: "2026-03-02T10:05:00.000001Z" }),
    /is 5 minutes in the future/,
  );
});

test("each impossible record is named, up to twenty", () => {
  const ahead = { ...invoice, createdAt: "2026-03-02T12:00:00Z" };
  const message = refusalOf(ahead, { ...invoice, ...earlier, amountDue: 4901 });
  assert.equal(
    message,
    "invoices[0].createdAt is 2 hours in the future; send UTC; invoices[1].amountDue must be at most amount",
  );
  assert.match(refusalOf(...Array(25).fill(ahead)), /and 5 more problems$/);
  check({ ...invoice, ...earlier, amountDue: 4900 }, { ...invoice, ...earlier, amountDue: 0 });
});

test("the end of a subscription is accepted in the future, up to the year 9999", () => {
  const subscription = {
    id: "s",
    state: "SUBSCRIPTION_STATE_ACTIVE",
    customerId: "c",
    amount: 1,
    currency: "EUR",
    ...earlier,
  };
  const read = (overrides: object) =>
    refuseImpossibleRecords(
      "subscriptions",
      parseBatch(SUBSCRIPTION_KIND, toBytes({ subscriptions: [{ ...subscription, ...overrides }] })),
      CLOCK,
    );
  read({ expiresAt: "9999-12-31T23:59:59Z", canceledAt: "2300-01-01T00:00:00.000Z" });
  assert.match(
    refusalMessage(() => read({ activatedAt: "2300-01-01T00:00:00Z" })),
    /activatedAt must be an RFC 3339 timestamp/,
  );
});
