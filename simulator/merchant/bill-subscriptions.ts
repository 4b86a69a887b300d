import { createCustomer, dueTimeMs } from "../world/customer.ts";
import { cancellationDelayMs, unaskedPaymentDelayMs } from "../world/customer-behavior.ts";
import { describeReason } from "../world/decline-reasons.ts";
import { DAY_MS, keyedRandom } from "../world/keyed-random.ts";
import { buildSubscriptionRecord } from "./api-records.ts";
import { attemptPayment, payWithNewCard, recordState, retryInvoice } from "./charge-invoices.ts";
import type { BookedInvoice, BookedSubscription } from "./merchant-books.ts";
import { type MerchantState, newerDate } from "./merchant-state.ts";

/** After the failure, for an invoice that Dunlin has not taken over. */
const MERCHANT_RETRY_DAYS = [1, 3, 5, 7];
/** Two days more than Dunlin's window, so its last retry is not too late. */
const GIVE_UP_DAYS = 30;

/** For a new customer, `ageMs` before the first invoice. */
export function addSubscription(office: MerchantState, firstBillAtMs: number, ageMs: number) {
  const customer = createCustomer(office.seed, office.nextCustomerNumber(), Math.ceil(firstBillAtMs));
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
  // Pushed only once it exists, because Dunlin rejects records from the future.
  office.agenda.add(createdAt.getTime(), () => {
    office.outbox.subscriptions.push(buildSubscriptionRecord(subscription));
  });
  scheduleInvoice(office, subscription, 0);
}

function scheduleInvoice(office: MerchantState, subscription: BookedSubscription, cycle: number) {
  office.agenda.add(dueTimeMs(subscription.customer, cycle), (at) => {
    if (subscription.state === "CANCELED") return;
    scheduleInvoice(office, subscription, cycle + 1);
    if (subscription.open === null) chargeInvoice(office, subscription, at);
  });
}

function chargeInvoice(office: MerchantState, subscription: BookedSubscription, at: Date) {
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
  const { reason } = attemptPayment(office, invoice, at, "BILLING_SYSTEM");
  if (reason === null) return;
  office.tell(at, invoice, `declined: ${describeReason(reason)}`);
  scheduleAfterFailure(office, invoice, at, cancellationDelayMs(subscription.customer, invoice.id, reason));
}

/** Events that happen with or without Dunlin. */
function scheduleAfterFailure(office: MerchantState, invoice: BookedInvoice, failedAt: Date, leavingMs: number | null) {
  const whileUnpaid = (delayMs: number | null, work: (at: Date) => void) => {
    if (delayMs === null) return;
    office.agenda.add(failedAt.getTime() + delayMs, (at) => {
      if (invoice.state === "UNPAID") work(at);
    });
  };
  for (const days of MERCHANT_RETRY_DAYS) {
    whileUnpaid(days * DAY_MS, (at) => {
      if (!invoice.paused) retryInvoice(office, invoice, at, null);
    });
  }
  const ownPaymentMs = unaskedPaymentDelayMs(invoice.subscription.customer, invoice.id);
  whileUnpaid(ownPaymentMs, (at) => payWithNewCard(office, invoice, at));
  whileUnpaid(leavingMs, (at) => writeOff(office, invoice, at, "the customer canceled the subscription"));
  whileUnpaid(GIVE_UP_DAYS * DAY_MS, (at) =>
    writeOff(office, invoice, at, `given up after ${GIVE_UP_DAYS} days, subscription canceled`),
  );
}

/** The invoice becomes uncollectible, the subscription ends, and a new customer comes some days later. */
export function writeOff(office: MerchantState, invoice: BookedInvoice, at: Date, why: string) {
  const { subscription } = invoice;
  office.tell(at, invoice, why);
  recordState(office, invoice, at, "UNCOLLECTIBLE");
  subscription.state = "CANCELED";
  subscription.canceledAt = at;
  subscription.updatedAt = newerDate(subscription.updatedAt, at);
  office.outbox.subscriptions.push(buildSubscriptionRecord(subscription));
  const joinsAfterMs = (0.5 + 4 * keyedRandom(office.seed, "successor", subscription.id)) * DAY_MS;
  office.agenda.add(at.getTime() + joinsAfterMs, (due) => addSubscription(office, due.getTime(), 0));
}
