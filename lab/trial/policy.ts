import { findCustomerLocale } from "../../src/engine/customer-locale.ts";
import type { LedgerEntry } from "../../src/engine/rules/attempt-ledger.ts";
import { findBankDebit } from "../../src/engine/rules/bank-debits.ts";
import { findCardNetwork, UNKNOWN_NETWORK } from "../../src/engine/rules/card-networks.ts";
import { endsRetries } from "../../src/engine/rules/decline-groups.ts";
import { buildGuard, findForbiddingRule, type Guard } from "../../src/engine/rules/guard.ts";
import { findDeclineGroup } from "../../src/engine/rules/interpret-decline.ts";
import { findFillableLimits, type PlanLimit } from "../../src/engine/rules/plan-limits.ts";
import { findSubstituteCards } from "../../src/engine/rules/substitute-cards.ts";
import type { Bill, Charge } from "../worlds/world.ts";

/** Per case, for every policy. */
export const MAX_RETRIES = 6;

/** A bank debit has fewer if its scheme allows fewer presentations. */
export const maxRetriesFor = (bill: Bill) =>
  Math.min(MAX_RETRIES, (findBankDebit(bill.first.paymentMethodType)?.presentationsMax ?? MAX_RETRIES + 1) - 1);

export interface Attempt {
  bill: Bill;
  charge: Charge;
}

/** An invoice whose first charge was declined. */
export interface OpenCase {
  bill: Bill;
  /** With the first one, oldest first. */
  charges: Charge[];
  triesLeft: number;
  /** Exclusive. */
  endsAt: number;
  /** On all of the customer's invoices, oldest first. */
  attempts: readonly Attempt[];
  /** By card fingerprint across customers, and by customer; oldest first. */
  byCard: ReadonlyMap<string, readonly Attempt[]>;
  byCustomer: ReadonlyMap<string, readonly Attempt[]>;
}

/** The next retry. `chance`: the predicted probability; null if the policy predicts none. */
export interface Choice {
  at: number;
  chance: number | null;
}

/** Decides when a case is retried. Each run gets a new policy, without knowledge of the world. */
export interface Policy {
  /** Receives each invoice when it is first charged, paid or not, in order of time. */
  billed?(bill: Bill): void;
  /** Later than `now` and before the window's end; null: none for now. */
  next(open: OpenCase, now: number): Choice | null;
  /**
   * Whether a case without a next retry stays open for the customer's other outcomes. With this method, open cases are planned
   * again whenever another of the customer's invoices is charged.
   */
  waits?(open: OpenCase, now: number): boolean;
  /** Called right before the retry. Returns the same choice, a later one, or null to give up. */
  reconsidered?(open: OpenCase, choice: Choice): Choice | null;
  /** Receives a chosen retry's outcome. `open.charges` already includes it. */
  answered?(open: OpenCase, choice: Choice, charge: Charge): void;
}

/** For a case's further retries. */
export interface Rules {
  /** By the bank's advice; 0 without. */
  notBefore: number;
  allow(at: number): boolean;
  /** The most further declines allowed. */
  triesMax: number;
  /** Joint limits on so many further declines, from a time on. */
  limits(from: number, tries: number): PlanLimit[];
}

/** Applies the guard that the service uses. */
export function findRules(open: OpenCase): Rules {
  const last = open.charges.at(-1)!;
  const isDebit = findBankDebit(last.paymentMethodType) !== undefined;
  // A return that may not be presented again. The guard handles cards.
  if (isDebit && endsRetries(declineGroupOf(last)))
    return { notBefore: 0, allow: () => false, triesMax: 0, limits: () => [] };
  const guards = findCurrentCardCharges(open).map((charge) => buildGuardFor(open, charge));
  return {
    notBefore: Math.max(...guards.map(({ notBefore }) => notBefore?.at ?? 0)),
    allow: (at) => guards.every((guard) => findForbiddingRule(guard, at) === null),
    triesMax: Math.min(...guards.map(({ triesLeft }) => triesLeft?.count ?? Number.POSITIVE_INFINITY)),
    limits: (from, tries) => guards.flatMap((guard) => findFillableLimits(guard, from, tries)),
  };
}

/**
 * Returns the charges on the card last charged for the subscription. If a later attempt on another subscription shows another
 * card, it may be a replacement or a second card, so the rules have to hold for both. Without a fingerprint any later attempt may
 * show another card.
 */
