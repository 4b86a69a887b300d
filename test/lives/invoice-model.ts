// The amount owed on an invoice, implemented a second time without the service's code, so that the model is independent.

export interface InvoiceVersion {
  kind: "invoice";
  state: "DRAFT" | "UNPAID" | "PARTIALLY_PAID" | "PAID" | "UNCOLLECTIBLE" | "VOIDED" | "REFUNDED";
  amount: number;
  amountDue: number | null;
  /** Milliseconds of service time; null: the sender does not date it. */
  at: number | null;
}

export interface AttemptVersion {
  kind: "attempt";
  id: string;
  state: "PENDING" | "FAILED" | "PAID" | "VOIDED" | "REFUNDED" | "DISPUTED";
  amount: number;
  currency: string;
  createdAt: number;
  at: number | null;
}

export interface SubscriptionVersion {
  kind: "subscription";
  state: "ACTIVE" | "CANCELED";
  at: number | null;
}

export type Version = InvoiceVersion | AttemptVersion | SubscriptionVersion;

const STATE_RANKS: Record<Version["kind"], readonly string[]> = {
  invoice: ["DRAFT", "UNPAID", "PARTIALLY_PAID", "PAID", "UNCOLLECTIBLE", "VOIDED", "REFUNDED"],
  attempt: ["PENDING", "FAILED", "PAID", "VOIDED", "REFUNDED", "DISPUTED"],
  subscription: ["ACTIVE", "CANCELED"],
};

/** A record as its versions leave it. */
interface LatestRecord<V extends Version> {
  version: V;
  /** The date of this version, or of its arrival. */
  date: number;
  /** The newest date that the sender gave. */
  newest: number | null;
}

/** The facts about one invoice. */
export interface InvoiceFacts {
  createdAt: number;
  invoice: (LatestRecord<InvoiceVersion> & { total: number; due: number | null }) | null;
  attempts: Map<string, LatestRecord<AttemptVersion>>;
  subscription: LatestRecord<SubscriptionVersion> | null;
}

export const emptyFacts = (createdAt: number): InvoiceFacts => ({
  createdAt,
  invoice: null,
  attempts: new Map(),
  subscription: null,
});

/** Returns the record after one more version; the same object if the older version wins. */
function mergeVersion<V extends Version>(
  old: LatestRecord<V> | null,
  version: V,
  now: number,
  firstDate: number,
): LatestRecord<V> | null {
  if (!old) return { version, date: version.at ?? firstDate, newest: version.at };
  if (version.at === null) return { version, date: Math.max(now, old.date), newest: old.newest };
  if (old.newest !== null) {
    if (version.at < old.newest) return null;
    const rank = (each: V) => STATE_RANKS[version.kind].indexOf(each.state);
    if (version.at === old.newest && rank(version) < rank(old.version)) return null;
  }
  return { version, date: version.at, newest: version.at };
}

const isSameVersion = (one: Version, other: Version) =>
  JSON.stringify({ ...one, at: 0 }) === JSON.stringify({ ...other, at: 0 });

/** Applies one version that arrives at this time. */
export function applyVersion(known: InvoiceFacts, version: Version, now: number) {
  if (version.kind === "subscription") {
    const next = mergeVersion(known.subscription, version, now, known.createdAt);
    if (next) known.subscription = next;
    return;
  }
  if (version.kind === "attempt") {
    const old = known.attempts.get(version.id) ?? null;
    if (old && version.at === null && isSameVersion(old.version, version)) return;
    const next = mergeVersion(old, version, now, version.createdAt);
    if (next) known.attempts.set(version.id, next);
    return;
  }
  const old = known.invoice;
  if (old && version.at === null && isSameVersion(old.version, version)) return;
  const next = mergeVersion(old, version, now, known.createdAt);
  if (!next) {
    // A version that loses can still provide the total.
    const isPart = old?.version.state === "PARTIALLY_PAID" && old.due === null;
    const isTotal = version.state === "UNPAID" && version.amountDue === null;
    if (old && isPart && isTotal && version.amount > old.total)
      known.invoice = { ...old, total: version.amount, due: old.total };
    return;
  }
  const saysRest =
    old !== null && version.state === "PARTIALLY_PAID" && version.amountDue === null && version.amount < old.total;
  known.invoice = {
    ...next,
    total: saysRest ? old.total : version.amount,
    due: saysRest ? version.amount : version.amountDue,
  };
}

/**
 * Whether the facts show beyond doubt that nothing is owed: by the invoice's state, by a version without an unpaid amount, or by
 * payments that cover everything, unless a later version reports an unpaid amount.
 */
export function isSettled({ createdAt, invoice, attempts, subscription }: InvoiceFacts): boolean {
  if (!invoice) return true;
  const { state } = invoice.version;
  if (state !== "UNPAID" && state !== "PARTIALLY_PAID") return true;
  if (subscription?.version.state === "CANCELED") return true;
  if (invoice.total === 0 || invoice.due === 0) return true;
  const standing = [...attempts.values()].filter(
    ({ version, date }) => version.state === "PAID" && version.currency === "EUR" && date >= createdAt,
  );
  const sum = (payments: typeof standing) => payments.reduce((total, { version }) => total + version.amount, 0);
  // A partly paid version later than all payments reports the amount left after them.
  if (state === "PARTIALLY_PAID" && standing.every(({ date }) => date < invoice.date)) return false;
  if (state === "PARTIALLY_PAID" && invoice.due !== null)
    return sum(standing.filter(({ date }) => date > invoice.date)) >= invoice.due;
  // The amount of a partly paid version can be the rest. Then payments before it are not part of it, and neither is a larger
  // payment in its second.
  const isRest =
    state === "PARTIALLY_PAID" && sum(standing.filter(({ date }) => date <= invoice.date)) >= invoice.total;
  const isSince = ({ date, version }: LatestRecord<AttemptVersion>) =>
    date > invoice.date || (date === invoice.date && version.amount <= invoice.total);
  return sum(isRest ? standing.filter(isSince) : standing) >= invoice.total;
}
