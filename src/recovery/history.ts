import { dollarsOf } from "../decisions/dollars.ts";
import type { Known } from "../decisions/known.ts";
import { offsetMs } from "../decisions/local-time.ts";
import type { History, PastBill, PastCharge } from "../decisions/recall.ts";
import { whereabouts } from "../decisions/whereabouts.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { isApproved } from "../domain/transaction.ts";
import { BESIDE_MAX } from "../model/observe.ts";
import { OWN_MERCHANT } from "../model/own.ts";
import { isUnsent } from "../rules/unsent.ts";
import type { CustomerBill } from "../store/customer-bills.ts";
import type { TransactionFacts } from "../store/transactions.ts";
import { isOn, presentCard } from "./card.ts";
import type { CaseView } from "./case-view.ts";
import { codesOf } from "./known.ts";
import type { DeliveredAction } from "./outcome.ts";
import { payerOf } from "./payer.ts";

/** What the learned engine wants to know beside `known`: the customer's bills and how each went, the open case last. */
export function historyOf(view: CaseView, known: Known, actions: readonly DeliveredAction[]): History {
  const { case: kase, invoice, subscription, transactions } = view;
  const place = whereabouts(known);
  const { cardFunding, cardIssuer } = payerOf(view);
  const tried = Map.groupBy(transactions, ({ invoiceId }) => invoiceId);
  const open = openBill(view, known, actions);
  const news = newsOf(view, open.charges.at(-1)!.at).slice(0, BESIDE_MAX);
  // What came after as many tells nothing new: with the plan made anew each time, the next try would be put off without end.
  const heardUntil = news.length < BESIDE_MAX ? null : news.at(-1)!.createdAt;
  const isHeard = ({ at }: PastCharge) => heardUntil === null || at <= heardUntil;
  const earlier = [...view.bills, ...unseenBills(view, news)]
    .filter(({ id }) => id !== invoice.id)
    .map((bill) => pastBill(bill, tried.get(bill.id) ?? []))
    .map((bill) => ({ ...bill, charges: bill.charges.filter(isHeard) }))
    .filter(({ charges }) => charges.length > 0)
    // Of the same moment: in the order of their ids, so that a decision never depends on how rows lie.
    .sort((a, b) => a.charges[0]!.at.getTime() - b.charges[0]!.at.getTime());
  return {
    traits: {
      tenureDays: subscription ? (kase.unpaidAt.getTime() - subscription.createdAt.getTime()) / DAY_MS : null,
      billingPeriod: subscription?.billingPeriod ?? null,
      billingPeriodUnit: subscription?.billingPeriodUnit ?? null,
      merchant: OWN_MERCHANT,
      country: place.country ?? known.currency,
      paymentMethodType: known.paymentMethodType,
      network: known.network,
      funding: cardFunding?.toLowerCase() ?? null,
      issuer: cardIssuer ?? null,
    },
    instrument: known,
    offsetAt: (at) => offsetMs(place.zone, at),
    bills: [...earlier, open],
  };
}

/** The view as it was when a retry was made, as far as records are dated: what is learned from its outcome rests on that. `actionId`: what asked for it, if anything did. */
export function viewBefore(view: CaseView, actionId: string, at: Date): CaseView {
  return {
    ...view,
    transactions: view.transactions.filter(({ createdAt }) => createdAt < at),
    actions: view.actions.filter(({ id, idealRetryTime }) => id !== actionId && idealRetryTime < at),
    asks: [],
    issuerDownAt: null,
    bills: view.bills
      .filter(({ createdAt }) => createdAt < at)
      .map((bill) => ({
        ...bill,
        state: bill.paidAt !== null && bill.paidAt >= at ? "UNPAID" : bill.state,
        unpaidAt: bill.unpaidAt !== null && bill.unpaidAt < at ? bill.unpaidAt : null,
        paidAt: bill.paidAt !== null && bill.paidAt < at ? bill.paidAt : null,
      })),
  };
}

const charge = (t: TransactionFacts): PastCharge => {
  const approved = isApproved(t);
  return { at: t.createdAt, approved, codes: approved ? null : codesOf(t) };
};

