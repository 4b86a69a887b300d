import Stripe from "stripe";
import type { Pacer } from "../kit/pacer.ts";

/** The version that the mapping is written for. Stripe answers in it whatever the account's default is. */
export const API_VERSION = "2026-10-28.endive";

/** An invoice with everything that Dunlin hears about it. */
export interface InvoiceFacts {
  invoice: Stripe.Invoice;
  subscription: Stripe.Subscription | null;
  charges: Stripe.Charge[];
  /** Disputed charges that the merchant won: the money came back. */
  wonCharges: ReadonlySet<string>;
}

/** How a charge by request ended. */
export type PayOutcome =
  | { kind: "charged"; chargeId: string | null }
  | { kind: "declined"; chargeId: string | null; message: string; code: string | null }
  /** Nothing was charged: the invoice is paid, void, or being debited, or there is no method to charge. */
  | { kind: "refused"; message: string; code: string | null }
  /** It may have been charged: ask again under the same key. */
  | { kind: "unknown"; message: string };

/** A page of a list, newest first. */
export interface Page<T> {
  rows: T[];
  hasMore: boolean;
}

export interface PageQuery {
  /** Seconds; older objects are left out. */
  since: number;
  /** The last object of the page before. If it was deleted meanwhile, the list goes on by its time. */
  after: { id: string; created: number } | undefined;
}

/** The calls of a connector, paced below the account's rate limit. */
export interface StripeAccount {
  readFacts(invoiceId: string): Promise<InvoiceFacts | null>;
  /** The invoice alone, by one call. */
  readInvoice(id: string): Promise<Stripe.Invoice | null>;
  readSubscription(id: string): Promise<Stripe.Subscription | null>;
  readCustomer(id: string): Promise<Stripe.Customer | null>;
  /** The payment method that the next charge of an invoice uses; null: none, or not known. */
  readNextMethod(
    invoice: Stripe.Invoice,
    subscription: Stripe.Subscription | null,
  ): Promise<Stripe.PaymentMethod | null>;
  /** Charges an open invoice on the customer's method, once per key and day. */
  pay(invoiceId: string, idempotencyKey: string): Promise<PayOutcome>;
  /**
   * Finds the charge that a request with this key made, by its event. Stripe keeps events for 30 days.
   *
   * @param since  when the request was first sent, by this machine's clock
   */
  findChargeByKey(idempotencyKey: string, since: Date): Promise<Stripe.Charge | null>;
  /** Sets the mark on an invoice that Dunlin handles; an empty mark is removed. `isRetried`: whether Stripe retries it; undefined: as it is. */
  markInvoice(invoiceId: string, mark: string, isRetried?: boolean): Promise<void>;
  /** Returns whether the invoice is uncollectible now. */
  markUncollectible(invoiceId: string): Promise<boolean>;
  /** Returns whether the subscription is canceled now. */
  cancelSubscription(id: string): Promise<boolean>;
  /** Events since a time in seconds, newest first. */
  listEvents(types: readonly string[], since: number): AsyncIterable<Stripe.Event>;
  /** With their payments. */
  pageInvoices(query: PageQuery): Promise<Page<Stripe.Invoice>>;
  pageCharges(query: PageQuery): Promise<Page<Stripe.Charge>>;
  pageSubscriptions(query: PageQuery): Promise<Page<Stripe.Subscription>>;
  /** Disputed charges that the merchant won. */
  findWonDisputes(charges: readonly Stripe.Charge[]): Promise<Set<string>>;
  invoiceOfPayment(paymentIntentId: string): Promise<string | null>;
}

export const OWNER_MARK = "dunlin";
const PAGE_SIZE = 100;
const CHARGE_EVENTS = ["charge.succeeded", "charge.pending", "charge.failed"];
/** Between this machine's clock and Stripe's. */
const CLOCK_SKEW_S = 3_600;

/** Whether Stripe charges invoices of a subscription by itself. It stops when the subscription ends. */
export const isCollecting = ({ status }: Pick<Stripe.Subscription, "status">) =>
  status !== "canceled" && status !== "incomplete_expired";

