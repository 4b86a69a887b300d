import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type CaseTraits,
  caseFeatures,
  caseRows,
  createFeatureIndexer,
  featureIndices,
  newPaymentRecord,
} from "./case-features.ts";
import { buildPosterior, DAY, START } from "./choose-retry.fixture.ts";
import type { CasePosterior } from "./learned/case-posterior.ts";
import { newCustomerPosterior } from "./learned/case-posterior.ts";
import { newLearnedModel } from "./learned/learned-model.ts";
import { ROWS_BY_KIND } from "./learned/model-layout.ts";
import { chanceOf } from "./learned/observe.ts";
import { learnRetry } from "./learned/train.ts";
import { findBrand } from "./rules/card-networks.ts";

const traits: CaseTraits = {
  dollars: 20,
  tenureDays: null,
  billingPeriod: null,
  billingPeriodUnit: null,
  merchant: "m",
  country: "EUR",
  paymentMethodType: null,
  network: null,
  funding: null,
  issuer: null,
  declineCode: null,
  adviceCode: null,
  past: newPaymentRecord(),
};

test("features contain the reported values, and a question mark for missing ones", () => {
  const names = caseFeatures("r", traits);
  assert.ok(names.includes("rtenure:?") && names.includes("rcode:?:?") && names.includes("rissuer:?"));
  assert.ok(names.every((name) => !/null|undefined|NaN/.test(name)));
  assert.equal(new Set(featureIndices(names)).size, names.length);
  assert.ok(!caseFeatures("f", traits).some((name) => name.startsWith("fcode")));
});

test("the feature indexer of a customer gives the same features as each invoice alone", () => {
  const steady = { ...traits, tenureDays: 90, billingPeriod: 1, billingPeriodUnit: "YEAR", network: "visa" };
  const namesOfBill = createFeatureIndexer(steady);
  for (const stage of ["f", "r", "f"] as const)
    for (const dollars of [20, 3000, 20])
      for (const declineCode of [null, "51"]) {
        const past = { ...newPaymentRecord(), firsts: dollars % 7, declined: 2, unpaid: 1 };
        const bill = { ...steady, dollars, declineCode, past };
        assert.deepEqual(namesOfBill(stage, bill), featureIndices(caseFeatures(stage, bill)));
      }
});

test("each attribute of a case has a feature and a row, except the merchant and the payment history, which have no row", () => {
  const known: CaseTraits = { ...traits, billingPeriod: 1, billingPeriodUnit: "YEAR", tenureDays: 40 };
  const others: Partial<CaseTraits> = {
    dollars: 900,
    tenureDays: 900,
    billingPeriod: 2,
    billingPeriodUnit: "WEEK",
    country: "SE",
    paymentMethodType: "sepa_debit",
    network: "visa",
    funding: "debit",
    issuer: "a bank",
    declineCode: "51",
    adviceCode: "24",
  };
  const named = (of: Partial<CaseTraits>) => caseFeatures("r", { ...known, ...of });
  const rows = (of: Partial<CaseTraits>) => caseRows({ ...known, paymentMethodType: "card", ...of });
  for (const [trait, value] of Object.entries(others)) {
    assert.notDeepEqual(named({ [trait]: value }), named({}), trait);
    assert.notDeepEqual(rows({ [trait]: value }), rows({}), trait);
  }
  const before = { ...newPaymentRecord(), firsts: 4, declined: 2, unpaid: 2 };
  for (const own of [{ merchant: "another" }, { past: before }]) assert.notDeepEqual(named(own), named({}));
});

test("a debit is one payment method, whatever its gateway calls it", () => {
  const of = (paymentMethodType: string) => ({ ...traits, paymentMethodType });
  assert.deepEqual(caseFeatures("r", of("us_bank_account")), caseFeatures("r", of("ach_debit")));
  assert.deepEqual(caseRows(of("sepadirectdebit")), caseRows(of("sepa_debit")));
  assert.notDeepEqual(caseFeatures("r", of("ach_debit")), caseFeatures("r", of("sepa_debit")));
});

test("a card is one payment method, whatever its gateway calls it, with the brand in that name", () => {
  const of = (paymentMethodType: string, cardBrand: string | null = null) => ({
    ...traits,
    paymentMethodType,
    network: findBrand(cardBrand, paymentMethodType),
  });
  for (const [brand, ...others] of [
    ["visa", of("visa"), of("visa_applepay"), of("visasuperpremiumdebit"), of("credit_card", "VISA")],
    ["mastercard", of("mc"), of("mc_googlepay"), of("card", "MC"), of("debit_card", "MasterCard")],
    ["amex", of("amex"), of("amex_applepay"), of("card", "American Express")],
  ] as const) {
    const card = of("card", brand);
    for (const other of others) {
      assert.deepEqual(caseFeatures("r", other), caseFeatures("r", card), JSON.stringify(other));
      assert.deepEqual(caseRows(other), caseRows(card), JSON.stringify(other));
    }
  }
  assert.notDeepEqual(caseFeatures("r", of("visa")), caseFeatures("r", of("mc")));
  assert.notDeepEqual(caseFeatures("r", of("paypal")), caseFeatures("r", of("card")));
  assert.ok(caseFeatures("r", of("card", "Мир")).includes("rbrand:мир"), "a brand without rules has its own name");
});

