import type Stripe from "stripe";
import type { Account } from "./account.ts";
import { type Interval, makeInvoice, makeInvoicePayment, makePaymentIntent } from "./objects.ts";
import { type AskBank, type Attempt, chargeIntent, declineOf, methodOf, paymentErrorOf } from "./payments.ts";
import { invalidRequest, StripeApiError } from "./stripe-error.ts";

/** A subscription's fate after the last retry. */
export type FinalAction = "cancel" | "unpaid" | "past_due";

export interface BillingOptions {
  account: Account;
  askBank: AskBank;
  /** Days from the first attempt to each retry by the account itself. */
  retryDays: readonly number[];
  finalAction: FinalAction;
}

/** The account's own billing: renewals, finalizing, attempts and retries. */
export interface Billing {
  startSubscription(subscription: Stripe.Subscription): void;
  finalize(invoice: Stripe.Invoice): void;
  /** Charges an open invoice by request; it does not count as the account's own attempt. */
  pay(invoice: Stripe.Invoice, request: { paymentMethod?: string | undefined; onSession?: boolean }): void;
  markPaidOutOfBand(invoice: Stripe.Invoice): void;
  markUncollectible(invoice: Stripe.Invoice): void;
  voidInvoice(invoice: Stripe.Invoice): void;
  /** Takes over a changed `auto_advance`: retries go on or stop. */
  setAutoAdvance(invoice: Stripe.Invoice, isOn: boolean): void;
  cancel(subscription: Stripe.Subscription): void;
  credit(invoice: Stripe.Invoice, amount: number): void;
  /** Who made a charge: the account itself, a request of the API, or the customer on the invoice's page. */
  originOf(chargeId: string): ChargeMaker | undefined;
}

export type ChargeMaker = "account" | "request" | "page";

const HOUR_S = 3_600;
const DAY_S = 86_400;
const RETRY_AFTER_PROCESSING_S = DAY_S;

