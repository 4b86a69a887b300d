import type Stripe from "stripe";
import type { Ownership } from "../kit/action-ledger.ts";
import type { Invoice, Subscription, Transaction } from "../kit/sdk.ts";
import { toMinorUnits } from "./minor-units.ts";
import { idOf, OWNER_MARK } from "./stripe-account.ts";

/** A record without its version, and when its content came about. */
export interface Mapped<Row> {
  record: Omit<Row, "updatedAt">;
  at: Date;
}

const dateOf = (seconds: number) => new Date(seconds * 1_000);
export const subscriptionIdOf = ({ parent }: Pick<Stripe.Invoice, "parent">): string | undefined =>
  idOf(parent?.subscription_details?.subscription);

/** Whether the invoice has the mark by which Dunlin handles it. */
export const isLeftToDunlin = ({ metadata }: Pick<Stripe.Invoice, "metadata">, mark: string): boolean =>
  metadata?.[OWNER_MARK] === mark;

/** Whether the merchant keeps Dunlin away from the invoice. */
export const isOptedOut = ({ metadata }: Pick<Stripe.Invoice, "metadata">): boolean => metadata?.[OWNER_MARK] === "off";

/** Whether it is charged without a person: by Stripe, or by Dunlin, which turns Stripe's retries off. */
const isCollectedAutomatically = (invoice: Stripe.Invoice) =>
  invoice.collection_method === "charge_automatically" &&
  !isOptedOut(invoice) &&
  (invoice.auto_advance !== false || Boolean(invoice.metadata?.[OWNER_MARK]));

/**
 * Maps an invoice. An open invoice is unpaid for Dunlin only after an automatic charge failed. Before that it is a draft, and so is
 * one that the customer pays by a link or that the merchant collects by hand.
 *
 * @param charges  of the invoice, in any order
 */
export function mapInvoice(invoice: Stripe.Invoice, charges: readonly Stripe.Charge[]): Mapped<Invoice> {
  const currency = invoice.currency.toUpperCase();
  const failed = charges.filter(({ status }) => status === "failed");
  const { finalized_at: finalizedAt, paid_at, voided_at, marked_uncollectible_at } = invoice.status_transitions;
  const firstFailure = Math.min(...failed.map(({ created }) => created));
  const isPending = charges.some(({ status }) => status === "pending");
  const state = invoiceState(invoice, failed.length > 0 || (invoice.attempt_count > 0 && !isPending));
  const at = {
    PAID: paid_at,
    VOIDED: voided_at,
    UNCOLLECTIBLE: marked_uncollectible_at,
    UNPAID: Number.isFinite(firstFailure) ? firstFailure : finalizedAt,
    PARTIALLY_PAID: Number.isFinite(firstFailure) ? firstFailure : finalizedAt,
    DRAFT: invoice.created,
  }[state];
  const amount = Math.max(0, invoice.total, invoice.amount_due);
  return {
    at: dateOf(at ?? invoice.created),
    record: {
      id: invoice.id,
      state: `INVOICE_STATE_${state}`,
      customerId: idOf(invoice.customer) ?? invoice.id,
      subscriptionId: subscriptionIdOf(invoice),
      amount: toMinorUnits(amount, currency),
      amountDue: Math.min(toMinorUnits(amount, currency), toMinorUnits(invoice.amount_remaining, currency)),
      currency,
      createdAt: dateOf(invoice.created).toISOString(),
    },
  };
}

function invoiceState(invoice: Stripe.Invoice, hasFailed: boolean) {
  switch (invoice.status) {
    case "paid":
      return "PAID";
    case "void":
      return "VOIDED";
    case "uncollectible":
      return "UNCOLLECTIBLE";
    case "open":
      if (!isCollectedAutomatically(invoice) || !hasFailed) return "DRAFT";
      return invoice.amount_paid > 0 ? "PARTIALLY_PAID" : "UNPAID";
    default:
      return "DRAFT";
  }
}

const SUBSCRIPTION_STATES: Readonly<Record<string, string>> = {
  active: "ACTIVE",
  trialing: "TRIALING",
  past_due: "PAST_DUE",
  unpaid: "PAST_DUE",
  canceled: "CANCELED",
  incomplete: "PENDING",
  incomplete_expired: "EXPIRED",
  paused: "PAUSED",
};
const PERIOD_UNITS: Readonly<Record<string, string>> = { day: "DAY", week: "WEEK", month: "MONTH", year: "YEAR" };

