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

export const MAX_RETRIES = 6;

/** Fewer if a debit's scheme allows fewer presentations. */
export const maxRetriesFor = (bill: Bill) =>
  Math.min(MAX_RETRIES, (findBankDebit(bill.first.paymentMethodType)?.presentationsMax ?? MAX_RETRIES + 1) - 1);

export interface Attempt {
  bill: Bill;
  charge: Charge;
}

export interface OpenCase {
  bill: Bill;
  charges: Charge[];
  retriesLeft: number;
  endsAt: number;
  attempts: readonly Attempt[];
  byCard: ReadonlyMap<string, readonly Attempt[]>;
  byCustomer: ReadonlyMap<string, readonly Attempt[]>;
}

/** `chance`: null if the policy predicts none. */
export interface Choice {
  at: number;
  chance: number | null;
}

/** New for each run, without knowledge of the world. */
export interface Policy {
  /** Paid or not, in order of time. */
  billed?(bill: Bill): void;
  /** Later than `now` and before the window's end; null: none for now. */
  next(open: OpenCase, now: number): Choice | null;
  /** Whether a case without a next retry stays open. With this method, other invoices' charges cause new plans. */
  waits?(open: OpenCase, now: number): boolean;
  /** Right before the retry. Returns the same choice, a later one, or null to give up. */
  reconsidered?(open: OpenCase, choice: Choice): Choice | null;
  answered?(open: OpenCase, choice: Choice, charge: Charge): void;
}

export interface Rules {
  notBefore: number;
  allow(at: number): boolean;
  retriesMax: number;
  limits(from: number, retryCount: number): PlanLimit[];
}

/** The guard that the service uses. */
export function findRules(open: OpenCase): Rules {
  const last = open.charges.at(-1)!;
  const isDebit = findBankDebit(last.paymentMethodType) !== undefined;
  if (isDebit && endsRetries(declineGroupOf(last)))
    return { notBefore: 0, allow: () => false, retriesMax: 0, limits: () => [] };
  const guards = findCurrentCardCharges(open).map((charge) => buildGuardFor(open, charge));
  return {
    notBefore: Math.max(...guards.map(({ notBefore }) => notBefore?.at ?? 0)),
    allow: (at) => guards.every((guard) => findForbiddingRule(guard, at) === null),
    retriesMax: Math.min(...guards.map(({ attemptsLeft }) => attemptsLeft?.count ?? Number.POSITIVE_INFINITY)),
    limits: (from, retryCount) => guards.flatMap((guard) => findFillableLimits(guard, from, retryCount)),
  };
}

/**
 * On the subscription's latest card. Another subscription's card may be a replacement or a second card, so the rules hold for
 * both. Without a fingerprint any later attempt may show another card.
 */
function findCurrentCardCharges(open: OpenCase): Charge[] {
  const { bill, attempts } = open;
  const ownCharge = attempts.findLast((attempt) => attempt.bill.subscriptionId === bill.subscriptionId)!.charge;
  const latest = attempts.at(-1)!.charge;
  const isOne =
    latest === ownCharge ||
    (latest.cardFingerprint !== undefined && latest.cardFingerprint === ownCharge.cardFingerprint);
  const shown = isOne ? [latest] : [ownCharge, latest];
  return [...shown, ...shown.flatMap((charge) => findReplacementCharges(open, charge))];
}

/** On cards that others who shared this card use now, if charged only since: a card replaced for them is replaced for all. */
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
  const [networkA, networkB] = [a, b].map(({ cardBrand }) => findCardNetwork(cardBrand ?? null));
  return networkA === networkB || networkA === UNKNOWN_NETWORK || networkB === UNKNOWN_NETWORK;
}

const cardKeyOf = ({ cardFingerprint, cardBrand }: Charge) =>
  cardFingerprint ?? findCardNetwork(cardBrand ?? null).name;

function attemptsWith({ bill, attempts, byCard }: OpenCase, { cardFingerprint }: Charge): readonly Attempt[] {
  const onCard = cardFingerprint === undefined ? undefined : byCard.get(cardFingerprint);
  const others = onCard?.filter((attempt) => attempt.bill.customerId !== bill.customerId) ?? [];
  if (others.length === 0) return attempts;
  return [...attempts, ...others].sort((a, b) => a.charge.at.getTime() - b.charge.at.getTime());
}

function buildGuardFor(open: OpenCase, currentCharge: Charge): Guard {
  const { bill, attempts } = open;
  const { paymentMethodType, cardBrand, cardCountry } = currentCharge;
  const alsoCharged = findSubstituteCards(
    attempts.map(({ bill, charge }) => ({ invoiceId: bill.id, card: cardKeyOf(charge) })),
  );
  const ledger: LedgerEntry[] = [];
  for (const attempt of attemptsWith(open, currentCharge)) {
    const { charge } = attempt;
    const onThisInvoice = attempt.bill.id === bill.id;
    const isOnCard = mayBeOneCard(charge, currentCharge);
    const isOnSubstitute = !isOnCard && alsoCharged.has(cardKeyOf(charge));
    ledger.push({
      at: charge.at,
      amount: attempt.bill.amount,
      approved: charge.approved,
      onThisInvoice,
      onPresentCard: isOnCard || isOnSubstitute,
      codes: codesOf(charge),
      clears: charge.approved && charge.cardFingerprint !== undefined && isOnCard,
      ...(isOnSubstitute && { standIn: instrumentOf(charge) }),
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