export function createBilling({ account, askBank, retryDays, finalAction }: BillingOptions): Billing {
  /** When each invoice was first attempted. */
  const firstAttempts = new Map<string, number>();
  const clockOf = ({ test_clock }: { test_clock?: unknown }) => (test_clock as string | null | undefined) ?? null;
  const payments = new Map<string, Stripe.InvoicePayment>();
  const makers = new Map<string, ChargeMaker>();
  const invoicesOf = new Map<string, Stripe.Invoice[]>();
  const customerOf = ({ customer }: Stripe.Invoice) => account.get<Stripe.Customer>("customer", customer as string);
  const intentOf = ({ id }: Stripe.Invoice) => {
    const payment = payments.get(id);
    return payment && account.get<Stripe.PaymentIntent>("payment_intent", payment.payment.payment_intent as string);
  };
  const subscriptionOf = ({ parent }: Stripe.Invoice) => {
    const id = parent?.subscription_details?.subscription as string | undefined;
    return id === undefined ? null : (account.find<Stripe.Subscription>("subscription", id) ?? null);
  };

  function renew(subscription: Stripe.Subscription, reason: "subscription_create" | "subscription_cycle") {
    if (subscription.status === "canceled" || subscription.status === "unpaid") return;
    const [item] = subscription.items.data;
    const start = reason === "subscription_create" ? item!.current_period_start : item!.current_period_end;
    const end = addInterval(start, item!.price.recurring!);
    Object.assign(item!, { current_period_start: start, current_period_end: end });
    const invoice = account.add(
      makeInvoice(account, account.get("customer", subscription.customer as string), subscription, {
        amount: item!.price.unit_amount! * (item!.quantity ?? 1),
        currency: subscription.currency,
        billingReason: reason,
        periodStart: start,
        periodEnd: end,
      }),
    );
    subscription.latest_invoice = invoice.id;
    invoicesOf.set(subscription.id, [...(invoicesOf.get(subscription.id) ?? []), invoice]);
    account.emit("invoice.created", invoice);
    const clock = clockOf(subscription);
    account.at(invoice.created + HOUR_S, clock, () => {
      if (invoice.status === "draft" && invoice.auto_advance) finalizeAndAttempt(invoice);
    });
    account.at(end, clock, () => renew(subscription, "subscription_cycle"));
  }

  function finalizeAndAttempt(invoice: Stripe.Invoice) {
    finalize(invoice);
    if (invoice.status === "open") attempt(invoice);
  }

  function finalize(invoice: Stripe.Invoice) {
    if (invoice.status !== "draft") throw invalidRequest("This invoice is already finalized.");
    const at = account.seconds(clockOf(invoice));
    invoice.status = "open";
    invoice.number = `HC-${invoice.id.slice(-6)}`;
    invoice.effective_at = at;
    invoice.status_transitions.finalized_at = at;
    invoice.automatically_finalizes_at = null;
    invoice.hosted_invoice_url = `https://invoice.stripe.example/i/${account.id}/${invoice.id}`;
    if (invoice.amount_remaining === 0) return markPaid(invoice);
    const intent = account.add(makePaymentIntent(account, invoice));
    payments.set(invoice.id, account.add(makeInvoicePayment(account, invoice, intent.id)));
    account.emit("invoice.finalized", invoice);
  }

  /** An attempt by the account itself. */
  function attempt(invoice: Stripe.Invoice) {
    const at = account.seconds(clockOf(invoice));
    firstAttempts.set(invoice.id, firstAttempts.get(invoice.id) ?? at);
    invoice.attempted = true;
    invoice.attempt_count++;
    const method = methodOf(account, invoice, customerOf(invoice));
    const intent = intentOf(invoice)!;
    if (intent.status === "processing") return planRetry(invoice, at + RETRY_AFTER_PROCESSING_S);
    if (!method) return afterFailure(invoice);
    charge(invoice, intent, method, "account");
  }

  function charge(
    invoice: Stripe.Invoice,
    intent: Stripe.PaymentIntent,
    method: Stripe.PaymentMethod,
    maker: ChargeMaker,
  ): Attempt {
    intent.amount = invoice.amount_remaining;
    const clockId = clockOf(invoice);
    const onSession = maker === "page";
    const attempted = chargeIntent(account, askBank, intent, method, { onSession, clockId }, (ended) => {
      makers.set(ended.id, maker);
      if (ended.status === "succeeded" && invoice.status === "open") markPaid(invoice);
      else if (ended.status === "failed" && invoice.status === "open") afterFailure(invoice);
    });
    makers.set(attempted.charge.id, maker);
    return attempted;
  }

  function afterFailure(invoice: Stripe.Invoice) {
    const first = firstAttempts.get(invoice.id) ?? account.seconds(clockOf(invoice));
    const next = retryDays[invoice.attempt_count - 1];
    const isLast = next === undefined;
    invoice.next_payment_attempt = null;
    if (invoice.auto_advance && !isLast) planRetry(invoice, first + next * DAY_S);
    const subscription = subscriptionOf(invoice);
    if (subscription?.status === "active") setStatus(subscription, "past_due");
    account.emit("invoice.payment_failed", invoice);
    account.emit("invoice.updated", invoice);
    if (invoice.auto_advance && isLast && subscription) applyFinalAction(subscription);
  }

  function planRetry(invoice: Stripe.Invoice, at: number) {
    invoice.next_payment_attempt = at;
    account.at(at, clockOf(invoice), () => {
      // Superseded, switched off, or settled meanwhile.
      if (invoice.status === "open" && invoice.auto_advance && invoice.next_payment_attempt === at) attempt(invoice);
    });
  }

  function applyFinalAction(subscription: Stripe.Subscription) {
    if (subscription.status === "canceled") return;
    if (finalAction === "cancel") cancel(subscription);
    else if (finalAction === "unpaid") setStatus(subscription, "unpaid");
  }

  function setStatus(subscription: Stripe.Subscription, status: Stripe.Subscription.Status) {
    const previous = { status: subscription.status };
    subscription.status = status;
    account.emit("customer.subscription.updated", subscription, previous);
  }

  function markPaid(invoice: Stripe.Invoice) {
    const at = account.seconds(clockOf(invoice));
    invoice.status = "paid";
    invoice.amount_paid += invoice.amount_remaining;
    invoice.amount_remaining = 0;
    invoice.next_payment_attempt = null;
    invoice.status_transitions.paid_at = at;
    const payment = payments.get(invoice.id);
    if (payment) {
      Object.assign(payment, { status: "paid", amount_paid: payment.amount_requested });
      payment.status_transitions.paid_at = at;
    }
    account.emit("invoice.paid", invoice);
    account.emit("invoice.payment_succeeded", invoice);
    const subscription = subscriptionOf(invoice);
    if (subscription?.status !== "past_due") return;
    if (!invoicesOf.get(subscription.id)?.some(({ status }) => status === "open")) setStatus(subscription, "active");
  }

  function leaveOpen(invoice: Stripe.Invoice, status: "uncollectible" | "void") {
    if (invoice.status !== "open" && !(status === "void" && invoice.status === "uncollectible"))
      throw invalidRequest(`You can only pass in open invoices. This invoice isn't open.`);
    const at = account.seconds(clockOf(invoice));
    invoice.status = status;
    invoice.next_payment_attempt = null;
    if (status === "void") invoice.status_transitions.voided_at = at;
    else invoice.status_transitions.marked_uncollectible_at = at;
    account.emit(status === "void" ? "invoice.voided" : "invoice.marked_uncollectible", invoice);
  }

  function cancel(subscription: Stripe.Subscription) {
    if (subscription.status === "canceled") throw invalidRequest("No such active subscription.", {}, 404);
    const at = account.seconds(clockOf(subscription));
    Object.assign(subscription, { status: "canceled", canceled_at: at, ended_at: at });
    account.emit("customer.subscription.deleted", subscription);
    for (const invoice of invoicesOf.get(subscription.id) ?? [])
      if (invoice.status === "draft" || invoice.status === "open") invoice.auto_advance = false;
  }

  return {
    startSubscription(subscription) {
      account.emit("customer.subscription.created", subscription);
      renew(subscription, "subscription_create");
    },
    finalize,
    pay(invoice, { paymentMethod, onSession = false }) {
      if (invoice.status === "draft") finalize(invoice);
      if (invoice.status === "paid") throw invalidRequest("Invoice is already paid");
      if (invoice.status !== "open") throw invalidRequest(`This invoice is ${invoice.status} and cannot be paid.`);
      const intent = intentOf(invoice)!;
      if (intent.status === "processing")
        throw invalidRequest("This invoice has a payment that is still processing.", {
          code: "payment_intent_unexpected_state",
        });
      const method = methodOf(account, invoice, customerOf(invoice), paymentMethod);
      if (!method)
        throw invalidRequest("There is no `default_payment_method` set on this Customer or Invoice.", {
          code: "missing",
        });
      const { charge: made } = charge(invoice, intent, method, onSession ? "page" : "request");
      if (made.status === "failed")
        throw new StripeApiError(402, {
          ...paymentErrorOf(made, declineOf(made)),
          payment_intent: structuredClone(intent),
          payment_method: structuredClone(method),
        });
    },
    markPaidOutOfBand(invoice) {
      if (invoice.status !== "open") throw invalidRequest("Invoice is already paid");
      markPaid(invoice);
    },
    markUncollectible: (invoice) => leaveOpen(invoice, "uncollectible"),
    voidInvoice: (invoice) => leaveOpen(invoice, "void"),
    setAutoAdvance(invoice, isOn) {
      invoice.auto_advance = isOn;
      const first = firstAttempts.get(invoice.id);
      if (!isOn) invoice.next_payment_attempt = null;
      else if (invoice.status === "open" && invoice.next_payment_attempt === null && first !== undefined) {
        const now = account.seconds(clockOf(invoice));
        const next = retryDays.map((days) => first + days * DAY_S).find((at) => at > now);
        if (next !== undefined) planRetry(invoice, next);
      }
    },
    cancel,
    originOf: (chargeId) => makers.get(chargeId),
    credit(invoice, amount) {
      if (invoice.status !== "open" && invoice.status !== "paid")
        throw invalidRequest("A credit note can only be issued for an open or a paid invoice.");
      if (invoice.status === "paid") invoice.post_payment_credit_notes_amount += amount;
      else {
        invoice.pre_payment_credit_notes_amount += amount;
        invoice.amount_remaining = Math.max(0, invoice.amount_remaining - amount);
        invoice.amount_due = Math.max(0, invoice.amount_due - amount);
        account.emit("invoice.updated", invoice);
        if (invoice.amount_remaining === 0) markPaid(invoice);
      }
    },
  };
}

/** The end of a period, in seconds. A shorter month ends on its last day. */
export function addInterval(start: number, { interval, interval_count }: Stripe.Price.Recurring): number {
  const date = new Date(start * 1_000);
  const days: Partial<Record<Interval, number>> = { day: 1, week: 7 };
  const inDays = days[interval as Interval];
  if (inDays !== undefined) return start + inDays * interval_count * DAY_S;
  const months = interval_count * (interval === "year" ? 12 : 1);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  date.setUTCDate(Math.min(day, new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()));
  return date.getTime() / 1_000;
}