export function mapSubscription(subscription: Stripe.Subscription): Mapped<Subscription> {
  const currency = subscription.currency.toUpperCase();
  const items = subscription.items.data;
  const price = items[0]?.price;
  const total = items.reduce((sum, { price: each, quantity }) => sum + (each.unit_amount ?? 0) * (quantity ?? 1), 0);
  const unit = PERIOD_UNITS[price?.recurring?.interval ?? ""];
  const { canceled_at, ended_at, created, start_date } = subscription;
  const state = SUBSCRIPTION_STATES[subscription.status] ?? "ACTIVE";
  return {
    at: dateOf(ended_at ?? (state === "CANCELED" ? canceled_at : null) ?? created),
    record: {
      id: subscription.id,
      state: `SUBSCRIPTION_STATE_${state}` as Subscription["state"],
      customerId: idOf(subscription.customer)!,
      planId: price?.id,
      amount: toMinorUnits(total, currency),
      currency,
      createdAt: dateOf(created).toISOString(),
      activatedAt: dateOf(start_date).toISOString(),
      ...(canceled_at !== null && state === "CANCELED" && { canceledAt: dateOf(canceled_at).toISOString() }),
      ...(unit && {
        billingPeriod: price!.recurring!.interval_count,
        billingPeriodUnit: `BILLING_PERIOD_UNIT_${unit}` as NonNullable<Subscription["billingPeriodUnit"]>,
      }),
    },
  };
}

const METHOD_TYPES: Readonly<Record<string, string>> = {
  card: "card",
  sepa_debit: "sepa_debit",
  us_bank_account: "ach_debit",
  ach_debit: "ach_debit",
  bacs_debit: "bacs_debit",
  paypal: "paypal",
};

/** Where a charge comes from. */
export interface ChargeOrigin {
  invoiceId: string;
  customerId: string | undefined;
  subscriptionId: string | undefined;
  /** Dunlin's action that made it. */
  actionId: string | undefined;
  /** The latest time in which Dunlin handled the invoice: a charge without an action is the customer's then. */
  owned: Ownership | null;
  /** Whether the merchant won its dispute. */
  isWon: boolean;
}

export function mapCharge(charge: Stripe.Charge, origin: ChargeOrigin): Mapped<Transaction> {
  const { actionId } = origin;
  const currency = charge.currency.toUpperCase();
  const { outcome, payment_method_details: details } = charge;
  const card = details?.card;
  const declined = charge.status === "failed";
  return {
    at: dateOf(charge.created),
    record: {
      id: charge.id,
      state: `TRANSACTION_STATE_${chargeState(charge, origin.isWon)}`,
      invoiceId: origin.invoiceId,
      customerId: idOf(charge.customer) ?? origin.customerId,
      subscriptionId: origin.subscriptionId,
      amount: toMinorUnits(charge.amount, currency),
      currency,
      createdAt: dateOf(charge.created).toISOString(),
      paymentMethodType: METHOD_TYPES[details?.type ?? ""] ?? "other",
      paymentMethodId: charge.payment_method ?? undefined,
      paymentGatewayName: "Stripe",
      paymentGatewayType: "stripe",
      paymentGatewayTransactionId: charge.id,
      paymentGatewayStatus: outcome?.network_status === "not_sent_to_network" ? "not_sent_to_network" : charge.status,
      ...(declined && {
        paymentGatewayErrorCode: outcome?.reason ?? charge.failure_code ?? undefined,
        paymentGatewayErrorMessage: charge.failure_message ?? undefined,
        networkDeclineCode: outcome?.network_decline_code ?? undefined,
        networkAdviceCode: outcome?.network_advice_code ?? undefined,
      }),
      ...(card && mapCard(card)),
      ...(actionId !== undefined && { recoveryActionId: actionId }),
      initiator: `TRANSACTION_INITIATOR_${initiatorOf(charge, origin)}`,
    },
  };
}

type CardDetails = Pick<
  Stripe.PaymentMethod.Card,
  "country" | "exp_month" | "exp_year" | "fingerprint" | "funding" | "iin" | "issuer" | "last4"
> & { brand: string | null };

