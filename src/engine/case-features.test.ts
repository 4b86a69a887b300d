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
        const past = { ...newPaymentRecord(), firstCharges: dollars % 7, declined: 2, unpaid: 1 };
        const otherTraits = { ...steady, dollars, declineCode, past };
        assert.deepEqual(namesOfBill(stage, otherTraits), featureIndices(caseFeatures(stage, otherTraits)));
      }
});

test("each attribute of a case has a feature and a row, except the merchant and the payment history, which have no row", () => {
  const knownTraits: CaseTraits = { ...traits, billingPeriod: 1, billingPeriodUnit: "YEAR", tenureDays: 40 };
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
  const named = (overrides: Partial<CaseTraits>) => caseFeatures("r", { ...knownTraits, ...overrides });
  const rows = (overrides: Partial<CaseTraits>) =>
    caseRows({ ...knownTraits, paymentMethodType: "card", ...overrides });
  for (const [trait, value] of Object.entries(others)) {
    assert.notDeepEqual(named({ [trait]: value }), named({}), trait);
    assert.notDeepEqual(rows({ [trait]: value }), rows({}), trait);
  }
  const before = { ...newPaymentRecord(), firstCharges: 4, declined: 2, unpaid: 2 };
  for (const own of [{ merchant: "another" }, { past: before }]) assert.notDeepEqual(named(own), named({}));
});

test("a debit is one payment method, whatever its gateway calls it", () => {
  const traitsOf = (paymentMethodType: string) => ({ ...traits, paymentMethodType });
  assert.deepEqual(caseFeatures("r", traitsOf("us_bank_account")), caseFeatures("r", traitsOf("ach_debit")));
  assert.deepEqual(caseRows(traitsOf("sepadirectdebit")), caseRows(traitsOf("sepa_debit")));
  assert.notDeepEqual(caseFeatures("r", traitsOf("ach_debit")), caseFeatures("r", traitsOf("sepa_debit")));
});

test("a card is one payment method, whatever its gateway calls it, with the brand in that name", () => {
  const traitsOf = (paymentMethodType: string, cardBrand: string | null = null) => ({
    ...traits,
    paymentMethodType,
    network: findBrand(cardBrand, paymentMethodType),
  });
  for (const [brand, ...others] of [
    [
      "visa",
      traitsOf("visa"),
      traitsOf("visa_applepay"),
      traitsOf("visasuperpremiumdebit"),
      traitsOf("credit_card", "VISA"),
    ],
    [
      "mastercard",
      traitsOf("mc"),
      traitsOf("mc_googlepay"),
      traitsOf("card", "MC"),
      traitsOf("debit_card", "MasterCard"),
    ],
    ["amex", traitsOf("amex"), traitsOf("amex_applepay"), traitsOf("card", "American Express")],
  ] as const) {
    const card = traitsOf("card", brand);
    for (const other of others) {
      assert.deepEqual(caseFeatures("r", other), caseFeatures("r", card), JSON.stringify(other));
      assert.deepEqual(caseRows(other), caseRows(card), JSON.stringify(other));
    }
  }
  assert.notDeepEqual(caseFeatures("r", traitsOf("visa")), caseFeatures("r", traitsOf("mc")));
  assert.notDeepEqual(caseFeatures("r", traitsOf("paypal")), caseFeatures("r", traitsOf("card")));
  assert.ok(
    caseFeatures("r", traitsOf("card", "Мир")).includes("rbrand:мир"),
    "a brand without rules has its own name",
  );
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
              firstCharges: 6,
              declined: recovered + unpaid,
              recovered,
              unpaid,
              lastReason,
            };
            for (const stage of ["f", "r"] as const)
              for (const name of caseFeatures(stage, { ...traits, declineCode, adviceCode, past }))
                if (!name.startsWith(`${stage}dollar:`)) others.add(name);
          }
  const takenIndices = new Set(featureIndices([...others]));
  const places = featureIndices(alone);
  assert.equal(new Set(places).size, alone.length);
  assert.deepEqual(
    alone.filter((_, n) => takenIndices.has(places[n]!)),
    [],
  );
});

test("an amount's outcomes affect the next amount, and much smaller ones only little", () => {
  const model = newLearnedModel();
  const posteriorOf = (dollars: number): CasePosterior => ({
    ...buildPosterior("FUNDS"),
    features: featureIndices(caseFeatures("r", { ...traits, dollars })),
  });
  const chances = () => [4, 30, 400].map((dollars) => chanceOf(model, posteriorOf(dollars), START + 3 * DAY));
  // Half of the small invoices are paid, larger ones never; the largest amount was never seen.
  for (let n = 0; n < 60; n++)
    for (const [dollars, reason] of [
      [4, n % 2 === 0 ? "FUNDS" : null],
      [130, "FUNDS"],
    ] as const)
      learnRetry(model, newCustomerPosterior(model, "DE"), posteriorOf(dollars), START + 3 * DAY, reason);
  const [small, middle, large] = chances();
  assert.ok(large! < middle! && middle! < small! - 0.05, `${small}, ${middle}, ${large}`);
});

test("an invoice of any size trains the model without invalid numbers, even with every attribute reported", () => {
  const model = newLearnedModel();
  const knownTraits = {
    paymentMethodType: "card",
    network: "visa",
    funding: "credit",
    issuer: "Chase",
    tenureDays: 400,
  };
  const codes = { declineCode: "51", adviceCode: "02", billingPeriod: 1, billingPeriodUnit: "YEAR" };
  for (const dollars of [0, 0.01, 1e6, Number.MAX_SAFE_INTEGER]) {
    const all = { ...traits, ...knownTraits, ...codes, dollars };
    const posterior = {
      ...buildPosterior("FUNDS"),
      features: featureIndices(caseFeatures("r", all)),
      rows: caseRows(all),
    };
    assert.equal(posterior.rows.length, Object.keys(ROWS_BY_KIND).length);
    learnRetry(model, newCustomerPosterior(model, "DE"), posterior, START + 3 * DAY, "FUNDS");
  }
  assert.ok(model.mean.every(Number.isFinite) && model.variance.every(Number.isFinite));
});

test("the model treats a charge card as a credit card", () => {
  const posteriorOf = (funding: string) => {
    const all = { ...traits, funding, network: "amex", paymentMethodType: "card" };
    return [caseFeatures("r", all), caseRows(all)];
  };
  assert.deepEqual(posteriorOf("charge"), posteriorOf("credit"));
  assert.notDeepEqual(posteriorOf("charge"), posteriorOf("debit"));
});

test("an outcome with more weights than supported is refused, and nothing is learned", () => {
  const model = newLearnedModel();
  const rows = caseRows({ ...traits, network: "visa", funding: "credit", paymentMethodType: "card" });
  const posterior = {
    ...buildPosterior("FUNDS"),
    features: featureIndices(Array.from({ length: 100 }, (_, n) => `r${n}`)),
    rows,
  };
  assert.throws(
    () => learnRetry(model, newCustomerPosterior(model, "DE"), posterior, START + DAY, "FUNDS"),
    /at most 112/,
  );
  assert.deepEqual(model.mean, newLearnedModel().mean);
});