test("the steps of an amount and the merchant-specific features share no weight with a common feature", () => {
  const steps = (stage: "f" | "r") =>
    caseFeatures(stage, { ...traits, dollars: 20_000 }).filter((name) => /^.dollar:/.test(name));
  const alone = [...steps("f"), ...steps("r"), "fmerchant:own", "rmerchant:own"];
  const codes = [
    "51",
    "05",
    "54",
    "14",
    "41",
    "43",
    "61",
    "65",
    "91",
    "96",
    "AM04",
    "R01",
    "generic_decline",
    "insufficient_funds",
  ];
  const others = new Set<string>();
  for (const declineCode of [null, ...codes])
    for (const adviceCode of [null, "01", "02", "03", "21", "24"])
      for (const lastReason of [null, "FUNDS", "GENERIC", "UNKNOWN", "LIMIT", "EXPIRED"] as const)
        for (const recovered of [0, 1, 2])
          for (const unpaid of [0, 1, 2]) {
            const past = {
              ...newPaymentRecord(),
              firsts: 6,
              declined: recovered + unpaid,
              recovered,
              unpaid,
              lastReason,
            };
            for (const stage of ["f", "r"] as const)
              for (const name of caseFeatures(stage, { ...traits, declineCode, adviceCode, past }))
                if (!name.startsWith(`${stage}dollar:`)) others.add(name);
          }
  const taken = new Set(featureIndices([...others]));
  const places = featureIndices(alone);
  assert.equal(new Set(places).size, alone.length);
  assert.deepEqual(
    alone.filter((_, n) => taken.has(places[n]!)),
    [],
  );
});

test("an amount's outcomes affect the next amount, and much smaller ones only little", () => {
  const learned = newLearnedModel();
  const of = (dollars: number): CasePosterior => ({
    ...buildPosterior("FUNDS"),
    names: featureIndices(caseFeatures("r", { ...traits, dollars })),
  });
  const chances = () => [4, 30, 400].map((dollars) => chanceOf(learned, of(dollars), START + 3 * DAY));
  // Half of the small invoices are paid, larger ones never; the largest amount was never seen.
  for (let n = 0; n < 60; n++)
    for (const [dollars, reason] of [
      [4, n % 2 === 0 ? "FUNDS" : null],
      [130, "FUNDS"],
    ] as const)
      learnRetry(learned, newCustomerPosterior(learned, "DE"), of(dollars), START + 3 * DAY, reason);
  const [small, middle, large] = chances();
  assert.ok(large! < middle! && middle! < small! - 0.05, `${small}, ${middle}, ${large}`);
});

test("an invoice of any size trains the model without invalid numbers, even with every attribute reported", () => {
  const learned = newLearnedModel();
  const known = { paymentMethodType: "card", network: "visa", funding: "credit", issuer: "Chase", tenureDays: 400 };
  const codes = { declineCode: "51", adviceCode: "02", billingPeriod: 1, billingPeriodUnit: "YEAR" };
  for (const dollars of [0, 0.01, 1e6, Number.MAX_SAFE_INTEGER]) {
    const all = { ...traits, ...known, ...codes, dollars };
    const of = { ...buildPosterior("FUNDS"), names: featureIndices(caseFeatures("r", all)), rows: caseRows(all) };
    assert.equal(of.rows.length, Object.keys(ROWS_BY_KIND).length);
    learnRetry(learned, newCustomerPosterior(learned, "DE"), of, START + 3 * DAY, "FUNDS");
  }
  assert.ok(learned.mean.every(Number.isFinite) && learned.variance.every(Number.isFinite));
});

test("the model treats a charge card as a credit card", () => {
  const of = (funding: string) => {
    const all = { ...traits, funding, network: "amex", paymentMethodType: "card" };
    return [caseFeatures("r", all), caseRows(all)];
  };
  assert.deepEqual(of("charge"), of("credit"));
  assert.notDeepEqual(of("charge"), of("debit"));
});

test("an outcome with more weights than supported is refused, and nothing is learned", () => {
  const learned = newLearnedModel();
  const rows = caseRows({ ...traits, network: "visa", funding: "credit", paymentMethodType: "card" });
  const of = {
    ...buildPosterior("FUNDS"),
    names: featureIndices(Array.from({ length: 100 }, (_, n) => `r${n}`)),
    rows,
  };
  assert.throws(
    () => learnRetry(learned, newCustomerPosterior(learned, "DE"), of, START + DAY, "FUNDS"),
    /at most 112/,
  );
  assert.deepEqual(learned.mean, newLearnedModel().mean);
});