const mapCard = (card: CardDetails | Stripe.Charge.PaymentMethodDetails.Card) => ({
  cardBrand: card.brand ?? undefined,
  cardBin: card.iin ?? undefined,
  cardLast4: card.last4 ?? undefined,
  cardFingerprint: card.fingerprint ?? undefined,
  cardCountry: card.country ?? undefined,
  cardIssuer: card.issuer ?? undefined,
  cardFunding: `CARD_FUNDING_${(card.funding ?? "unknown").toUpperCase()}` as Transaction["cardFunding"],
  cardExpiryMonth: card.exp_month,
  cardExpiryYear: card.exp_year,
});

/**
 * Tells Dunlin that an open invoice will be charged on another method than the one that failed: a check without an amount, as banks
 * make it when a customer enters a card. `createdAt` is missing, because Stripe does not date the change.
 *
 * @returns null if the method is the one that failed last
 */
export function mapNewMethod(
  invoice: Stripe.Invoice,
  charges: readonly Stripe.Charge[],
  method: Stripe.PaymentMethod,
): Omit<Transaction, "createdAt" | "updatedAt"> | null {
  const last = charges.toSorted((a, b) => b.created - a.created)[0];
  if (last?.status !== "failed" || charges.some(({ payment_method }) => payment_method === method.id)) return null;
  const failedCard = last.payment_method_details?.card?.fingerprint;
  if (failedCard && failedCard === method.card?.fingerprint) return null;
  return {
    id: `${method.id}/${invoice.id}`,
    state: "TRANSACTION_STATE_VOIDED",
    invoiceId: invoice.id,
    customerId: idOf(invoice.customer),
    subscriptionId: subscriptionIdOf(invoice),
    amount: 0,
    currency: invoice.currency.toUpperCase(),
    paymentMethodType: METHOD_TYPES[method.type] ?? "other",
    paymentMethodId: method.id,
    paymentGatewayName: "Stripe",
    paymentGatewayType: "stripe",
    paymentGatewayStatus: "canceled",
    initiator: "TRANSACTION_INITIATOR_CUSTOMER",
    ...(method.card && mapCard(method.card)),
  };
}

function chargeState(charge: Stripe.Charge, isWon: boolean) {
  if (charge.disputed && !isWon) return "DISPUTED";
  if (charge.refunded) return "REFUNDED";
  if (charge.status === "pending") return "PENDING";
  return charge.status === "succeeded" ? "PAID" : "FAILED";
}

/** While Dunlin handles an invoice, Stripe makes no retries of its own. */
function initiatorOf({ created }: Stripe.Charge, { actionId, owned }: ChargeOrigin) {
  if (actionId !== undefined) return "RECOVERY_ACTION";
  const at = dateOf(created);
  return owned && at >= owned.since && (owned.until === null || at <= owned.until) ? "CUSTOMER" : "BILLING_SYSTEM";
}

const needsConfirmation = (code: string | null) =>
  code === "invoice_payment_intent_requires_action" || code === "authentication_required";

/** Whether a charge was refused because only the customer can help, by another card or a confirmation. */
export const needsCustomer = ({ code, message }: Pick<UnmadeCharge, "code" | "message">): boolean =>
  needsConfirmation(code) ||
  code === "missing" ||
  /default_payment_method|no active card|no payment method/i.test(message);

/** Stripe refused an action's charge before it made one. */
export interface UnmadeCharge {
  actionId: string;
  /** Stripe's error code. */
  code: string | null;
  message: string;
  at: Date;
}

/** An attempt that never reached the bank, so that Dunlin knows the outcome of its action. */
export const mapUnmadeCharge = (
  invoice: Stripe.Invoice,
  { actionId, code, message, at }: UnmadeCharge,
): Mapped<Transaction> => ({
  at,
  record: {
    id: `dunlin-${actionId}`,
    state: "TRANSACTION_STATE_FAILED",
    invoiceId: invoice.id,
    customerId: idOf(invoice.customer),
    subscriptionId: subscriptionIdOf(invoice),
    amount: toMinorUnits(invoice.amount_remaining, invoice.currency.toUpperCase()),
    currency: invoice.currency.toUpperCase(),
    createdAt: at.toISOString(),
    paymentGatewayName: "Stripe",
    paymentGatewayType: "stripe",
    paymentGatewayStatus: "not_sent_to_network",
    ...(needsConfirmation(code)
      ? { paymentGatewayErrorCode: "authentication_required" }
      : { declineCategory: "DECLINE_CATEGORY_INVALID_DATA" }),
    paymentGatewayErrorMessage: message,
    recoveryActionId: actionId,
    initiator: "TRANSACTION_INITIATOR_RECOVERY_ACTION",
  },
});
