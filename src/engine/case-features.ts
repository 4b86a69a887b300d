import type { CasePosterior } from "./learned/case-posterior.ts";
import { featureIndex, type Reason, rowStart, rowsOf, STANDINGS, withCodeRow } from "./learned/model-layout.ts";
import { networkKeyOf } from "./rules/card-networks.ts";
import { normalizeMethod } from "./rules/instrument.ts";

/** Null: unknown. */
export interface CaseTraits {
  /** Approximate. */
  dollars: number;
  /** Null for a one-off invoice. */
  tenureDays: number | null;
  billingPeriod: number | null;
  billingPeriodUnit: string | null;
  merchant: string;
  /** ISO 3166 alpha-2 of the card, else of the currency. */
  country: string;
  paymentMethodType: string | null;
  network: string | null;
  funding: string | null;
  issuer: string | null;
  /** Unchanged. */
  declineCode: string | null;
  adviceCode: string | null;
  past: PaymentRecord;
}

export interface PaymentRecord {
  /** Includes this case's. */
  firstCharges: number;
  declined: number;
  /** `recovered`: declined and paid later. */
  recovered: number;
  unpaid: number;
  /** Decline reason of the last recovered invoice. */
  lastReason: Reason | null;
}

export const newPaymentRecord = (): PaymentRecord => ({
  firstCharges: 0,
  declined: 0,
  recovered: 0,
  unpaid: 0,
  lastReason: null,
});

/** One approved charge is added, because a single invoice says nothing. */
export function standingOf({ firstCharges, declined }: PaymentRecord): number {
  const share = declined / (firstCharges + 1);
  return share < 0.3 ? STANDINGS.good : share < 0.6 ? STANDINGS.between : STANDINGS.bad;
}

const PAID_COUNT_EDGES = [1, 2, 4, 8];

const featureValue = (value: string | number | null) =>
  typeof value === "string" ? value.toLowerCase() : (value ?? "?");
const methodFeature = ({ paymentMethodType: type }: Pick<CaseTraits, "paymentMethodType">) =>
  featureValue(type && normalizeMethod(type));
/** Charge card holders resemble credit card holders, and are much rarer. */
const fundingFeature = ({ funding }: Pick<CaseTraits, "funding">) => {
  const name = featureValue(funding);
  return name === "charge" ? "credit" : name;
};
const networkFeature = ({ network }: Pick<CaseTraits, "network">) => network && networkKeyOf(network);

/**
 * Larger amounts (from about USD 740,000) share features, because a retry's feature count is bounded
 * (`engine/learned/observe.ts`).
 */
const MAX_AMOUNT_BUCKETS = 20;
const amountBucket = ({ dollars }: Pick<CaseTraits, "dollars">) => Math.round(Math.log2(Math.max(1, dollars)));
const tenureBucket = (days: number) => Math.round(Math.log2(1 + Math.max(0, days) / 20));
const periodOf = ({ billingPeriod, billingPeriodUnit }: Pick<CaseTraits, "billingPeriod" | "billingPeriodUnit">) =>
  `${featureValue(billingPeriod)}${featureValue(billingPeriodUnit)}`;
const USUAL_PERIOD = "1month";
const toLowerCase = (value: string | null) => value?.toLowerCase() ?? null;

/** An invoice's first charge, or a case. */
type FeatureStage = "f" | "r";

type StableTraits = Omit<CaseTraits, "dollars" | "declineCode" | "adviceCode" | "past">;

/** An amount has all smaller buckets' features too, so the model learns about rare, large amounts from smaller ones. */
export const caseFeatures = (stage: FeatureStage, traits: CaseTraits): string[] =>
  [...amountFeatures(traits), ...stableFeatures(traits), ...invoiceFeatures(stage, traits)].map(
    (name) => `${stage}${name}`,
  );

const amountFeatures = (traits: Pick<CaseTraits, "dollars">) =>
  Array.from({ length: Math.min(MAX_AMOUNT_BUCKETS, amountBucket(traits)) }, (_, step) => `dollar:${step}`);

