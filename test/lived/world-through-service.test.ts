import assert from "node:assert/strict";
import { test } from "node:test";
import type { Charge } from "../../lab/worlds/world.ts";
import { isFinalDecline } from "./world-through-service.ts";

test("a merchant that considers only one invoice refuses to retry a blocked card, but not a card that banks may renew", () => {
  const said = (networkDeclineCode: string, over: Partial<Charge> = {}) =>
    isFinalDecline({ at: new Date(0), approved: false, paymentMethodType: "card", networkDeclineCode, ...over });
  const mastercard = { cardBrand: "mastercard" };
  assert.deepEqual([said("41"), said("R0"), said("14", mastercard)], [true, true, true]);
  assert.deepEqual([said("51"), said("91"), said("54")], [false, false, false]);
  assert.equal(said("14", { ...mastercard, networkAdviceCode: "01" }), false, "there is newer data");
  const debit = { paymentMethodType: "sepa_debit" };
  assert.deepEqual([said("AC04", debit), said("AM04", debit)], [true, false]);
});