function findCurrentCardCharges(open: OpenCase): Charge[] {
  const { bill, attempts } = open;
  const own = attempts.findLast((attempt) => attempt.bill.subscriptionId === bill.subscriptionId)!.charge;
  const latest = attempts.at(-1)!.charge;
  const isOne =
    latest === own || (latest.cardFingerprint !== undefined && latest.cardFingerprint === own.cardFingerprint);
  const shown = isOne ? [latest] : [own, latest];
  return [...shown, ...shown.flatMap((charge) => findReplacementCharges(open, charge))];
}

/**
 * Returns the charges on cards that others who shared this card use now, if none was charged before the last charge on this card.
 * A card replaced for them is replaced for all.
 */
function findReplacementCharges({ bill, byCard, byCustomer }: OpenCase, { cardFingerprint = "" }: Charge): Charge[] {
  const onCard = byCard.get(cardFingerprint) ?? [];
  const others = new Set(onCard.map((attempt) => attempt.bill.customerId).filter((id) => id !== bill.customerId));
  return [...others].flatMap((id) => {
    const { charge } = byCustomer.get(id)!.at(-1)!;
    const first = byCard.get(charge.cardFingerprint ?? "")?.[0];
    return first && first.charge.at > onCard.at(-1)!.charge.at ? [charge] : [];
  });
}

/** By fingerprints, or else by networks; in doubt it is one card. */
function mayBeOneCard(a: Charge, b: Charge): boolean {
  if (a.cardFingerprint !== undefined || b.cardFingerprint !== undefined)
    return a.cardFingerprint === b.cardFingerprint;
  const [one, other] = [a, b].map(({ cardBrand }) => findCardNetwork(cardBrand ?? null));
  return one === other || one === UNKNOWN_NETWORK || other === UNKNOWN_NETWORK;
}

/** By the same criteria. */
const cardKeyOf = ({ cardFingerprint, cardBrand }: Charge) =>
  cardFingerprint ?? findCardNetwork(cardBrand ?? null).name;

/** With those of others on the same card, oldest first. */
function attemptsWith({ bill, attempts, byCard }: OpenCase, { cardFingerprint }: Charge): readonly Attempt[] {
  const onCard = cardFingerprint === undefined ? undefined : byCard.get(cardFingerprint);
  const others = onCard?.filter((attempt) => attempt.bill.customerId !== bill.customerId) ?? [];
  if (others.length === 0) return attempts;
  return [...attempts, ...others].sort((one, other) => one.charge.at.getTime() - other.charge.at.getTime());
}

function buildGuardFor(open: OpenCase, present: Charge): Guard {
  const { bill, attempts } = open;
  const { paymentMethodType, cardBrand, cardCountry } = present;
  const alsoCharged = findSubstituteCards(
    attempts.map(({ bill, charge }) => ({ invoiceId: bill.id, card: cardKeyOf(charge) })),
  );
  const ledger: LedgerEntry[] = [];
  for (const attempt of attemptsWith(open, present)) {
    const { charge } = attempt;
    const onThisInvoice = attempt.bill.id === bill.id;
    const isOnCard = mayBeOneCard(charge, present);
    const isStandIn = !isOnCard && alsoCharged.has(cardKeyOf(charge));
    ledger.push({
      at: charge.at,
      amount: attempt.bill.amount,
      approved: charge.approved,
      onThisInvoice,
      onPresentCard: isOnCard || isStandIn,
      codes: codesOf(charge),
      clears: charge.approved && charge.cardFingerprint !== undefined && isOnCard,
      ...(isStandIn && { standIn: instrumentOf(charge) }),
    });
  }
  return buildGuard({
    instrument: { paymentMethodType, network: cardBrand ?? null, cardCountry: cardCountry ?? null },
    amount: bill.amount,
    ledger,
    firstTriedAt: null,
    earlyMs: 0,
  });
}

export const declineGroupOf = (charge: Charge) => findDeclineGroup(codesOf(charge), instrumentOf(charge));

export const customerLocaleOf = ({ first, currency }: Bill) =>
  findCustomerLocale({ customerTimezone: null, cardCountry: first.cardCountry ?? null, currency });

export const codesOf = (charge: Charge) => ({
  networkDeclineCode: charge.networkDeclineCode ?? null,
  networkAdviceCode: charge.networkAdviceCode ?? null,
  gatewayCode: null,
  declineCategory: null,
});

export const instrumentOf = (charge: Charge) => ({
  paymentMethodType: charge.paymentMethodType,
  network: charge.cardBrand ?? null,
  cardCountry: charge.cardCountry ?? null,
});
