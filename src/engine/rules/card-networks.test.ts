import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../domain/durations.ts";
import { findBrand, findCardNetwork } from "./card-networks.ts";

/** Returns a network's limits as [attempts, days], whether Visa's category 1 blocks a card, and whether all advice is read. */
function networkRulesOf(brand: string | null) {
  const { name, limits, barsCategory1, readsAdvice } = findCardNetwork(brand);
  return [name, limits.map((each) => `${each.attemptsMax} in ${each.windowMs / DAY_MS}`), barsCategory1, readsAdvice];
}

test("a brand has the rules of the network that clears it, in any gateway's spelling", () => {
  for (const [name, ...brands] of [
    ["Visa", "visa", "VISA"],
    ["American Express", "amex", "American Express", "american_express"],
    ["Discover", "discover", "Diners", "diners_club", "Diners Club"],
  ])
    for (const brand of brands) assert.deepEqual(networkRulesOf(brand), [name, ["20 in 30"], true, false], brand);
  for (const brand of ["mastercard", "MasterCard", "mc", "Maestro"])
    assert.deepEqual(networkRulesOf(brand), ["Mastercard", ["10 in 1", "35 in 30"], false, true], brand);
});

test("a network whose own rules were not available has the strictest rule of each kind, under its own name", () => {
  for (const [brand, name] of [
    ["elo", "Elo"],
    ["cup", "UnionPay"],
    ["JCB", "JCB"],
    ["unionpay", "UnionPay"],
    ["cartes_bancaires", "Cartes Bancaires"],
    ["a stranger", "the card network"],
    [null, "the card network"],
  ] as const)
    assert.deepEqual(networkRulesOf(brand), [name, ["10 in 1", "20 in 30"], true, true]);
});

test("the payment type gives the card's brand when none is reported, as with Adyen", () => {
  for (const [type, brand] of [
    ["mc", "mastercard"],
    ["visa", "visa"],
    ["visa_applepay", "visa"],
    ["mc_googlepay", "mastercard"],
    ["amexcorporate", "amex"],
    ["visasuperpremiumcredit", "visa"],
    ["mcprepaidanonymous", "mastercard"],
    ["maestro_usa", "maestro"],
    ["cup", "unionpay"],
    ["cartebancaire", "cartesbancaires"],
    ["american_express", "amex"],
    ["debit", null],
    ["sepadirectdebit", null],
    ["card", null],
    ["sepa_debit", null],
    ["paypal", null],
    [null, null],
  ] as const)
    assert.equal(findBrand(null, type), brand, String(type));
  assert.equal(findBrand(" ", "mc"), "mastercard");
  assert.equal(findBrand("visa", "mc"), "visa");
});
