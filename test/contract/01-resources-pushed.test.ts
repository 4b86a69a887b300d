import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Shop } from "./contract-shop.ts";
import { type Service, useService } from "./running-service.ts";

// The tables "Subscription" and "Invoice": one test per row. `right` must be accepted, `wrong` refused by a 400 that names it.
const use = useService();
let service: Service;
let shop: Shop;
before(async () => {
  service = await use.start();
  shop = await service.shop({ endpoint: false, ratePerSecond: 1000, rateBurst: 1000 });
});
after(() => use.end());

interface Row {
  right: unknown[];
  wrong: unknown[];
  required?: true;
}

const TIMES = {
  right: ["2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123Z", "2026-01-31T13:00:00+01:00"],
  wrong: ["2026-01-31", "2026-02-30T12:00:00Z", "2026-01-31T12:00:00", "31 Jan 2026", 1769860800, ""],
};
const ID = { right: ["a", "x".repeat(255), "ид-1"], wrong: [7, "", "x".repeat(256), "a\u0000b", {}, true] };
const NAME = { right: ["Harbor Coffee GmbH"], wrong: [7, [], { name: "x" }] };
const AMOUNT: Row = { right: [0, 1, 9007199254740991], wrong: ["1999", 19.99, -1, 9007199254740992], required: true };
const CURRENCY: Row = { right: ["EUR", "USD", "XQX"], wrong: ["eur", "EURO", "E1R", 978], required: true };

const SUBSCRIPTION: Record<string, Row> = {
  id: { ...ID, required: true },
  state: {
    right: ["ACTIVE", "CANCELED", "TRIALING", "PENDING", "PAST_DUE", "PAUSED", "EXPIRED"].map(
      (state) => `SUBSCRIPTION_STATE_${state}`,
    ),
    wrong: ["ACTIVE", "SUBSCRIPTION_STATE_OTHER", "subscription_state_active", 1],
    required: true,
  },
  customerId: { ...ID, required: true },
  businessEntity: NAME,
  planId: ID,
  amount: AMOUNT,
  currency: CURRENCY,
  createdAt: { ...TIMES, required: true },
  updatedAt: TIMES,
  activatedAt: TIMES,
  canceledAt: TIMES,
  expiresAt: TIMES,
  billingPeriod: { right: [1, 12], wrong: ["1", 1.5, -1] },
  billingPeriodUnit: {
    right: ["DAY", "WEEK", "MONTH", "YEAR"].map((unit) => `BILLING_PERIOD_UNIT_${unit}`),
    wrong: ["MONTH", "BILLING_PERIOD_UNIT_CENTURY", 1],
  },
};

const INVOICE: Record<string, Row> = {
  id: { ...ID, required: true },
  state: {
    right: ["PAID", "UNPAID", "DRAFT", "PARTIALLY_PAID", "VOIDED", "UNCOLLECTIBLE", "REFUNDED"].map(
      (state) => `INVOICE_STATE_${state}`,
    ),
    wrong: ["PAID", "INVOICE_STATE_OTHER", "invoice_state_paid", 1],
    required: true,
  },
  customerId: { ...ID, required: true },
  subscriptionId: ID,
  businessEntity: NAME,
  amount: AMOUNT,
  currency: CURRENCY,
  createdAt: { ...TIMES, required: true },
  updatedAt: TIMES,
};

function testRows(kind: "subscriptions" | "invoices", rows: Record<string, Row>, make: () => Record<string, unknown>) {
  for (const [field, { right, wrong, required }] of Object.entries(rows)) {
    const what = `${kind.slice(0, -1)}, \`${field}\``;
    test(`${what}: accepts the values of its type`, async () => {
      for (const value of right) {
        const { status, text } = await shop.post(kind, [{ ...make(), [field]: value }]);
        assert.equal(status, 200, `${JSON.stringify(value)}: ${text}`);
      }
    });

    test(`${what}: anything else is a 400 that names the record and the field`, async () => {
      for (const value of wrong) {
        if (value === "" && !required) continue;
        const { status, json } = await shop.post(kind, [make(), { ...make(), [field]: value }]);
        assert.equal(status, 400, `${JSON.stringify(value)} was taken`);
        assert.ok(String(json.message).startsWith(`${kind}[1].${field} `), String(json.message));
      }
    });

    test(`${what}: ${required ? "is required" : "may be absent"}`, async () => {
      const record = make();
      delete record[field];
      const { status, json } = await shop.post(kind, [record]);
      assert.equal(status, required ? 400 : 200);
      if (required) assert.equal(json.message, `${kind}[0].${field} is required`);
    });

    if (!required)
      test(`${what}: an empty text or null means absent`, async () => {
        for (const value of ["", null])
          assert.equal((await shop.post(kind, [{ ...make(), [field]: value }])).status, 200);
      });
  }
}

testRows("subscriptions", SUBSCRIPTION, () => shop.subscription());
testRows("invoices", INVOICE, () => shop.invoice());
