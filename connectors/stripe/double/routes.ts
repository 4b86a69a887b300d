import type Stripe from "stripe";
import { type Account, INDEXED, type StoredObject } from "./account.ts";
import type { Billing } from "./billing.ts";
import { addInterval } from "./billing.ts";
import type { FormFields } from "./form-body.ts";
import { answerList, flagOf, mergeMetadata, numberOf, textOf } from "./lists.ts";
import {
  type Interval,
  listOf,
  makeCustomer,
  makeInvoice,
  makePaymentMethod,
  makePrice,
  makeSubscription,
} from "./objects.ts";
import { invalidRequest } from "./stripe-error.ts";
import { type MethodReasons, testCardOf } from "./world-bank.ts";

export interface RouteContext {
  account: Account;
  billing: Billing;
  /** Why the documented test cards are declined. */
  reasons: MethodReasons;
  /** Ids in the path, in order. */
  ids: readonly string[];
  fields: FormFields;
}

export interface Route {
  method: "GET" | "POST" | "DELETE";
  /** `:id` stands for an id. */
  path: string;
  /** The permission of a restricted key, such as `invoice_read`; null: any key. */
  scope: string | null;
  answer(context: RouteContext): object;
}

const get = (path: string, scope: string | null, answer: Route["answer"]): Route => ({
  ...{ method: "GET", path, scope, answer },
});
const post = (path: string, scope: string | null, answer: Route["answer"]): Route => ({
  ...{ method: "POST", path, scope, answer },
});
const byId =
  (kind: string): Route["answer"] =>
  ({ account, ids }) =>
    account.get(kind, ids[0]!);
/** Filters by fields of the query; one that is indexed finds the rows. */
const list =
  <T extends StoredObject>(
    kind: string,
    path: string,
    filters: Readonly<Record<string, (object: T) => unknown>> = {},
  ): Route["answer"] =>
  ({ account, fields }) => {
    const given = Object.entries(filters).filter(([name]) => textOf(fields[name]) !== undefined);
    const indexed = given.find(([name]) => INDEXED[kind]?.[name]);
    const rows = indexed ? account.listBy<T>(kind, indexed[0], textOf(fields[indexed[0]])!) : account.list<T>(kind);
    return answerList(rows, fields, path, (object) => given.every(([name, read]) => read(object) === fields[name]));
  };

const invoiceOf = ({ account, ids }: RouteContext) => account.get<Stripe.Invoice>("invoice", ids[0]!);
const subscriptionIdOf = ({ parent }: Stripe.Invoice) => parent?.subscription_details?.subscription ?? null;

/** An amount that an invoice will ask for. */
interface PendingItem extends StoredObject {
  amount: number;
  customer: string;
  /** Null: the next invoice that includes pending items. */
  invoice: string | null;
}

function addToDraft(invoice: Stripe.Invoice, amount: number) {
  if (invoice.status !== "draft") throw invalidRequest("The invoice is not a draft any more.", { param: "invoice" });
  for (const field of ["amount_due", "amount_remaining", "subtotal", "total"] as const) invoice[field] += amount;
}

const listInvoicePayments = list<Stripe.InvoicePayment>("invoice_payment", "/v1/invoice_payments", {
  invoice: ({ invoice }) => invoice,
  payment_intent: ({ payment }) => payment.payment_intent,
  status: ({ status }) => status,
});

