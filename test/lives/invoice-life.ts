import type { AttemptVersion, InvoiceVersion, Version } from "./invoice-model.ts";

/** Creates a seeded random generator: mulberry32. */
export function createDice(seed: number) {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number) => Math.floor(random() * n);
  return {
    random,
    below,
    pick: <T>(values: readonly T[]): T => values[below(values.length)]!,
    chance: (p: number) => random() < p,
  };
}

export type Dice = ReturnType<typeof createDice>;

const AMOUNT = 4900;
const HOUR = 3_600_000;

/** The versions that a merchant's systems send of one invoice, in order of events. Dates can tie, be missing, or be wrong. */
export interface InvoiceLife {
  /** Batches in the order in which they are pushed. Those of one wave are pushed concurrently. */
  waves: Version[][][];
}

/**
 * Creates a random life from `start` on: failures, partial payments, credits, late returns, disputes, cancellations. Some of its
 * versions come late, twice, or tied.
 */
export function createInvoiceLife({ below, pick, chance }: Dice, start: number): InvoiceLife {
  // Some senders date everything, some nothing. Clocks count whole seconds, or run minutes ahead.
  const dates = chance(0.7);
  const tick = pick([1000, 1000, 1, 60_000]);
  const ahead = pick([0, 0, 0, 200_000]);
  let now = start;
  const stamp = () => {
    if (chance(0.6)) now += below(3) * tick + (chance(0.1) ? below(40) * HOUR : 0);
    return dates ? Math.floor((now + ahead) / tick) * tick : null;
  };
  const versions: Version[] = [];
  const invoice = (state: InvoiceVersion["state"], amount = AMOUNT, amountDue: number | null = null) =>
    versions.push({ kind: "invoice", state, amount, amountDue, at: stamp() });
  let attempts = 0;
  const attempt = (state: AttemptVersion["state"], amount: number, old?: AttemptVersion, currency = "EUR") => {
    const at = stamp();
    const version: AttemptVersion = {
      kind: "attempt",
      id: old?.id ?? `a${++attempts}`,
      state,
      amount,
      currency: old?.currency ?? currency,
      createdAt: old?.createdAt ?? at ?? now,
      at,
    };
    versions.push(version);
    return version;
  };
  invoice("UNPAID");
  let left = AMOUNT;
  for (let turn = 0; turn < 1 + below(5); turn++) {
    const happens = pick(["fail", "part", "part", "pay", "pay", "credit", "touch", "state", "cancel", "back"] as const);
    if (happens === "fail") attempt("FAILED", left);
    else if (happens === "part") {
      const amount = 1 + below(left);
      left -= amount;
      attempt("PAID", amount);
      if (chance(0.5) && left > 0)
        chance(0.5) ? invoice("PARTIALLY_PAID", left) : invoice("PARTIALLY_PAID", AMOUNT, left);
    } else if (happens === "pay") {
      const paid = attempt(chance(0.2) ? "PENDING" : "PAID", left, undefined, chance(0.05) ? "USD" : "EUR");
      if (paid.state === "PENDING") attempt("PAID", left, paid);
      if (chance(0.7)) invoice("PAID");
      if (chance(0.2)) attempt(pick(["FAILED", "REFUNDED", "DISPUTED", "VOIDED"]), left, paid);
      else if (chance(0.3)) invoice("UNPAID");
      left = AMOUNT;
    } else if (happens === "credit")
      chance(0.5) ? invoice("UNPAID", 0) : invoice("UNPAID", AMOUNT, below(2) * below(AMOUNT));
    else if (happens === "touch") invoice("UNPAID");
    else if (happens === "state") invoice(pick(["VOIDED", "UNCOLLECTIBLE", "REFUNDED", "DRAFT", "PAID", "UNPAID"]));
    else if (happens === "cancel")
      versions.push({ kind: "subscription", state: pick(["CANCELED", "ACTIVE"]), at: stamp() });
    else {
      const old = versions.filter((each) => each.kind === "attempt").at(-1);
      if (old) attempt(pick(["FAILED", "REFUNDED", "DISPUTED", "PAID"]), old.amount, old);
    }
    if (left < 1) left = AMOUNT;
  }
  return { waves: splitIntoBatches(versions, { below, chance }) };
}

/** Splits the versions into batches, mostly in the right order, some repeated, and some concurrent. */
function splitIntoBatches(
  versions: readonly Version[],
  { below, chance }: Pick<Dice, "below" | "chance">,
): Version[][][] {
  const order = [...versions];
  if (chance(0.4))
    for (let n = order.length - 1; n > 0; n--) {
      const other = below(n + 1);
      [order[n], order[other]] = [order[other]!, order[n]!];
    }
  for (const each of versions) if (chance(0.15)) order.splice(below(order.length + 1), 0, each);
  const batches: Version[][] = [];
  while (order.length > 0) batches.push(order.splice(0, 1 + below(3)));
  const waves: Version[][][] = [];
  while (batches.length > 0) waves.push(batches.splice(0, chance(0.3) ? 2 : 1));
  return waves;
}
