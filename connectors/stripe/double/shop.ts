import type Stripe from "stripe";
import { chargeCard } from "../../../simulator/world/charge-card.ts";
import type { Customer } from "../../../simulator/world/customer.ts";
import {
  cancellationDelayMs,
  cardChangeDelayMs,
  unaskedPaymentDelayMs,
  willPayWithNewCard,
} from "../../../simulator/world/customer-behavior.ts";
import { DECLINES, type Reason } from "../../../simulator/world/decline-reasons.ts";
import { DAY_MS, keyedRandom } from "../../../simulator/world/keyed-random.ts";
import type { Account } from "./account.ts";
import type { Billing } from "./billing.ts";
import { addInterval } from "./billing.ts";
import { makeCustomer, makePaymentMethod, makePrice, makeSubscription } from "./objects.ts";
import { StripeApiError } from "./stripe-error.ts";
import { cardFactsOf, methodTypeOf, type WorldBank, worldCustomer } from "./world-bank.ts";

export interface ShopOptions {
  account: Account;
  billing: Billing;
  bank: WorldBank;
  seed: number;
  customers: number;
  /** The first bills follow within a month, those of yearly plans within a year. */
  startAt: Date;
  /** Whether the account itself mails customers about hard declines, while it handles an invoice. */
  accountMails: boolean;
}

/** A merchant with customers of a world: they subscribe, answer mails, pay by themselves, and leave. */
export interface Shop {
  /** Tells the shop about each event of the account. */
  onEvent(event: Stripe.Event): void;
  /** A customer gets a mail with the link to pay an invoice. */
  mail(invoiceId: string): void;
  /** Customers by the account's id. */
  customerOf(invoice: Pick<Stripe.Invoice, "customer">): Customer | undefined;
}

const FIRST_BILLS_DAYS = { MONTH: 30, YEAR: 365 };
const LOCALES: Readonly<Record<string, string>> = { DE: "de", AT: "de-AT", FR: "fr", ES: "es" };
/** The account waits with its mail, in case another system takes the invoice over. */
const MAIL_AFTER_S = 3_600;
const MAILS_MAX = 3;

