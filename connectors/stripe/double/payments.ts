import type Stripe from "stripe";
import type { Account } from "./account.ts";
import { type DeclineFacts, makeCharge } from "./objects.ts";

/** How a bank answers a charge. A debit is pending first, and its end comes days later. */
export type BankAnswer =
  | { kind: "approved" }
  | { kind: "declined"; decline: DeclineFacts }
  | { kind: "pending"; days: number; decline: DeclineFacts | null };

export interface ChargeRequest {
  customer: Stripe.Customer;
  method: Stripe.PaymentMethod;
  amount: number;
  at: Date;
  /** Whether the customer confirms it. */
  onSession: boolean;
}

/** The customers and their banks. */
export type AskBank = (request: ChargeRequest) => BankAnswer;

export interface Attempt {
  charge: Stripe.Charge;
  intent: Stripe.PaymentIntent;
}

const DAY_S = 86_400;

/**
 * Returns the method that an invoice is charged on: its own, else the subscription's, else the customer's. Null: none.
 *
 * @param preferred  named by the request
 */
export function methodOf(
  account: Account,
  invoice: Stripe.Invoice,
  customer: Stripe.Customer,
  preferred?: string,
): Stripe.PaymentMethod | null {
  const subscriptionId = invoice.parent?.subscription_details?.subscription as string | undefined;
  const subscription = account.find<Stripe.Subscription>("subscription", subscriptionId ?? "");
  const id =
    preferred ??
    (invoice.default_payment_method as string | null) ??
    (subscription?.default_payment_method as string | null | undefined) ??
    (customer.invoice_settings.default_payment_method as string | null) ??
    (customer.default_source as string | null);
  return id ? (account.find<Stripe.PaymentMethod>("payment_method", id) ?? null) : null;
}

/**
 * Charges a payment intent once.
 *
 * @param onEnd  called when the outcome is known: now, or days later for a debit
 */
export function chargeIntent(
  account: Account,
  askBank: AskBank,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  { onSession = false, clockId }: { onSession?: boolean; clockId: string | null },
  onEnd: (charge: Stripe.Charge, isLate: boolean) => void,
): Attempt {
  const created = account.seconds(clockId);
  const customer = account.get<Stripe.Customer>("customer", intent.customer as string);
  const answer = askBank({ customer, method, amount: intent.amount, at: new Date(created * 1_000), onSession });
  const decline = answer.kind === "declined" ? answer.decline : null;
  const status = answer.kind === "approved" ? "succeeded" : answer.kind === "declined" ? "failed" : "pending";
  const charge = account.add(makeCharge(account, intent, method, { status, decline, created }));
  intent.latest_charge = charge.id;
  intent.payment_method = method.id;
  if (answer.kind === "pending") {
    intent.status = "processing";
    account.emit("charge.pending", charge);
    account.emit("payment_intent.processing", intent);
    account.at(created + answer.days * DAY_S, clockId, () => {
      settleDebit(charge, answer.decline);
      settleIntent(account, intent, charge, method, answer.decline);
      onEnd(charge, true);
    });
  } else {
    settleIntent(account, intent, charge, method, decline);
    onEnd(charge, false);
  }
  return { charge, intent };
}

function settleDebit(charge: Stripe.Charge, decline: DeclineFacts | null) {
  charge.status = decline ? "failed" : "succeeded";
  charge.paid = decline === null;
  charge.captured = charge.paid;
  charge.amount_captured = charge.paid ? charge.amount : 0;
  if (!decline) return;
  charge.failure_code = decline.code;
  charge.failure_message = decline.message;
  charge.outcome = {
    ...charge.outcome!,
    network_status: "declined_by_network",
    network_decline_code: decline.networkDeclineCode,
    reason: decline.declineCode,
    type: "issuer_declined",
  };
}

function settleIntent(
  account: Account,
  intent: Stripe.PaymentIntent,
  charge: Stripe.Charge,
  method: Stripe.PaymentMethod,
  decline: DeclineFacts | null,
) {
  if (decline === null) {
    intent.status = "succeeded";
    intent.amount_received = charge.amount;
    intent.last_payment_error = null;
    account.emit("charge.succeeded", charge);
    account.emit("payment_intent.succeeded", intent);
    return;
  }
  intent.status = decline.declineCode === "authentication_required" ? "requires_action" : "requires_payment_method";
  intent.last_payment_error = {
    ...paymentErrorOf(charge, decline),
    payment_method: method,
  } as Stripe.PaymentIntent.LastPaymentError;
  account.emit("charge.failed", charge);
  account.emit("payment_intent.payment_failed", intent);
}

/** A decline as an error in answers and in `last_payment_error`. */
export const paymentErrorOf = (charge: Stripe.Charge, decline: DeclineFacts) => ({
  type: "card_error",
  charge: charge.id,
  code: decline.code,
  message: decline.message,
  ...(decline.declineCode && { decline_code: decline.declineCode }),
  ...(decline.networkDeclineCode && { network_decline_code: decline.networkDeclineCode }),
  ...(decline.networkAdviceCode && { network_advice_code: decline.networkAdviceCode }),
  ...(decline.adviceCode && { advice_code: decline.adviceCode }),
});

/** Reads a failed charge's decline again. */
export const declineOf = ({ failure_code, failure_message, outcome }: Stripe.Charge): DeclineFacts => ({
  code: failure_code!,
  declineCode: outcome?.reason ?? null,
  message: failure_message!,
  networkDeclineCode: outcome?.network_decline_code ?? null,
  networkAdviceCode: outcome?.network_advice_code ?? null,
  adviceCode: outcome?.advice_code ?? null,
  isSent: outcome?.network_status !== "not_sent_to_network",
});
