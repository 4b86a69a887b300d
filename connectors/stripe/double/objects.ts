import type Stripe from "stripe";
import type { Account } from "./account.ts";

/** Makes the account's objects, with every field that the API's types require. */

export const listOf = <T>(data: T[], url: string): Stripe.ApiList<T> => ({
  object: "list",
  data,
  has_more: false,
  url,
});

export const makeCustomer = (account: Account, fields: Partial<Stripe.Customer>): Stripe.Customer => ({
  id: account.newId("cus"),
  object: "customer",
  balance: 0,
  created: account.seconds((fields.test_clock as string | undefined) ?? null),
  currency: null,
  default_source: null,
  delinquent: false,
  description: null,
  email: null,
  invoice_settings: {
    custom_fields: null,
    default_payment_method: null,
    footer: null,
    rendering_options: null,
  },
  livemode: account.livemode,
  metadata: {},
  name: null,
  phone: null,
  shipping: null,
  ...fields,
});

const EMPTY_BILLING = { address: null, email: null, name: null, phone: null, tax_id: null };

/** A card as others see it. */
export interface CardFacts {
  brand: string;
  country: string;
  expMonth: number;
  expYear: number;
  fingerprint: string;
  funding: string;
  iin: string;
  issuer: string | null;
  last4: string;
}

export const makePaymentMethod = (
  account: Account,
  customerId: string | null,
  type: "card" | "sepa_debit" | "us_bank_account",
  card: CardFacts | null,
): Stripe.PaymentMethod =>
  ({
    id: account.newId("pm"),
    object: "payment_method",
    allow_redisplay: "always",
    billing_details: EMPTY_BILLING,
    created: account.seconds(),
    customer: customerId,
    customer_account: null,
    livemode: account.livemode,
    metadata: {},
    type,
    ...(card && {
      card: {
        brand: card.brand,
        checks: null,
        country: card.country,
        display_brand: card.brand,
        exp_month: card.expMonth,
        exp_year: card.expYear,
        fingerprint: card.fingerprint,
        funding: card.funding,
        generated_from: null,
        iin: card.iin,
        issuer: card.issuer,
        last4: card.last4,
        networks: { available: [card.brand], preferred: null },
        regulated_status: "unregulated",
        three_d_secure_usage: { supported: true },
        wallet: null,
      },
    }),
  }) satisfies Stripe.PaymentMethod;

export type Interval = "day" | "week" | "month" | "year";

export const makePrice = (
  account: Account,
  fields: { unitAmount: number; currency: string; interval: Interval; intervalCount: number; product: string },
): Stripe.Price => ({
  id: account.newId("price"),
  object: "price",
  active: true,
  billing_scheme: "per_unit",
  created: account.seconds(),
  currency: fields.currency,
  custom_unit_amount: null,
  livemode: account.livemode,
  lookup_key: null,
  metadata: {},
  nickname: null,
  product: fields.product,
  recurring: {
    interval: fields.interval,
    interval_count: fields.intervalCount,
    meter: null,
    trial_period_days: null,
    usage_type: "licensed",
  },
  tax_behavior: "unspecified",
  tiers_mode: null,
  transform_quantity: null,
  type: "recurring",
  unit_amount: fields.unitAmount,
  // Text on the wire.
  unit_amount_decimal: String(fields.unitAmount) as never,
});

