import { chargeCard } from "../world/charge-card.ts";
import { DECLINES, describeReason } from "../world/decline-reasons.ts";
import { buildCardCheckRecord, buildInvoiceRecord, buildTransactionRecord } from "./api-records.ts";
import { type AttemptInitiator, type BookedAttempt, type BookedInvoice, countRetries } from "./merchant-books.ts";
import { type MerchantState, newerDate } from "./merchant-state.ts";

/** Charges the card on file, books the answer and reports it. The invoice must be unpaid. */
export function attemptPayment(
  office: MerchantState,
  invoice: BookedInvoice,
  at: Date,
  initiator: AttemptInitiator,
  recoveryActionId: string | null = null,
) {
  const { subscription } = invoice;
  const answer = chargeCard(subscription.customer, subscription.card, at);
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
  if (office.pushTransactions) office.outbox.transactions.push(buildTransactionRecord(invoice, made));
  recordState(office, invoice, at, answer.approved ? "PAID" : "UNPAID");
  return made;
}

/** Booked even if it did not change: the newer version shows that a charge was attempted. */
export function recordState(office: MerchantState, invoice: BookedInvoice, at: Date, state: BookedInvoice["state"]) {
  const first = invoice.attempts.length === 1 && state !== "UNCOLLECTIBLE";
  invoice.state = state;
  if (!first) invoice.updatedAt = newerDate(invoice.updatedAt, at);
  if (state !== "UNPAID") invoice.subscription.open = null;
  office.outbox.invoices.push(buildInvoiceRecord(invoice));
}

/**
 * Retries an unpaid invoice, unless its card had a hard decline.
 *
 * @param recoveryActionId  the event that asked for it; null for the merchant's own schedule
 */
export function retryInvoice(office: MerchantState, invoice: BookedInvoice, at: Date, recoveryActionId: string | null) {
  if (invoice.state !== "UNPAID") return;
  const last = invoice.attempts.at(-1)!;
  const sameCard = last.card === invoice.subscription.card;
  if (last.reason !== null && DECLINES[last.reason].hard && sameCard) {
    // The merchant's own schedule is no instruction, so no refusal is counted.
    if (recoveryActionId === null) return;
    invoice.refused++;
    office.tell(at, invoice, `retry refused: ${describeReason(last.reason)}`);
    return;
  }
  const initiator = recoveryActionId === null ? "BILLING_SYSTEM" : "RECOVERY_ACTION";
  const { reason } = attemptPayment(office, invoice, at, initiator, recoveryActionId);
  const name = `${recoveryActionId === null ? "own retry" : "retry"} ${countRetries(invoice)}`;
  office.tell(at, invoice, reason === null ? `recovered at ${name}` : `${name} declined: ${describeReason(reason)}`);
}

export function payWithNewCard(office: MerchantState, invoice: BookedInvoice, at: Date) {
  changeCard(invoice, at);
  const { reason } = attemptPayment(office, invoice, at, "CUSTOMER");
  const outcome = reason === null ? "recovered: paid by the customer" : `declined: ${describeReason(reason)}`;
  office.tell(at, invoice, `${outcome}, with a new card`);
}

export function putNewCardOnFile(office: MerchantState, invoice: BookedInvoice, at: Date) {
  changeCard(invoice, at);
  office.outbox.transactions.push(buildCardCheckRecord(invoice, office.nextTransactionId(), at));
  office.tell(at, invoice, "the customer entered a new card");
}

function changeCard({ subscription }: BookedInvoice, at: Date) {
  subscription.card = { generation: subscription.card.generation + 1, sinceMs: at.getTime() };
}
