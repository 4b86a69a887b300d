import Stripe from "stripe";
import type { Pacer } from "../kit/pacer.ts";

/** The version that the mapping is written for. Stripe answers in it whatever the account's default is. */
export const API_VERSION = "2026-10-28.endive";

/** An invoice with everything that Dunlin hears about it. */
export interface InvoiceFacts {
  invoice: Stripe.Invoice;
  subscription: Stripe.Subscription | null;
  charges: Stripe.Charge[];
}

/** How a charge by request ended. */
export type PayOutcome =
  | { kind: "charged"; chargeId: string | null }
  | { kind: "declined"; chargeId: string | null; message: string }
  /** Nothing was charged: the invoice is paid, void, or being debited. */
  | { kind: "refused"; message: string }
  /** It may have been charged: ask again under the same key. */
  | { kind: "unknown"; message: string };

/** The calls of a connector, paced below the account's rate limit. */
export interface StripeAccount {
  readInvoice(id: string): Promise<InvoiceFacts | null>;
  readSubscription(id: string): Promise<Stripe.Subscription | null>;
  /** Charges an open invoice on the customer's method, once per key and day. */
  pay(invoiceId: string, idempotencyKey: string): Promise<PayOutcome>;
  /** Sets the mark on an invoice that Dunlin handles; an empty mark is removed. `isRetried`: whether Stripe retries it; undefined: as it is. */
  markInvoice(invoiceId: string, mark: string, isRetried?: boolean): Promise<void>;
  markUncollectible(invoiceId: string): Promise<void>;
  cancelSubscription(id: string): Promise<void>;
  /** Events since a time in seconds, oldest first. */
  listEvents(types: readonly string[], since: number): AsyncIterable<Stripe.Event>;
  /** Invoices created since a time in seconds, newest first. `after`: an id to continue behind. */
  pageInvoices(since: number, after: string | undefined): Promise<{ ids: string[]; hasMore: boolean }>;
  invoiceOfCharge(charge: Pick<Stripe.Charge, "payment_intent">): Promise<string | null>;
}

export const OWNER_MARK = "dunlin";

export function createStripeAccount(stripe: Stripe, pace: Pacer): StripeAccount {
  const ofInvoice = async (invoice: string) => {
    const payments = await pace(() => stripe.invoicePayments.list({ invoice, limit: 100 }));
    return payments.data.flatMap(({ payment }) => idOf(payment.payment_intent) ?? []);
  };
  const chargesOf = async (intent: string) =>
    (await pace(() => stripe.charges.list({ payment_intent: intent, limit: 100 }))).data;
  return {
    async readInvoice(id) {
      const invoice = await pace(() => stripe.invoices.retrieve(id)).catch(nullIfMissing);
      if (!invoice) return null;
      const subscriptionId = idOf(invoice.parent?.subscription_details?.subscription);
      const charges: Stripe.Charge[] = [];
      for (const intent of await ofInvoice(id)) charges.push(...(await chargesOf(intent)));
      const subscription =
        subscriptionId === undefined
          ? null
          : await pace(() => stripe.subscriptions.retrieve(subscriptionId)).catch(nullIfMissing);
      return { invoice, subscription, charges };
    },
    readSubscription: (id) => pace(() => stripe.subscriptions.retrieve(id)).catch(nullIfMissing),
    async pay(invoiceId, idempotencyKey) {
      try {
        const options = { idempotencyKey };
        await pace(() => stripe.invoices.pay(invoiceId, { off_session: true }, options));
        return { kind: "charged", chargeId: await latestCharge(invoiceId) };
      } catch (error) {
        return readPayError(error);
      }
    },
    async markInvoice(invoiceId, mark, isRetried) {
      const params = { metadata: { [OWNER_MARK]: mark }, ...(isRetried !== undefined && { auto_advance: isRetried }) };
      await pace(() => stripe.invoices.update(invoiceId, params));
    },
    async markUncollectible(invoiceId) {
      await pace(() => stripe.invoices.markUncollectible(invoiceId)).catch(ignoreRefusal);
    },
    async cancelSubscription(id) {
      await pace(() => stripe.subscriptions.cancel(id)).catch(ignoreRefusal);
    },
    async *listEvents(types, since) {
      // Stripe lists the newest first; the walk keeps ids only, and reads them from the end.
      const found: Stripe.Event[] = [];
      let after: string | undefined;
      for (;;) {
        const params = { types: [...types], created: { gte: since }, limit: 100 };
        const page = await pace(() =>
          stripe.events.list(after === undefined ? params : { ...params, starting_after: after }),
        );
        found.push(...page.data);
        after = page.data.at(-1)?.id;
        if (!page.has_more || after === undefined) break;
      }
      yield* found.reverse();
    },
    async pageInvoices(since, after) {
      const params = { created: { gte: since }, limit: 100 };
      const page = await pace(() =>
        stripe.invoices.list(after === undefined ? params : { ...params, starting_after: after }),
      );
      return { ids: page.data.map(({ id }) => id), hasMore: page.has_more };
    },
    async invoiceOfCharge({ payment_intent }) {
      const intent = idOf(payment_intent);
      if (intent === undefined) return null;
      const params = { payment: { type: "payment_intent", payment_intent: intent } } as const;
      const payments = await pace(() => stripe.invoicePayments.list(params));
      return idOf(payments.data[0]?.invoice) ?? null;
    },
  };

  async function latestCharge(invoiceId: string): Promise<string | null> {
    const charges = (await Promise.all((await ofInvoice(invoiceId)).map(chargesOf))).flat();
    return charges.toSorted((a, b) => b.created - a.created)[0]?.id ?? null;
  }
}

const idOf = (value: string | { id: string } | null | undefined): string | undefined =>
  (typeof value === "string" ? value : value?.id) ?? undefined;

function nullIfMissing(error: unknown): null {
  if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === "resource_missing") return null;
  throw error;
}

/** The object is in that state already. */
function ignoreRefusal(error: unknown) {
  if (error instanceof Stripe.errors.StripeInvalidRequestError) return;
  throw error;
}

function readPayError(error: unknown): PayOutcome {
  if (error instanceof Stripe.errors.StripeCardError)
    return { kind: "declined", chargeId: idOf(error.charge as string | undefined) ?? null, message: error.message };
  if (error instanceof Stripe.errors.StripeInvalidRequestError) return { kind: "refused", message: error.message };
  return { kind: "unknown", message: (error as Error).message };
}
