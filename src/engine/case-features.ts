import type { DeclineFeatures } from "./learned/decline-features.ts";
import { featureIndex, type Reason, rowStart, rowsOf, STANDINGS } from "./learned/model-layout.ts";
import { networkKeyOf } from "./rules/card-networks.ts";
import { normalizeMethod } from "./rules/instrument.ts";

/** What is known of a charge and of whom it is for; null is "not known". Who reads this learns what the model looks at. */
export interface CaseTraits {
  /** US dollars, roughly. */
  dollars: number;
  /** Since the subscription began; null for a one-off invoice. */
  tenureDays: number | null;
  billingPeriod: number | null;
  billingPeriodUnit: string | null;
  merchant: string;
  /** ISO 3166 alpha-2 of the card, else the currency. */
  country: string;
  paymentMethodType: string | null;
  network: string | null;
  funding: string | null;
  issuer: string | null;
  /** The codes of the decline that the case began with, as they came. */
  declineCode: string | null;
  adviceCode: string | null;
  past: PaymentRecord;
}

/** What a customer's bills showed so far. */
export interface PaymentRecord {
  /** First charges of bills, and how many of them were declined. A case's own is among them, as its bill was charged before it began. */
  firsts: number;
  declined: number;
  /** Of the declined ones: paid later, and not paid so far. */
  recovered: number;
  unpaid: number;
  /** Why the bill that was recovered last had failed. */
  lastReason: Reason | null;
}

/** Of somebody whose first bill is yet to come. */
export const newPaymentRecord = (): PaymentRecord => ({
  firsts: 0,
  declined: 0,
  recovered: 0,
  unpaid: 0,
  lastReason: null,
});

/** How a customer stands, by the share of first charges that were declined, the case's own among them. One more is taken to have been approved: of a single bill nothing can be said. */
export function standingOf({ firsts, declined }: PaymentRecord): number {
  const share = declined / (firsts + 1);
  return share < 0.3 ? STANDINGS.good : share < 0.6 ? STANDINGS.between : STANDINGS.bad;
}

const PAID_COUNT_EDGES = [1, 2, 4, 8];

/** Names that mean the same wherever they are met, so that a prior may carry what was learned of them. */
export const isPortableFeature = (name: string) => !/^.(merchant|issuer):/.test(name);

const featureValue = (value: string | number | null) =>
  typeof value === "string" ? value.toLowerCase() : (value ?? "?");
const methodFeature = ({ paymentMethodType: type }: Pick<CaseTraits, "paymentMethodType">) =>
  featureValue(type && normalizeMethod(type));
/** Charge cards are issued to the same people as credit cards, and far fewer: the model knows them as those. */
const fundingFeature = ({ funding }: Pick<CaseTraits, "funding">) => {
  const name = featureValue(funding);
  return name === "charge" ? "credit" : name;
};
const networkFeature = ({ network }: Pick<CaseTraits, "network">) => network && networkKeyOf(network);

/** From some 740,000 dollars on all amounts have the same names: how many a try has room for is bounded (`look` in engine/learned/observe.ts). */
const MAX_AMOUNT_BUCKETS = 20;
/** Steps that double. */
const amountBucket = ({ dollars }: Pick<CaseTraits, "dollars">) => Math.round(Math.log2(Math.max(1, dollars)));
const tenureBucket = (days: number) => Math.round(Math.log2(1 + Math.max(0, days) / 20));
const periodOf = ({ billingPeriod, billingPeriodUnit }: Pick<CaseTraits, "billingPeriod" | "billingPeriodUnit">) =>
  `${featureValue(billingPeriod)}${featureValue(billingPeriodUnit)}`;
const USUAL_PERIOD = "1month";
const toLowerCase = (value: string | null) => value?.toLowerCase() ?? null;

/** Whether the names are those of a bill's first charge ("f…") or of a case ("r…"). */
type FeatureStage = "f" | "r";

/** What a customer's bills keep from one to the next. */
type StableTraits = Omit<CaseTraits, "dollars" | "declineCode" | "adviceCode" | "past">;

/**
 * The names of a bill's first charge or of a case: each has a weight of its own. An amount has those of all steps below its own, so that
 * what is learned of one says something of the next: few bills are large, and they are much of the money.
 */
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
  const share = Math.round((4 * (past.declined + 0.3)) / (past.firsts + 2));
  const names = [
    `bills:${share}:${Math.min(4, Math.round(Math.log2(1 + past.firsts)))}`,
    `past:${Math.min(2, past.recovered)}:${Math.min(2, past.unpaid)}`,
  ];
  if (stage === "f") return names;
  const code = featureValue(traits.declineCode);
  const paid = past.firsts - past.declined;
  names.push(
    codeFeature(traits),
    // The same code says something else of somebody who always pays in the end.
    `rate:${share}:${code}`,
    `past:${Math.min(2, past.recovered)}:${Math.min(2, past.unpaid)}:${code}`,
    `last:${featureValue(past.lastReason)}:${code}`,
    `paid:${PAID_COUNT_EDGES.filter((edge) => paid >= edge).length}`,
  );
  return names;
}

/** Where the weights of `caseFeatures` are, for the bills of one customer: of what they keep the names are made once. */
export function createFeatureIndexer(steady: StableTraits): (stage: FeatureStage, traits: CaseTraits) => Int32Array {
  const kept = new Map<string, Int32Array>();
  return (stage, traits) => {
    const key = `${stage}${amountBucket(traits)}`;
    let same = kept.get(key);
    if (!same) {
      same = featureIndices([...amountFeatures(traits), ...stableFeatures(steady)].map((name) => `${stage}${name}`));
      kept.set(key, same);
    }
    const own = invoiceFeatures(stage, traits);
    const weights = new Int32Array(same.length + own.length);
    weights.set(same);
    for (let n = 0; n < own.length; n++) weights[same.length + n] = featureIndex(`${stage}${own[n]}`);
    return weights;
  };
}

const codeFeature = ({ declineCode, adviceCode }: CaseTraits) =>
  `code:${featureValue(declineCode)}:${featureValue(adviceCode)}`;

/** Where the weight of a case's code and advice is. */
export const codeFeatureIndex = (traits: CaseTraits) => featureIndex(`r${codeFeature(traits)}`);

/** What the code of a try's decline is called where the case began with another one; null: it is the same. */
export function codeChangeFeature(first: string | null, code: string | null): string | null {
  return featureValue(first) === featureValue(code) ? null : `rthen:${featureValue(first)}:${featureValue(code)}`;
}

/**
 * What a try's decline says of the next.
 *
 * @param first  the code that the case began with, and `code` the one that came now; null: nobody said one
 */
export function declineFeaturesOf(first: string | null, code: string | null): DeclineFeatures {
  const name = codeChangeFeature(first, code);
  return {
    name: name === null ? null : featureIndex(name),
    row: code === null ? null : rowStart("code", code.toLowerCase()),
  };
}

/** Where the rows of a case are: its weights for certain moments. */
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
    // The usual one has none: what most cases share is learned by the class of their reason, and a row beside it would learn all of it again.
    period: traits.billingPeriodUnit && periodOf(traits) !== USUAL_PERIOD ? periodOf(traits) : null,
  });

/** Where the names' weights are. */
export function featureIndices(names: readonly string[]): Int32Array {
  // Int32Array.from takes almost three times as long, and a year of bills has some two hundred names.
  const weights = new Int32Array(names.length);
  for (let n = 0; n < names.length; n++) weights[n] = featureIndex(names[n]!);
  return weights;
}