export function createShop(options: ShopOptions): Shop {
  const { account, billing, bank, seed, startAt } = options;
  const generations = new Map<string, number>();
  /** Failed invoices: the reason of the first failure and the mails so far. */
  const failed = new Map<string, { reason: Reason; mails: number }>();

  for (let number = 1, added = 0; added < options.customers; number++) {
    const plan = worldCustomer(seed, number, startAt).plan.period;
    // Weekly boxes would only make the same year longer to run.
    if (plan === "WEEK") continue;
    added++;
    const afterMs = keyedRandom(seed, "first bill", number) * FIRST_BILLS_DAYS[plan] * DAY_MS;
    subscribe(worldCustomer(seed, number, new Date(Math.ceil((startAt.getTime() + afterMs) / 1_000) * 1_000)));
  }

  function subscribe(customer: Customer) {
    const made = account.add(
      makeCustomer(account, {
        email: `customer-${customer.number}@shop.example`,
        name: `Customer ${customer.number}`,
        preferred_locales: [LOCALES[customer.country] ?? "en"],
        metadata: { number: String(customer.number) },
      }),
    );
    bank.addCustomer(made.id, customer);
    const first = Math.ceil(customer.firstBillAtMs / 1_000);
    putOnFile(made, customer, 0, startAt);
    account.at(first, null, () => {
      const { amount, id, period } = customer.plan;
      const price = account.add(
        makePrice(account, {
          ...{ unitAmount: amount, currency: customer.currency.toLowerCase(), product: `prod_${id}` },
          ...{ interval: period === "YEAR" ? "year" : "month", intervalCount: 1 },
        }),
      );
      const periodEnd = addInterval(first, price.recurring!);
      billing.startSubscription(account.add(makeSubscription(account, made, price, { start: first, periodEnd })));
    });
  }

  function putOnFile(owner: Stripe.Customer, customer: Customer, generation: number, since: Date) {
    const method = account.add(
      makePaymentMethod(account, owner.id, methodTypeOf(customer), cardFactsOf(customer, generation)),
    );
    generations.set(owner.id, generation);
    bank.addMethod(method.id, generation, since);
    owner.invoice_settings.default_payment_method = method.id;
    if (generation === 0) return;
    account.emit("payment_method.attached", method);
    account.emit("customer.updated", owner);
  }

  const ownerOf = ({ customer }: Pick<Stripe.Invoice, "customer">) =>
    account.get<Stripe.Customer>("customer", customer as string);
  const atMs = () => account.seconds() * 1_000;
  /** Runs later, if the invoice is still open then. */
  const whileOpen = (invoice: Stripe.Invoice, delayMs: number | null, work: () => void) => {
    if (delayMs === null) return;
    account.at(account.seconds() + Math.ceil(delayMs / 1_000), null, () => {
      if (invoice.status === "open") work();
    });
  };

  function changeCard(owner: Stripe.Customer, customer: Customer) {
    putOnFile(owner, customer, (generations.get(owner.id) ?? 0) + 1, new Date(atMs()));
  }

  function payOnPage(invoice: Stripe.Invoice, owner: Stripe.Customer, customer: Customer) {
    changeCard(owner, customer);
    try {
      billing.pay(invoice, { onSession: true });
    } catch (error) {
      if (!(error instanceof StripeApiError)) throw error;
    }
  }

  /** The same in every run: two runs of a world differ only by what is done about it. */
  const keyOf = (invoice: Stripe.Invoice, { number }: Customer) =>
    `${number} ${new Date(invoice.period_start * 1_000).toISOString().slice(0, 10)}`;

  function onFailure(invoice: Stripe.Invoice) {
    const owner = ownerOf(invoice);
    const customer = bank.customerOf(owner.id);
    if (!customer) return;
    if (!failed.has(invoice.id)) {
      const onFile = { generation: generations.get(owner.id)!, sinceMs: 0 };
      const answer = chargeCard(customer, onFile, new Date(atMs()));
      const reason = answer.approved ? "do_not_honor" : answer.reason;
      failed.set(invoice.id, { reason, mails: 0 });
      const key = keyOf(invoice, customer);
      whileOpen(invoice, cancellationDelayMs(customer, key, reason), () => {
        const id = invoice.parent?.subscription_details?.subscription as string;
        const subscription = account.get<Stripe.Subscription>("subscription", id);
        if (subscription.status !== "canceled") billing.cancel(subscription);
      });
      whileOpen(invoice, unaskedPaymentDelayMs(customer, key), () => payOnPage(invoice, owner, customer));
    }
    const { reason } = failed.get(invoice.id)!;
    const needsCustomer = DECLINES[reason].hard || reason === "expired" || reason === "authentication";
    if (options.accountMails && needsCustomer)
      whileOpen(invoice, MAIL_AFTER_S * 1_000, () => {
        if (invoice.auto_advance) mail(invoice.id);
      });
  }

  function mail(invoiceId: string) {
    const invoice = account.find<Stripe.Invoice>("invoice", invoiceId);
    const trouble = invoice && failed.get(invoiceId);
    if (!invoice || !trouble || trouble.mails >= MAILS_MAX) return;
    const owner = ownerOf(invoice);
    const customer = bank.customerOf(owner.id)!;
    const key = keyOf(invoice, customer);
    whileOpen(invoice, cardChangeDelayMs(customer, key, ++trouble.mails, trouble.reason), () => {
      if (willPayWithNewCard(customer, key)) payOnPage(invoice, owner, customer);
      else changeCard(owner, customer);
    });
  }

  return {
    onEvent(event) {
      if (event.type !== "invoice.payment_failed") return;
      const invoice = account.find<Stripe.Invoice>("invoice", (event.data.object as Stripe.Invoice).id);
      if (invoice) onFailure(invoice);
    },
    mail,
    customerOf: ({ customer }) => bank.customerOf(customer as string),
  };
}
