import { charge } from "../world/charge.ts";
import { DECLINES, inWords } from "../world/declines.ts";
import { type AttemptInitiator, type BookedAttempt, type BookedInvoice, retriesOf } from "./ledger.ts";
import { newerThan, type Office } from "./office.ts";
import { cardCheckRecord, invoiceRecord, transactionRecord } from "./records.ts";

/** Charges the card on file, books the answer and tells Dunlin. The invoice must be unpaid. */
export function attempt(
  office: Office,
  invoice: BookedInvoice,
  at: Date,
  initiator: AttemptInitiator,
  recoveryActionId: string | null = null,
) {
  const { subscription } = invoice;
  const answer = charge(subscription.customer, subscription.card, at);
  const made: BookedAttempt = {
    id: office.nextTransactionId(),
    at,
    initiator,
    recoveryActionId,
    card: subscription.card,
    reason: answer.approved ? null : answer.reason,
    adviceCode: answer.approved ? null : answer.adviceCode,
  };
  invoice.attempts.push(made);
  if (office.pushTransactions) office.outbox.transactions.push(transactionRecord(invoice, made));
  settle(office, invoice, at, answer.approved ? "PAID" : "UNPAID");
  return made;
}

/** Books a state, also when it is the same as before: the newer copy says that something was tried. */
export function settle(office: Office, invoice: BookedInvoice, at: Date, state: BookedInvoice["state"]) {
  const first = invoice.attempts.length === 1 && state !== "UNCOLLECTIBLE";
  invoice.state = state;
  if (!first) invoice.updatedAt = newerThan(invoice.updatedAt, at);
  if (state !== "UNPAID") invoice.subscription.open = null;
  office.outbox.invoices.push(invoiceRecord(invoice));
}

/**
 * Tries an unpaid invoice again, unless its card was declined for good.
 *
 * @param recoveryActionId  the event that asked for it; null when it is the merchant's own schedule
 */
export function retry(office: Office, invoice: BookedInvoice, at: Date, recoveryActionId: string | null) {
  if (invoice.state !== "UNPAID") return;
  const last = invoice.attempts.at(-1)!;
  const sameCard = last.card === invoice.subscription.card;
  if (last.reason !== null && DECLINES[last.reason].hard && sameCard) {
    // The own schedule is not an instruction: nobody waits for what becomes of it.
    if (recoveryActionId === null) return;
    invoice.refused++;
    office.tell(at, invoice, `retry refused: ${inWords(last.reason)}`);
    return;
  }
  const initiator = recoveryActionId === null ? "BILLING_SYSTEM" : "RECOVERY_ACTION";
  const { reason } = attempt(office, invoice, at, initiator, recoveryActionId);
  const name = `${recoveryActionId === null ? "own retry" : "retry"} ${retriesOf(invoice)}`;
  office.tell(at, invoice, reason === null ? `recovered at ${name}` : `${name} declined: ${inWords(reason)}`);
}

/** The customer enters a new card and pays with it. */
export function payWithNewCard(office: Office, invoice: BookedInvoice, at: Date) {
  changeCard(invoice, at);
  const { reason } = attempt(office, invoice, at, "CUSTOMER");
  const outcome = reason === null ? "recovered: paid by the customer" : `declined: ${inWords(reason)}`;
  office.tell(at, invoice, `${outcome}, with a new card`);
}

/** The customer enters a new card and leaves the charging to the merchant. */
export function putNewCardOnFile(office: Office, invoice: BookedInvoice, at: Date) {
  changeCard(invoice, at);
  office.outbox.transactions.push(cardCheckRecord(invoice, office.nextTransactionId(), at));
  office.tell(at, invoice, "the customer entered a new card");
}

function changeCard({ subscription }: BookedInvoice, at: Date) {
  subscription.card = { generation: subscription.card.generation + 1, sinceMs: at.getTime() };
}