/** An attempt that says something about the card: not one that a person made, perhaps with another, nor one that no bank saw. */
const says = (t: TransactionFacts) =>
  (t.state === "FAILED" || isApproved(t)) && t.initiator !== "CUSTOMER" && !isUnsent(t);

/** The attempts on the customer's other bills since a moment, oldest first. */
const newsOf = ({ case: kase, invoice, transactions }: CaseView, since: Date) =>
  transactions.filter(
    (t) => t.createdAt > since && t.customerId === kase.customerId && t.invoiceId !== invoice.id && says(t),
  );

/** The bills of such attempts whose invoice was not pushed yet. */
function unseenBills({ bills }: CaseView, news: readonly TransactionFacts[]): OtherBill[] {
  const seen = new Set(bills.map(({ id }) => id));
  return [...Map.groupBy(news, ({ invoiceId }) => invoiceId)]
    .filter(([id]) => !seen.has(id))
    .map(([id, [first]]) => {
      const { amount, currency, createdAt } = first!;
      return { id, amount, currency, state: "UNPAID", createdAt, unpaidAt: null, paidAt: null };
    });
}

type OtherBill = Omit<CustomerBill, "customerId" | "subscriptionId" | "isPlanned">;

/** An earlier bill: by its attempts, else by what its invoice and its case say. */
function pastBill(
  { amount, currency, state, createdAt, unpaidAt, paidAt }: OtherBill,
  tried: readonly TransactionFacts[],
) {
  const dollars = dollarsOf(amount, currency);
  const said = tried.filter(says);
  const charges = said.map(charge);
  const first = charges[0];
  if (first) {
    // Attempts are read for half a year: of a bill that failed before, the first one read is a later one.
    const sinceMs = unpaidAt === null ? 0 : first.at.getTime() - unpaidAt.getTime();
    if (sinceMs > (first.approved ? HOUR_MS : DAY_MS)) charges.unshift({ at: unpaidAt!, approved: false, codes: null });
    return { dollars, paymentMethodType: said[0]!.paymentMethodType ?? null, charges };
  }
  if (unpaidAt !== null) {
    charges.push({ at: unpaidAt, approved: false, codes: null });
    if (paidAt !== null && paidAt > unpaidAt) charges.push({ at: paidAt, approved: true, codes: null });
  } else if (state === "PAID") charges.push({ at: createdAt, approved: true, codes: null });
  return { dollars, paymentMethodType: null, charges };
}

/**
 * The bill that is to be decided: what failed on the present card. Retries that no attempt tells of count when their outcome is known. There
 * was a first charge in any case.
 */
function openBill(view: CaseView, known: Known, actions: readonly DeliveredAction[]): PastBill {
  const { case: kase, invoice, transactions } = view;
  const card = presentCard(view);
  const since = known.cardChangedAt?.getTime() ?? Number.NEGATIVE_INFINITY;
  const failed = transactions
    .filter((t) => t.invoiceId === invoice.id && t.state === "FAILED" && says(t) && isOn(t, card))
    .map(charge);
  for (const { type, status, transactionId, attemptedAt, idealRetryTime } of actions)
    if (type === "RETRY" && status === "FAILED" && transactionId === null)
      failed.push({ at: attemptedAt ?? idealRetryTime, approved: false, codes: null });
  const charges = failed.filter(({ at }) => at.getTime() >= since).sort((a, b) => a.at.getTime() - b.at.getTime());
  const first = charges[0];
  const presumed = { approved: false, codes: null };
  if (known.cardChangedAt !== null) {
    if (!first) charges.push({ ...presumed, at: known.cardChangedAt, isPresumed: true });
  } else if (!first || first.at.getTime() > kase.unpaidAt.getTime() + DAY_MS)
    // Where the first attempt of all was not pushed, it was made when the invoice became unpaid.
    charges.unshift({ ...presumed, at: kase.unpaidAt });
  const { paymentMethodType } = known;
  return { dollars: dollarsOf(invoice.amount, invoice.currency), paymentMethodType, charges };
}
