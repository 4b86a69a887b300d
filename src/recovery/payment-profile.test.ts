import assert from "node:assert/strict";
import { test } from "node:test";
import type { Transaction } from "../domain/transaction.ts";
import { paymentProfileOf } from "./payment-profile.ts";

/**
 * Returns the payment profile of invoice 1 from attempts of customer c, each given by its differences from an attempt on invoice
 * 1 by card A.
 */
function buildProfile(...attempts: Partial<Transaction>[]) {
  const transactions = attempts.map(
    (overrides, at) =>
      ({
        id: String(at),
        invoiceId: "1",
        customerId: "c",
        createdAt: new Date(at),
        cardFingerprint: "A",
        ...overrides,
      }) as Transaction,
  );
  const { customerTimezone, ...card } = paymentProfileOf({
    case: { customerId: "c" },
    invoice: { id: "1" },
    transactions,
  });
  return { card: Object.values(card).filter((value) => value !== undefined), zone: customerTimezone };
}

const SWEDISH = { paymentMethodType: "card", cardBrand: "visa", cardCountry: "SE", cardFunding: "DEBIT" } as const;

test("the card's missing details come from the latest attempt that reports them and was certainly on the same card", () => {
  assert.deepEqual(buildProfile(SWEDISH, {}).card, ["card", "visa", "SE", "DEBIT"]);
  assert.deepEqual(buildProfile(SWEDISH, { cardCountry: "NO" }, {}).card, ["card", "visa", "NO", "DEBIT"]);
  assert.deepEqual(
    buildProfile({ ...SWEDISH, invoiceId: "2" }, {}).card,
    ["card", "visa", "SE", "DEBIT"],
    "another bill",
  );
  assert.deepEqual(buildProfile(SWEDISH, { cardFingerprint: "B" }).card, [], "another card");
  const names = { ...SWEDISH, customerId: undefined };
  assert.deepEqual(buildProfile(names, {}).card, ["card", "visa", "SE", "DEBIT"], "whoever paid this invoice");
  assert.deepEqual(
    buildProfile({ ...names, invoiceId: "2" }, {}).card,
    [],
    "somebody else's bill, as nobody is shown it",
  );
  assert.deepEqual(
    buildProfile(SWEDISH, { cardFingerprint: undefined }).card,
    ["card", "visa", "SE", "DEBIT"],
    "not named",
  );
  const unnamed = { cardFingerprint: undefined };
  assert.deepEqual(buildProfile({ ...SWEDISH, ...unnamed }, unnamed).card, [], "neither named");
  for (const overrides of [{ paymentMethodType: "klarna" }, { cardBrand: "amex" }])
    assert.deepEqual(
      buildProfile(SWEDISH, { ...unnamed, ...overrides }).card,
      Object.values(overrides),
      "surely another one",
    );
});

test("the time zone comes from the latest attempt on the invoice that reports one, else from the customer's, on any card", () => {
  const zone = (customerTimezone: string) => ({ customerTimezone });
  assert.equal(buildProfile(zone("Asia/Tokyo"), { cardFingerprint: "B" }).zone, "Asia/Tokyo");
  assert.equal(buildProfile(zone("Asia/Tokyo"), { invoiceId: "2", ...zone("Asia/Seoul") }).zone, "Asia/Tokyo");
  assert.equal(buildProfile(zone("Asia/Tokyo"), { invoiceId: "2", ...zone("Asia/Seoul") }, {}).zone, "Asia/Tokyo");
  assert.equal(
    buildProfile({ customerId: "d", ...zone("Asia/Tokyo") }, {}).zone,
    "Asia/Tokyo",
    "of whoever paid the invoice",
  );
  assert.equal(buildProfile({ invoiceId: "2", cardFingerprint: "B", ...zone("Asia/Seoul") }, {}).zone, "Asia/Seoul");
  assert.equal(
    buildProfile({ invoiceId: "2", customerId: "d", ...zone("Asia/Seoul") }, {}).zone,
    undefined,
    "of somebody else",
  );
});
