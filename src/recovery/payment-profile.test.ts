import assert from "node:assert/strict";
import { test } from "node:test";
import type { Transaction } from "../domain/transaction.ts";
import { paymentProfileOf } from "./payment-profile.ts";

/** The payer of invoice 1, by attempts of customer c, each given by what differs from one on invoice 1 by card A. */
function buildProfile(...attempts: Partial<Transaction>[]) {
  const transactions = attempts.map(
    (over, at) =>
      ({
        id: String(at),
        invoiceId: "1",
        customerId: "c",
        createdAt: new Date(at),
        cardFingerprint: "A",
        ...over,
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

test("what the latest attempt leaves out of the card is that of the latest one that tells and surely was on it", () => {
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
  for (const over of [{ paymentMethodType: "klarna" }, { cardBrand: "amex" }])
    assert.deepEqual(buildProfile(SWEDISH, { ...unnamed, ...over }).card, Object.values(over), "surely another one");
});

test("the customer's time zone is told by the latest attempt on the invoice that tells, else by the customer's, on whichever card", () => {
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