export const ROUTES: readonly Route[] = [
  get("/v1/account", null, ({ account }) => ({
    id: account.id,
    object: "account",
    country: "DE",
    default_currency: "eur",
  })),

  get("/v1/events", "event_read", (context) => {
    const types = context.fields.types as string[] | undefined;
    return answerList(
      context.account.list<Stripe.Event>("event"),
      context.fields,
      "/v1/events",
      ({ type }) => (types === undefined || types.includes(type)) && (context.fields.type ?? type) === type,
    );
  }),
  get("/v1/events/:id", "event_read", byId("event")),

  get(
    "/v1/customers",
    "customer_read",
    list<Stripe.Customer>("customer", "/v1/customers", { email: ({ email }) => email }),
  ),
  get("/v1/customers/:id", "customer_read", byId("customer")),
  post("/v1/customers", "customer_write", ({ account, fields }) => {
    const customer = account.add(
      makeCustomer(account, {
        email: textOf(fields.email) ?? null,
        name: textOf(fields.name) ?? null,
        ...(fields.preferred_locales && { preferred_locales: fields.preferred_locales as string[] }),
        metadata: mergeMetadata({}, fields.metadata),
        test_clock: textOf(fields.test_clock) ?? null,
      }),
    );
    account.emit("customer.created", customer);
    return customer;
  }),
  post("/v1/customers/:id", "customer_write", ({ account, ids, fields }) => {
    const customer = account.get<Stripe.Customer>("customer", ids[0]!);
    const settings = fields.invoice_settings as FormFields | undefined;
    const method = settings && textOf(settings.default_payment_method);
    if (method !== undefined) {
      account.get("payment_method", method);
      customer.invoice_settings.default_payment_method = method;
    }
    customer.default_source = textOf(fields.default_source) ?? customer.default_source;
    customer.metadata = mergeMetadata(customer.metadata, fields.metadata);
    account.emit("customer.updated", customer);
    return customer;
  }),

  get("/v1/payment_methods/:id", "payment_method_read", byId("payment_method")),
  get(
    "/v1/payment_methods",
    "payment_method_read",
    list<Stripe.PaymentMethod>("payment_method", "/v1/payment_methods", { customer: ({ customer }) => customer }),
  ),
  post("/v1/payment_methods/:id/attach", "payment_method_write", ({ account, ids, fields, reasons }) => {
    const customer = account.get<Stripe.Customer>("customer", textOf(fields.customer) ?? "");
    const test = testCardOf(ids[0]!);
    const method = test
      ? account.add(makePaymentMethod(account, customer.id, "card", test.card))
      : account.get<Stripe.PaymentMethod>("payment_method", ids[0]!);
    if (test?.reason) reasons.set(method.id, test.reason);
    method.customer = customer.id;
    account.emit("payment_method.attached", method);
    return method;
  }),

  post("/v1/prices", "plan_write", ({ account, fields }) => {
    const recurring = (fields.recurring ?? { interval: "month" }) as FormFields;
    return account.add(
      makePrice(account, {
        unitAmount: numberOf(fields.unit_amount, "unit_amount") ?? 0,
        currency: textOf(fields.currency) ?? "usd",
        interval: (textOf(recurring.interval) ?? "month") as Interval,
        intervalCount: numberOf(recurring.interval_count, "recurring[interval_count]") ?? 1,
        product: textOf(fields.product) ?? "prod_double",
      }),
    );
  }),

  get("/v1/subscriptions", "subscription_read", (context) =>
    answerList(
      context.account.list<Stripe.Subscription>("subscription"),
      context.fields,
      "/v1/subscriptions",
      ({ customer, status }) =>
        (context.fields.customer ?? customer) === customer &&
        (context.fields.status === "all" ||
          (context.fields.status ?? (status === "canceled" ? "" : status)) === status),
    ),
  ),
  get("/v1/subscriptions/:id", "subscription_read", byId("subscription")),
  post("/v1/subscriptions", "subscription_write", ({ account, billing, fields }) => {
    const customer = account.get<Stripe.Customer>("customer", textOf(fields.customer) ?? "");
    const [item] = (fields.items ?? []) as FormFields[];
    const price = account.get<Stripe.Price>("price", textOf(item?.price) ?? "");
    const start = account.seconds((customer.test_clock as string | null | undefined) ?? null);
    const periodEnd = addInterval(start, price.recurring!);
    const metadata = mergeMetadata({}, fields.metadata);
    const subscription = account.add(makeSubscription(account, customer, price, { start, periodEnd, metadata }));
    subscription.default_payment_method = textOf(fields.default_payment_method) ?? null;
    billing.startSubscription(subscription);
    return subscription;
  }),
  post("/v1/subscriptions/:id", "subscription_write", ({ account, ids, fields }) => {
    const subscription = account.get<Stripe.Subscription>("subscription", ids[0]!);
    subscription.metadata = mergeMetadata(subscription.metadata, fields.metadata);
    subscription.default_payment_method =
      textOf(fields.default_payment_method) ?? (subscription.default_payment_method as string | null);
    account.emit("customer.subscription.updated", subscription);
    return subscription;
  }),
  {
    ...{ method: "DELETE", path: "/v1/subscriptions/:id", scope: "subscription_write" },
    answer({ account, billing, ids }) {
      const subscription = account.get<Stripe.Subscription>("subscription", ids[0]!);
      billing.cancel(subscription);
      return subscription;
    },
  },

  get(
    "/v1/invoices",
    "invoice_read",
    list<Stripe.Invoice>("invoice", "/v1/invoices", {
      customer: ({ customer }) => customer,
      status: ({ status }) => status,
      subscription: subscriptionIdOf,
    }),
  ),
  get("/v1/invoices/:id", "invoice_read", invoiceOf),
  post("/v1/products", "product_write", ({ account, fields }) =>
    account.add({
      ...{ id: textOf(fields.id) ?? account.newId("prod"), object: "product", active: true, attributes: [] },
      ...{ created: account.seconds(), default_price: null, description: textOf(fields.description) ?? null },
      ...{ images: [], livemode: account.livemode, marketing_features: [], metadata: {}, shippable: null },
      ...{ name: textOf(fields.name) ?? "", package_dimensions: null, tax_code: null, type: "service" },
      ...{ unit_label: null, updated: account.seconds(), url: null },
    }),
  ),
  get("/v1/products/:id", "product_read", byId("product")),
  post("/v1/invoiceitems", "invoice_write", (context) => {
    const { account, fields } = context;
    const customer = account.get<Stripe.Customer>("customer", textOf(fields.customer) ?? "");
    const amount = numberOf(fields.amount, "amount") ?? numberOf(fields.unit_amount, "unit_amount") ?? 0;
    const invoiceId = textOf(fields.invoice);
    const item = account.add<PendingItem>({
      ...{ id: account.newId("ii"), object: "invoiceitem", amount, created: account.seconds(), customer: customer.id },
      ...{ currency: textOf(fields.currency) ?? "usd", invoice: invoiceId ?? null, livemode: account.livemode },
    });
    if (invoiceId !== undefined) addToDraft(account.get("invoice", invoiceId), amount);
    account.emit("invoiceitem.created", item);
    return item;
  }),
  get("/v1/invoiceitems/:id", "invoice_read", byId("invoiceitem")),

  post("/v1/invoices", "invoice_write", ({ account, fields }) => {
    const customer = account.get<Stripe.Customer>("customer", textOf(fields.customer) ?? "");
    const now = account.seconds((customer.test_clock as string | null | undefined) ?? null);
    const isIncluded = textOf(fields.pending_invoice_items_behavior) === "include";
    const pending = account
      .list<PendingItem>("invoiceitem")
      .filter((item) => isIncluded && item.customer === customer.id && item.invoice === null);
    const invoice = account.add(
      makeInvoice(account, customer, null, {
        amount: pending.reduce((sum, { amount }) => sum + amount, 0),
        currency: textOf(fields.currency) ?? "usd",
        billingReason: "manual",
        periodStart: now,
        periodEnd: now,
      }),
    );
    for (const item of pending) item.invoice = invoice.id;
    invoice.metadata = mergeMetadata({}, fields.metadata);
    invoice.auto_advance = flagOf(fields.auto_advance) ?? false;
    account.emit("invoice.created", invoice);
    return invoice;
  }),
  post("/v1/invoices/:id", "invoice_write", (context) => {
    const invoice = invoiceOf(context);
    const { account, billing, fields } = context;
    const previous = { auto_advance: invoice.auto_advance, metadata: invoice.metadata };
    invoice.metadata = mergeMetadata(invoice.metadata ?? {}, fields.metadata);
    const autoAdvance = flagOf(fields.auto_advance);
    if (autoAdvance !== undefined && autoAdvance !== invoice.auto_advance) billing.setAutoAdvance(invoice, autoAdvance);
    invoice.default_payment_method =
      textOf(fields.default_payment_method) ?? (invoice.default_payment_method as string | null);
    account.emit("invoice.updated", invoice, previous);
    return invoice;
  }),
  post("/v1/invoices/:id/finalize", "invoice_write", (context) => {
    context.billing.finalize(invoiceOf(context));
    return invoiceOf(context);
  }),
  post("/v1/invoices/:id/pay", "invoice_write", (context) => {
    const { billing, fields } = context;
    const invoice = invoiceOf(context);
    if (flagOf(fields.paid_out_of_band)) billing.markPaidOutOfBand(invoice);
    else
      billing.pay(invoice, {
        paymentMethod: textOf(fields.payment_method),
        onSession: flagOf(fields.off_session) === false,
      });
    return invoice;
  }),
  post("/v1/invoices/:id/mark_uncollectible", "invoice_write", (context) => {
    context.billing.markUncollectible(invoiceOf(context));
    return invoiceOf(context);
  }),
  post("/v1/invoices/:id/void", "invoice_write", (context) => {
    context.billing.voidInvoice(invoiceOf(context));
    return invoiceOf(context);
  }),
  get("/v1/invoice_payments", "invoice_read", (context) => {
    const intent = (context.fields.payment as FormFields | undefined)?.payment_intent;
    const fields = intent === undefined ? context.fields : { ...context.fields, payment_intent: intent };
    return listInvoicePayments({ ...context, fields });
  }),
  get("/v1/invoice_payments/:id", "invoice_read", byId("invoice_payment")),

  get("/v1/payment_intents/:id", "payment_intent_read", byId("payment_intent")),
  get(
    "/v1/payment_intents",
    "payment_intent_read",
    list<Stripe.PaymentIntent>("payment_intent", "/v1/payment_intents", { customer: ({ customer }) => customer }),
  ),
  get(
    "/v1/charges",
    "charge_read",
    list<Stripe.Charge>("charge", "/v1/charges", {
      customer: ({ customer }) => customer,
      payment_intent: ({ payment_intent: intent }) => intent,
    }),
  ),
  get("/v1/charges/:id", "charge_read", byId("charge")),

  get("/v1/refunds", "charge_read", list<Stripe.Refund>("refund", "/v1/refunds", { charge: ({ charge }) => charge })),
  post("/v1/refunds", "charge_write", ({ account, fields }) => {
    const charge = account.get<Stripe.Charge>("charge", textOf(fields.charge) ?? "");
    const amount = numberOf(fields.amount, "amount") ?? charge.amount - charge.amount_refunded;
    if (charge.status !== "succeeded" || amount > charge.amount - charge.amount_refunded)
      throw invalidRequest("Refund amount is greater than the unrefunded amount on the charge.", { param: "amount" });
    charge.amount_refunded += amount;
    charge.refunded = charge.amount_refunded === charge.amount;
    const refund = account.add({
      ...{ id: account.newId("re"), object: "refund", amount, balance_transaction: null, charge: charge.id },
      ...{ created: account.seconds(), currency: charge.currency, customer: charge.customer, customer_account: null },
      ...{ metadata: {}, payment_intent: charge.payment_intent, payment_method: charge.payment_method, reason: null },
      ...{ receipt_number: null, source_transfer_reversal: null, status: "succeeded", transfer_reversal: null },
    } satisfies Stripe.Refund);
    account.emit("charge.refunded", charge);
    return refund;
  }),
  get(
    "/v1/disputes",
    "dispute_read",
    list<Stripe.Dispute>("dispute", "/v1/disputes", { charge: ({ charge }) => charge }),
  ),
  get("/v1/disputes/:id", "dispute_read", byId("dispute")),
  post("/v1/credit_notes", "credit_note_write", ({ account, billing, fields }) => {
    const invoice = account.get<Stripe.Invoice>("invoice", textOf(fields.invoice) ?? "");
    const amount = numberOf(fields.amount, "amount") ?? invoice.amount_remaining;
    billing.credit(invoice, amount);
    const note = account.add({
      ...{ id: account.newId("cn"), object: "credit_note", amount, created: account.seconds(), invoice: invoice.id },
      ...{ currency: invoice.currency, customer: invoice.customer, status: "issued" },
    });
    account.emit("credit_note.created", note);
    return note;
  }),
  get(
    "/v1/credit_notes",
    "credit_note_read",
    list<StoredObject & { invoice: string }>("credit_note", "/v1/credit_notes", {
      invoice: ({ invoice }) => invoice,
    }),
  ),

  get("/v1/webhook_endpoints", "webhook_read", list("webhook_endpoint", "/v1/webhook_endpoints")),
  get("/v1/webhook_endpoints/:id", "webhook_read", byId("webhook_endpoint")),
  post("/v1/webhook_endpoints", "webhook_write", ({ account, fields }) =>
    account.add({
      ...{ id: account.newId("we"), object: "webhook_endpoint", api_version: account.apiVersion, application: null },
      ...{ created: account.seconds(), description: textOf(fields.description) ?? null, metadata: {} },
      ...{ enabled_events: (fields.enabled_events ?? ["*"]) as string[], livemode: account.livemode },
      ...{ secret: `whsec_${account.newId("s")}`, status: "enabled", url: textOf(fields.url) ?? "" },
    } satisfies Stripe.WebhookEndpoint),
  ),
  post("/v1/webhook_endpoints/:id", "webhook_write", ({ account, ids, fields }) => {
    const endpoint = account.get<Stripe.WebhookEndpoint>("webhook_endpoint", ids[0]!);
    endpoint.url = textOf(fields.url) ?? endpoint.url;
    if (fields.enabled_events) endpoint.enabled_events = fields.enabled_events as string[];
    const isDisabled = flagOf(fields.disabled);
    if (isDisabled !== undefined) endpoint.status = isDisabled ? "disabled" : "enabled";
    return endpoint;
  }),
  {
    ...{ method: "DELETE", path: "/v1/webhook_endpoints/:id", scope: "webhook_write" },
    answer({ account, ids }) {
      account.get("webhook_endpoint", ids[0]!);
      account.remove(ids[0]!);
      return { id: ids[0]!, object: "webhook_endpoint", deleted: true };
    },
  },

  post("/v1/test_helpers/test_clocks", "test_clock_write", ({ account, fields }) => {
    const frozen = numberOf(fields.frozen_time, "frozen_time");
    if (frozen === undefined) throw invalidRequest("Missing required param: frozen_time.", { param: "frozen_time" });
    const created = Math.floor(account.seconds());
    return account.add({
      ...{
        id: account.newId("clock"),
        object: "test_helpers.test_clock",
        created,
        deletes_after: created + 30 * 86_400,
      },
      ...{
        frozen_time: frozen,
        livemode: false,
        name: textOf(fields.name) ?? null,
        status: "ready",
        status_details: {},
      },
    } satisfies Stripe.TestHelpers.TestClock);
  }),
  get("/v1/test_helpers/test_clocks/:id", "test_clock_read", byId("test_helpers.test_clock")),
  get(
    "/v1/test_helpers/test_clocks",
    "test_clock_read",
    list("test_helpers.test_clock", "/v1/test_helpers/test_clocks"),
  ),
  post("/v1/test_helpers/test_clocks/:id/advance", "test_clock_write", ({ account, ids, fields }) => {
    const clock = account.get<Stripe.TestHelpers.TestClock>("test_helpers.test_clock", ids[0]!);
    const to = numberOf(fields.frozen_time, "frozen_time") ?? 0;
    if (to <= clock.frozen_time)
      throw invalidRequest("The advanced time must be in the future of the clock's current time.", {
        param: "frozen_time",
      });
    account.advanceClock(clock, to);
    return clock;
  }),
];

/** Lists that Stripe leaves out unless `expand` asks for them. */
export function expandPayments(account: Account, invoice: Stripe.Invoice): Stripe.Invoice {
  const own = [...account.listBy<Stripe.InvoicePayment>("invoice_payment", "invoice", invoice.id)].reverse();
  return { ...invoice, payments: listOf(own, `/v1/invoice_payments?invoice=${invoice.id}`) };
}
