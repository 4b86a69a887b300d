import { chance, DAY_MS } from "../world/chance.ts";
import { customerOf, dueAtMs } from "../world/customer.ts";
import { inWords } from "../world/declines.ts";
import { leavingDelayMs, ownPaymentDelayMs } from "../world/people.ts";
import { attempt, payWithNewCard, retry, settle } from "./charging.ts";
import type { BookedInvoice, BookedSubscription } from "./ledger.ts";
import { newerThan, type Office } from "./office.ts";
import { subscriptionRecord } from "./records.ts";

/** Days after the failure at which an invoice is retried as long as Dunlin doesn't take it over. */
const OWN_RETRY_DAYS = [1, 3, 5, 7];
/** Two days more than Dunlin's window, so that its last retry is not too late. */
const GIVE_UP_DAYS = 30;

/** A new customer subscribes, `ageMs` before the first bill. */
export function join(office: Office, firstBillAtMs: number, ageMs: number) {
  const customer = customerOf(office.seed, office.nextCustomerNumber(), Math.ceil(firstBillAtMs));
  const createdAt = new Date(customer.firstBillAtMs - Math.ceil(ageMs));
  const subscription: BookedSubscription = {
    id: customer.id.replace("cus", "sub"),
    customer,
    state: "ACTIVE",
    createdAt,
    updatedAt: createdAt,
    canceledAt: null,
    card: { generation: 0, sinceMs: createdAt.getTime() },
    open: null,
  };
  // Nobody tells of a subscription before it exists, and Dunlin takes no record from the future.
  office.agenda.add(createdAt.getTime(), () => {
    office.outbox.subscriptions.push(subscriptionRecord(subscription));
  });
  billWhenDue(office, subscription, 0);
}

function billWhenDue(office: Office, subscription: BookedSubscription, cycle: number) {
  office.agenda.add(dueAtMs(subscription.customer, cycle), (at) => {
    if (subscription.state === "CANCELED") return;
    billWhenDue(office, subscription, cycle + 1);
    if (subscription.open === null) bill(office, subscription, at);
  });
}

function bill(office: Office, subscription: BookedSubscription, at: Date) {
  const invoice: BookedInvoice = {
    id: `inv_${String(office.invoices.size + 1).padStart(6, "0")}`,
    subscription,
    state: "UNPAID",
    amount: subscription.customer.plan.amount,
    currency: subscription.customer.currency,
    createdAt: at,
    updatedAt: at,
    attempts: [],
    paused: false,
    mails: 0,
    refused: 0,
  };
  office.invoices.set(invoice.id, invoice);
  subscription.open = invoice;
  const { reason } = attempt(office, invoice, at, "BILLING_SYSTEM");
  if (reason === null) return;
  office.tell(at, invoice, `declined: ${inWords(reason)}`);
  planAfterFailure(office, invoice, at, leavingDelayMs(subscription.customer, invoice.id, reason));
}

/** What happens to a failed invoice whether Dunlin helps or not. */
function planAfterFailure(office: Office, invoice: BookedInvoice, failedAt: Date, leavingMs: number | null) {
  const whileUnpaid = (delayMs: number | null, work: (at: Date) => void) => {
    if (delayMs === null) return;
    office.agenda.add(failedAt.getTime() + delayMs, (at) => {
      if (invoice.state === "UNPAID") work(at);
    });
  };
  for (const days of OWN_RETRY_DAYS) {
    whileUnpaid(days * DAY_MS, (at) => {
      if (!invoice.paused) retry(office, invoice, at, null);
    });
  }
  const ownPaymentMs = ownPaymentDelayMs(invoice.subscription.customer, invoice.id);
  whileUnpaid(ownPaymentMs, (at) => payWithNewCard(office, invoice, at));
  whileUnpaid(leavingMs, (at) => writeOff(office, invoice, at, "the customer canceled the subscription"));
  whileUnpaid(GIVE_UP_DAYS * DAY_MS, (at) =>
    writeOff(office, invoice, at, `given up after ${GIVE_UP_DAYS} days, subscription canceled`),
  );
}

/** The invoice will not be paid: it is uncollectible, the subscription ends, and a new customer comes some days later. */
export function writeOff(office: Office, invoice: BookedInvoice, at: Date, why: string) {
  const { subscription } = invoice;
  office.tell(at, invoice, why);
  settle(office, invoice, at, "UNCOLLECTIBLE");
  subscription.state = "CANCELED";
  subscription.canceledAt = at;
  subscription.updatedAt = newerThan(subscription.updatedAt, at);
  office.outbox.subscriptions.push(subscriptionRecord(subscription));
  const joinsAfterMs = (0.5 + 4 * chance(office.seed, "successor", subscription.id)) * DAY_MS;
  office.agenda.add(at.getTime() + joinsAfterMs, (due) => join(office, due.getTime(), 0));
}