export function makeSubscription(
  account: Account,
  customer: Stripe.Customer,
  price: Stripe.Price,
  { start, periodEnd, metadata = {} }: { start: number; periodEnd: number; metadata?: Stripe.Metadata },
): Stripe.Subscription {
  const id = account.newId("sub");
  const item = {
    id: account.newId("si"),
    object: "subscription_item",
    billing_thresholds: null,
    created: start,
    current_period_end: periodEnd,
    current_period_start: start,
    current_trial: null,
    discounts: [],
    metadata: {},
    // The legacy twin of the price.
    plan: { ...price, object: "plan", amount: price.unit_amount, interval: price.recurring!.interval } as never,
    price,
    quantity: 1,
    subscription: id,
    tax_rates: [],
  } satisfies Stripe.SubscriptionItem;
  return {
    id,
    object: "subscription",
    application: null,
    application_fee_percent: null,
    automatic_tax: { disabled_reason: null, enabled: false, liability: null },
    billing_cycle_anchor: start,
    billing_cycle_anchor_config: null,
    billing_mode: { flexible: null, type: "classic" },
    billing_schedules: [],
    billing_thresholds: null,
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: null,
    collection_method: "charge_automatically",
    created: start,
    currency: price.currency,
    customer: customer.id,
    customer_account: null,
    days_until_due: null,
    default_payment_method: null,
    default_source: null,
    default_tax_rates: [],
    description: null,
    discounts: [],
    ended_at: null,
    invoice_settings: {
      account_tax_ids: null,
      custom_fields: null,
      description: null,
      footer: null,
      issuer: { type: "self" },
    },
    items: listOf([item], `/v1/subscription_items?subscription=${id}`),
    latest_invoice: null,
    livemode: account.livemode,
    managed_payments: null,
    metadata,
    next_pending_invoice_item_invoice: null,
    on_behalf_of: null,
    pause_collection: null,
    payment_settings: null,
    pending_invoice_item_interval: null,
    pending_setup_intent: null,
    pending_update: null,
    schedule: null,
    start_date: start,
    status: "active",
    test_clock: (customer.test_clock as string | null | undefined) ?? null,
    transfer_data: null,
    trial_end: null,
    trial_settings: null,
    trial_start: null,
  };
}

export interface InvoiceFacts {
  amount: number;
  currency: string;
  billingReason: "subscription_cycle" | "subscription_create" | "manual";
  periodStart: number;
  periodEnd: number;
}

export function makeInvoice(
  account: Account,
  customer: Stripe.Customer,
  subscription: Stripe.Subscription | null,
  { amount, currency, billingReason, periodStart, periodEnd }: InvoiceFacts,
): Stripe.Invoice {
  const id = account.newId("in");
  const clock = (customer.test_clock as string | null | undefined) ?? null;
  const created = account.seconds(clock);
  return {
    id,
    object: "invoice",
    account_country: "DE",
    account_name: "Harbor Coffee",
    account_tax_ids: null,
    amount_due: amount,
    amount_overpaid: 0,
    amount_paid: 0,
    amount_remaining: amount,
    amount_shipping: 0,
    application: null,
    attempt_count: 0,
    attempted: false,
    auto_advance: true,
    automatic_tax: { disabled_reason: null, enabled: false, liability: null, provider: null, status: null },
    automatically_finalizes_at: created + 3_600,
    billing_reason: billingReason,
    collection_method: "charge_automatically",
    created,
    currency,
    custom_fields: null,
    customer: customer.id,
    customer_account: null,
    customer_address: null,
    customer_email: customer.email,
    customer_name: customer.name ?? null,
    customer_phone: null,
    customer_shipping: null,
    customer_tax_exempt: "none",
    default_payment_method: null,
    default_source: null,
    default_tax_rates: [],
    description: null,
    discounts: [],
    due_date: null,
    effective_at: null,
    ending_balance: null,
    footer: null,
    from_invoice: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    issuer: { type: "self" },
    last_finalization_error: null,
    latest_revision: null,
    lines: listOf<Stripe.InvoiceLineItem>([], `/v1/invoices/${id}/lines`),
    livemode: account.livemode,
    metadata: {},
    next_payment_attempt: created + 3_600,
    number: null,
    on_behalf_of: null,
    parent:
      subscription === null
        ? null
        : {
            quote_details: null,
            subscription_details: { metadata: subscription.metadata, subscription: subscription.id },
            type: "subscription_details",
          },
    payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
    period_end: periodEnd,
    period_start: periodStart,
    post_payment_credit_notes_amount: 0,
    pre_payment_credit_notes_amount: 0,
    receipt_number: null,
    rendering: null,
    shipping_cost: null,
    shipping_details: null,
    starting_balance: 0,
    statement_descriptor: null,
    status: "draft",
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    subtotal: amount,
    subtotal_excluding_tax: amount,
    test_clock: clock,
    total: amount,
    total_discount_amounts: [],
    total_excluding_tax: amount,
    total_pretax_credit_amounts: [],
    total_taxes: [],
    webhooks_delivered_at: null,
  };
}

