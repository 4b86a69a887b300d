import type { WebhookEvent } from "#sdk";
import { cardChangeDelayMs, willPayWithNewCard } from "../world/customer-behavior.ts";
import { writeOff } from "./bill-subscriptions.ts";
import { payWithNewCard, putNewCardOnFile, retryInvoice } from "./charge-invoices.ts";
import type { BookedInvoice } from "./merchant-books.ts";
import type { MerchantState } from "./merchant-state.ts";
import { formatDay } from "./terminal-lines.ts";

/** A paid or given-up invoice stays as it is. */
export function followEvent(office: MerchantState, event: WebhookEvent, at: Date) {
  const invoice = office.invoices.get(event.data.invoiceId);
  if (invoice?.state !== "UNPAID") return;
  if (event.type !== "recovery_action") {
    if (event.type === "complete_dunning") {
      return writeOff(office, invoice, at, "Dunlin ends dunning, subscription canceled");
    }
    invoice.paused = true;
    return office.tell(at, invoice, "Dunlin takes over, merchant's retries paused");
  }
  const { actionSuggestion, idealRetryTime } = event.data;
  if (actionSuggestion === "ACTION_SUGGESTION_CARD_CHANGE") return mailCustomer(office, invoice, at);
  const ideal = new Date(idealRetryTime);
  office.tell(at, invoice, `Dunlin asks for a retry on ${formatDay(ideal)}`);
  // A past ideal time means at once.
  office.agenda.add(ideal.getTime(), (due) => retryInvoice(office, invoice, due, event.id));
}

function mailCustomer(office: MerchantState, invoice: BookedInvoice, at: Date) {
  const { customer } = invoice.subscription;
  const mail = ++invoice.mails;
  office.tell(at, invoice, "Dunlin asks for a new card, customer mailed");
  const delayMs = cardChangeDelayMs(customer, invoice.id, mail, invoice.attempts[0]!.reason!);
  if (delayMs === null) return;
  office.agenda.add(at.getTime() + delayMs, (due) => {
    if (invoice.state !== "UNPAID") return;
    // Only a transaction can tell Dunlin about the card. Without transactions the customer has to pay here.
    const pays = !office.pushTransactions || willPayWithNewCard(customer, invoice.id);
    if (pays) payWithNewCard(office, invoice, due);
    else putNewCardOnFile(office, invoice, due);
  });
}