export const isRateLimit = (error: unknown): boolean => error instanceof Stripe.errors.StripeRateLimitError;

export function createStripeAccount(stripe: Stripe, pace: Pacer): StripeAccount {
  const chargesOf = async (intent: string) =>
    (await pace(() => stripe.charges.list({ payment_intent: intent, limit: PAGE_SIZE }))).data;
  async function paymentsOf(invoice: Stripe.Invoice): Promise<Stripe.InvoicePayment[]> {
    const { payments, id } = invoice;
    if (payments && !payments.has_more) return payments.data;
    return (await pace(() => stripe.invoicePayments.list({ invoice: id, limit: PAGE_SIZE }))).data;
  }
  async function chargesOfInvoice(invoice: Stripe.Invoice): Promise<Stripe.Charge[]> {
    const charges: Stripe.Charge[] = [];
    for (const { payment } of await paymentsOf(invoice)) {
      const [intent, charge] = [idOf(payment.payment_intent), idOf(payment.charge)];
      if (intent !== undefined) charges.push(...(await chargesOf(intent)));
      else if (charge !== undefined) charges.push(await pace(() => stripe.charges.retrieve(charge)));
    }
    return charges;
  }
  /** A lost dispute, and one that is not decided, keep the money. */
  async function findWonDisputes(charges: readonly Stripe.Charge[]): Promise<Set<string>> {
    const won = new Set<string>();
    for (const { id, disputed } of charges) {
      if (!disputed) continue;
      const { data } = await pace(() => stripe.disputes.list({ charge: id, limit: 10 }));
      if (data.length > 0 && data.every(({ status }) => status === "won" || status === "warning_closed")) won.add(id);
    }
    return won;
  }
  async function readCustomer(id: string): Promise<Stripe.Customer | null> {
    const customer = await pace(() => stripe.customers.retrieve(id)).catch(nullIfMissing);
    return customer === null || customer.deleted ? null : customer;
  }
  async function* listEvents(types: readonly string[], since: number): AsyncGenerator<Stripe.Event> {
    let after: string | undefined;
    for (;;) {
      const params = { types: [...types], created: { gte: since }, limit: PAGE_SIZE };
      const { data, has_more } = await pace(() =>
        stripe.events.list(after === undefined ? params : { ...params, starting_after: after }),
      ).catch((error) => {
        if (after === undefined || !isStartMissing(error)) throw error;
        // Stripe forgot it after 30 days, and all older events with it.
        return { data: [], has_more: false };
      });
      yield* data;
      after = data.at(-1)?.id;
      if (!has_more || after === undefined) break;
    }
  }
  async function page<T>(
    list: (params: Stripe.PaginationParams & { created: Stripe.RangeQueryParam }) => Promise<Stripe.ApiList<T>>,
    { since, after }: PageQuery,
  ): Promise<Page<T>> {
    const params = { created: { gte: since }, limit: PAGE_SIZE };
    const { data, has_more } = await pace(() =>
      list(after === undefined ? params : { ...params, starting_after: after.id }),
    ).catch((error) => {
      if (after === undefined || !isStartMissing(error)) throw error;
      return pace(() => list({ ...params, created: { gte: since, lte: after.created } }));
    });
    return { rows: data, hasMore: has_more };
  }
  return {
    async readFacts(id) {
      const expand = ["payments", "parent.subscription_details.subscription"];
      const invoice = await pace(() => stripe.invoices.retrieve(id, { expand })).catch(nullIfMissing);
      if (!invoice) return null;
      const subscription = invoice.parent?.subscription_details?.subscription;
      const charges = await chargesOfInvoice(invoice);
      return {
        invoice,
        subscription: typeof subscription === "object" ? (subscription ?? null) : null,
        charges,
        wonCharges: await findWonDisputes(charges),
      };
    },
    readInvoice: (id) => pace(() => stripe.invoices.retrieve(id)).catch(nullIfMissing),
    readSubscription: (id) => pace(() => stripe.subscriptions.retrieve(id)).catch(nullIfMissing),
    readCustomer,
    async readNextMethod(invoice, subscription) {
      // Older integrations keep cards as sources. Stripe returns those as payment methods too.
      const own =
        idOf(invoice.default_payment_method) ??
        idOf(invoice.default_source) ??
        idOf(subscription?.default_payment_method) ??
        idOf(subscription?.default_source);
      const customerId = idOf(invoice.customer);
      if (own === undefined && customerId === undefined) return null;
      const customer = own === undefined ? await readCustomer(customerId!) : null;
      const id = own ?? idOf(customer?.invoice_settings.default_payment_method) ?? idOf(customer?.default_source);
      return id === undefined ? null : await pace(() => stripe.paymentMethods.retrieve(id)).catch(nullIfMissing);
    },
    async pay(invoiceId, idempotencyKey) {
      try {
        const options = { idempotencyKey };
        const paid = await pace(() =>
          stripe.invoices.pay(invoiceId, { off_session: true, expand: ["payments"] }, options),
        );
        const charges = await chargesOfInvoice(paid);
        return { kind: "charged", chargeId: charges.toSorted((a, b) => b.created - a.created)[0]?.id ?? null };
      } catch (error) {
        return readPayError(error);
      }
    },
    async markInvoice(invoiceId, mark, isRetried) {
      const params = { metadata: { [OWNER_MARK]: mark }, ...(isRetried !== undefined && { auto_advance: isRetried }) };
      await pace(() => stripe.invoices.update(invoiceId, params));
    },
    async findChargeByKey(idempotencyKey, since) {
      const from = Math.floor(since.getTime() / 1_000) - CLOCK_SKEW_S;
      for await (const { request, data } of listEvents(CHARGE_EVENTS, from))
        if (request?.idempotency_key === idempotencyKey) return data.object as Stripe.Charge;
      return null;
    },
    async markUncollectible(invoiceId) {
      await pace(() => stripe.invoices.markUncollectible(invoiceId)).catch(ignoreRefusal);
      return (await pace(() => stripe.invoices.retrieve(invoiceId))).status === "uncollectible";
    },
    async cancelSubscription(id) {
      await pace(() => stripe.subscriptions.cancel(id)).catch(ignoreRefusal);
      const subscription = await pace(() => stripe.subscriptions.retrieve(id)).catch(nullIfMissing);
      return subscription === null || !isCollecting(subscription);
    },
    listEvents,
    pageInvoices: (query) => page((params) => stripe.invoices.list({ ...params, expand: ["data.payments"] }), query),
    pageCharges: (query) => page((params) => stripe.charges.list(params), query),
    pageSubscriptions: (query) => page((params) => stripe.subscriptions.list({ ...params, status: "all" }), query),
    findWonDisputes,
    async invoiceOfPayment(paymentIntentId) {
      const params = { payment: { type: "payment_intent", payment_intent: paymentIntentId } } as const;
      const payments = await pace(() => stripe.invoicePayments.list(params));
      return idOf(payments.data[0]?.invoice) ?? null;
    },
  };
}

export const idOf = (value: string | { id: string } | null | undefined): string | undefined =>
  (typeof value === "string" ? value : value?.id) ?? undefined;

function nullIfMissing(error: unknown): null {
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === "resource_missing") return null;
  throw error;
}

/** The object after which a list was to go on. */
const isStartMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError &&
  (error.param === "starting_after" || error.code === "resource_missing");

/** The object is in that state already. */
function ignoreRefusal(error: unknown) {
  if (error instanceof Stripe.errors.StripeInvalidRequestError) return;
  throw error;
}

function readPayError(error: unknown): PayOutcome {
  if (error instanceof Stripe.errors.StripeCardError)
    return {
      kind: "declined",
      chargeId: idOf(error.charge as string | undefined) ?? null,
      message: error.message,
      code: error.code ?? null,
    };
  if (error instanceof Stripe.errors.StripeInvalidRequestError)
    return { kind: "refused", message: error.message, code: error.code ?? null };
  return { kind: "unknown", message: (error as Error).message };
}
