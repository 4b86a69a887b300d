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

/** Tries that every policy has for a case, beside the first charge. */
export const MAX_RETRIES = 6;

/** Tries for a bill: a bank debit has fewer where its scheme allows fewer presentations. */
export const maxRetriesFor = (bill: Bill) =>
  Math.min(MAX_RETRIES, (findBankDebit(bill.first.paymentMethodType)?.presentationsMax ?? MAX_RETRIES + 1) - 1);

/** An attempt with the bill it was made for. */
export interface Attempt {
  bill: Bill;
  charge: Charge;
}

/** A bill whose first charge was declined. */
export interface OpenCase {
  bill: Bill;
  /** The first charge and the tries since, oldest first. */
  charges: Charge[];
  triesLeft: number;
  /** The first moment after the window. */
  endsAt: number;
  /** All attempts on the customer's bills so far, oldest first. */
  attempts: readonly Attempt[];
  /** All attempts so far on each card that has a fingerprint, whoever the customer, and of each customer; oldest first. */
  byCard: ReadonlyMap<string, readonly Attempt[]>;
  byCustomer: ReadonlyMap<string, readonly Attempt[]>;
}

/** The next try. `chance`: that it is approved, by what the policy expects; null when it has no opinion. */
export interface Choice {
  at: number;
  chance: number | null;
}

/** Decides when a case is tried again. One is made for each run of a world, so that it starts knowing nothing of it. */
export interface Policy {
  /** Each bill as it is first charged, paid or not, in order of time. */
  billed?(bill: Bill): void;
  /** The next try, later than `now` and before the window's end; null: none by what is known now. */
  next(open: OpenCase, now: number): Choice | null;
  /**
   * Asked of a case without a next try: whether it stays open for what comes of the customer's other bills; else it is given up. A policy that has this
   * has open cases planned anew whenever another bill of their customer is charged.
   */
  waits?(open: OpenCase, now: number): boolean;
  /** Right before the try: the same choice, a later one, or null to give up. */
  reconsidered?(open: OpenCase, choice: Choice): Choice | null;
  /** The outcome of a try that this policy chose. It is in `open.charges` by now. */
  answered?(open: OpenCase, choice: Choice, charge: Charge): void;
}

/** What the rules say about further tries of a case. */
export interface Rules {
  /** Not before this, by the bank's advice; 0 when nothing was advised. */
  notBefore: number;
  allow(at: number): boolean;
  /** No more than so many further declines. */
  triesMax: number;
  /** What is allowed of so many further declines together, from a moment on. */
  limits(from: number, tries: number): PlanLimit[];
}

/** What the rules say about another try of the case now, by the same guard that the service uses. */
export function findRules(open: OpenCase): Rules {
  const last = open.charges.at(-1)!;
  const isDebit = findBankDebit(last.paymentMethodType) !== undefined;
  // A return that may not be presented again; of cards the guard knows by itself.
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
 * What may be charged next: what the subscription was tried on last. Where a later attempt on another subscription shows another card, nobody can say
 * whether it has replaced this one or is a second one: the rules have to hold for both. Without
 * a fingerprint any later attempt may show another card. Who shares a card shares what has replaced it.
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

/** On the cards that others who paid with this one are charged on now, where nobody was before the last charge on this one: it was replaced for them, and so it was for all. */
function findReplacementCharges({ bill, byCard, byCustomer }: OpenCase, { cardFingerprint = "" }: Charge): Charge[] {
  const onCard = byCard.get(cardFingerprint) ?? [];
  const others = new Set(onCard.map((attempt) => attempt.bill.customerId).filter((id) => id !== bill.customerId));
  return [...others].flatMap((id) => {
    const { charge } = byCustomer.get(id)!.at(-1)!;
    const first = byCard.get(charge.cardFingerprint ?? "")?.[0];
    return first && first.charge.at > onCard.at(-1)!.charge.at ? [charge] : [];
  });
}

/** Fingerprints tell cards apart; without them two networks do, and in doubt it is one card. */
function mayBeOneCard(a: Charge, b: Charge): boolean {
  if (a.cardFingerprint !== undefined || b.cardFingerprint !== undefined)
    return a.cardFingerprint === b.cardFingerprint;
  const [one, other] = [a, b].map(({ cardBrand }) => findCardNetwork(cardBrand ?? null));
  return one === other || one === UNKNOWN_NETWORK || other === UNKNOWN_NETWORK;
}

/** What stands in for a card is told apart by the same. */
const cardKeyOf = ({ cardFingerprint, cardBrand }: Charge) =>
  cardFingerprint ?? findCardNetwork(cardBrand ?? null).name;

/** The customer's attempts, and those of others on the same card, oldest first. */
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

/** Why a charge failed. */
export const declineGroupOf = (charge: Charge) => findDeclineGroup(codesOf(charge), instrumentOf(charge));

/** Where a bill's customer is, as far as the bill shows. */
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