export const makeInvoicePayment = (
  account: Account,
  invoice: Stripe.Invoice,
  paymentIntentId: string,
): Stripe.InvoicePayment => ({
  id: account.newId("inpay"),
  object: "invoice_payment",
  amount_paid: null,
  amount_requested: invoice.amount_remaining,
  created: account.seconds(invoice.test_clock as string | null),
  currency: invoice.currency,
  invoice: invoice.id,
  is_default: true,
  livemode: account.livemode,
  payment: { payment_intent: paymentIntentId, type: "payment_intent" },
  status: "open",
  status_transitions: { canceled_at: null, paid_at: null },
});

export const makePaymentIntent = (account: Account, invoice: Stripe.Invoice): Stripe.PaymentIntent => {
  const id = account.newId("pi");
  return {
    id,
    object: "payment_intent",
    allowed_payment_method_types: null,
    amount: invoice.amount_remaining,
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: "automatic",
    client_secret: `${id}_secret_double`,
    confirmation_method: "automatic",
    created: account.seconds(invoice.test_clock as string | null),
    currency: invoice.currency,
    customer: invoice.customer as string,
    customer_account: null,
    description: null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: account.livemode,
    managed_payments: null,
    metadata: {},
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ["card", "sepa_debit", "us_bank_account"],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: "off_session",
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: "requires_payment_method",
    transfer_group: null,
  };
};

/** A decline as a charge's outcome and failure fields show it. */
export interface DeclineFacts {
  /** `card_declined` and others. */
  code: string;
  declineCode: string | null;
  message: string;
  networkDeclineCode: string | null;
  networkAdviceCode: string | null;
  adviceCode: string | null;
  /** Whether it reached the bank. */
  isSent: boolean;
}

export function makeCharge(
  account: Account,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  {
    status,
    decline,
    created,
  }: { status: "succeeded" | "failed" | "pending"; decline: DeclineFacts | null; created: number },
): Stripe.Charge {
  const { card } = method;
  return {
    id: account.newId(method.type === "card" ? "ch" : "py"),
    object: "charge",
    amount: intent.amount,
    amount_captured: status === "succeeded" ? intent.amount : 0,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: EMPTY_BILLING,
    calculated_statement_descriptor: "HARBOR COFFEE",
    captured: status === "succeeded",
    created,
    currency: intent.currency,
    customer: intent.customer as string,
    description: null,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: decline?.code ?? null,
    failure_message: decline?.message ?? null,
    fraud_details: {},
    livemode: account.livemode,
    metadata: {},
    on_behalf_of: null,
    outcome: {
      advice_code: (decline?.adviceCode ?? null) as Stripe.Charge.Outcome["advice_code"],
      network_advice_code: decline?.networkAdviceCode ?? null,
      network_decline_code: decline?.networkDeclineCode ?? null,
      network_status: decline
        ? decline.isSent
          ? "declined_by_network"
          : "not_sent_to_network"
        : "approved_by_network",
      reason: decline?.declineCode ?? null,
      risk_level: "normal",
      seller_message: decline ? "The bank did not return any further details." : "Payment complete.",
      type: decline ? (decline.isSent ? "issuer_declined" : "blocked") : "authorized",
    },
    paid: status === "succeeded",
    payment_intent: intent.id,
    payment_method: method.id,
    payment_method_details: {
      type: method.type,
      ...(card && {
        card: {
          amount_authorized: intent.amount,
          authorization_code: null,
          brand: card.brand,
          checks: null,
          country: card.country,
          electronic_commerce_indicator: null,
          exp_month: card.exp_month,
          exp_year: card.exp_year,
          fingerprint: card.fingerprint ?? null,
          funding: card.funding,
          iin: card.iin ?? null,
          installments: null,
          issuer: card.issuer ?? null,
          last4: card.last4,
          mandate: null,
          network: card.brand,
          network_transaction_id: null,
          regulated_status: "unregulated" as const,
          three_d_secure: null,
          transaction_link_id: null,
          wallet: null,
        },
      }),
    },
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status,
    transfer_data: null,
    transfer_group: null,
  };
}