const stableFeatures = (traits: StableTraits): string[] => [
  `tenure:${traits.tenureDays === null ? "?" : tenureBucket(traits.tenureDays)}`,
  `period:${periodOf(traits)}`,
  `merchant:${traits.merchant}`,
  `country:${traits.country}`,
  `funding:${fundingFeature(traits)}`,
  `brand:${featureValue(networkFeature(traits))}`,
  `method:${methodFeature(traits)}`,
  `issuer:${featureValue(traits.issuer)}`,
];

function invoiceFeatures(stage: FeatureStage, traits: CaseTraits): string[] {
  const { past } = traits;
  const share = Math.round((4 * (past.declined + 0.3)) / (past.firstCharges + 2));
  const names = [
    `bills:${share}:${Math.min(4, Math.round(Math.log2(1 + past.firstCharges)))}`,
    `past:${Math.min(2, past.recovered)}:${Math.min(2, past.unpaid)}`,
  ];
  if (stage === "f") return names;
  const code = featureValue(traits.declineCode);
  const paid = past.firstCharges - past.declined;
  names.push(
    codeFeature(traits),
    // A code means something else for a customer who always pays in the end.
    `rate:${share}:${code}`,
    `past:${Math.min(2, past.recovered)}:${Math.min(2, past.unpaid)}:${code}`,
    `last:${featureValue(past.lastReason)}:${code}`,
    `paid:${PAID_COUNT_EDGES.filter((edge) => paid >= edge).length}`,
  );
  return names;
}

/** Computes a customer's shared features once. */
export function createFeatureIndexer(steady: StableTraits): (stage: FeatureStage, traits: CaseTraits) => Int32Array {
  const weightsByStage = new Map<string, Int32Array>();
  return (stage, traits) => {
    const key = `${stage}${amountBucket(traits)}`;
    let sharedWeights = weightsByStage.get(key);
    if (!sharedWeights) {
      sharedWeights = featureIndices(
        [...amountFeatures(traits), ...stableFeatures(steady)].map((name) => `${stage}${name}`),
      );
      weightsByStage.set(key, sharedWeights);
    }
    const invoiceWeights = invoiceFeatures(stage, traits);
    const weights = new Int32Array(sharedWeights.length + invoiceWeights.length);
    weights.set(sharedWeights);
    for (let index = 0; index < invoiceWeights.length; index++)
      weights[sharedWeights.length + index] = featureIndex(`${stage}${invoiceWeights[index]}`);
    return weights;
  };
}

const codeFeature = ({ declineCode, adviceCode }: CaseTraits) =>
  `code:${featureValue(declineCode)}:${featureValue(adviceCode)}`;

export const codeFeatureIndex = (traits: CaseTraits) => featureIndex(`r${codeFeature(traits)}`);

/** Null if the code is the case's first one. */
export function codeChangeFeature(first: string | null, code: string | null): string | null {
  return featureValue(first) === featureValue(code) ? null : `rthen:${featureValue(first)}:${featureValue(code)}`;
}

/**
 * Updates the posterior by the code of a retry's decline: one reason may have several codes, each with its own best wait.
 *
 * @param first  the case's first code; null: not reported
 */
export function applyDecline(posterior: CasePosterior, first: string | null, code: string | null) {
  const name = codeChangeFeature(first, code);
  posterior.laterCodeFeature = name === null ? null : featureIndex(name);
  if (code !== null) posterior.rows = withCodeRow(posterior.rows, rowStart("code", code.toLowerCase()));
}

export const caseRows = (traits: Omit<CaseTraits, "merchant" | "past">): Int32Array =>
  rowsOf({
    country: traits.country,
    code: toLowerCase(traits.declineCode),
    advice: toLowerCase(traits.adviceCode),
    pay: traits.paymentMethodType && `${fundingFeature(traits)}:${methodFeature(traits)}`,
    network: networkFeature(traits),
    amount: amountBucket(traits),
    tenure: traits.tenureDays === null ? null : tenureBucket(traits.tenureDays),
    issuer: toLowerCase(traits.issuer),
    // Decline reasons cover the usual period.
    period: traits.billingPeriodUnit && periodOf(traits) !== USUAL_PERIOD ? periodOf(traits) : null,
  });

export function featureIndices(names: readonly string[]): Int32Array {
  // Faster than Int32Array.from.
  const weights = new Int32Array(names.length);
  for (let index = 0; index < names.length; index++) weights[index] = featureIndex(names[index]!);
  return weights;
}
