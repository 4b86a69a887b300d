import type { Transaction } from "../../src/domain/transaction.ts";
import type { SimulatedYear } from "./simulate-year.ts";

/** Describes everything that happened to an invoice, one line each, in order of time. */
export function tellInvoiceStory({ journal, books }: SimulatedYear, invoiceId: string): string[] {
  const lines: [number, string][] = [];
  const tell = (at: Date | number | null | undefined, text: string) => at != null && lines.push([+at, text]);
  const caseIds = new Set<string>();
  for (const recoveryCase of books.cases.filter((one) => one.invoiceId === invoiceId)) {
    caseIds.add(recoveryCase.id);
    tell(recoveryCase.openedAt, `case opened, unpaid since ${recoveryCase.unpaidAt.toISOString()}`);
    tell(recoveryCase.endedAt, `case ended: ${recoveryCase.endReason}`);
  }
  for (const { kind, record, firstMs, ackMs } of journal.pushes) {
    const payment = record as Transaction;
    if (record.id !== invoiceId && payment.invoiceId !== invoiceId) continue;
    const codes = [payment.networkDeclineCode, payment.networkAdviceCode, payment.initiator, payment.recoveryActionId];
    const words = codes.filter((code) => code !== undefined).join(" ");
    tell(firstMs, `${kind} ${record.id} ${record.state} of ${record.updatedAt.toISOString()} is pushed ${words}`);
    if (ackMs !== firstMs) tell(ackMs, `${kind} ${record.id} ${record.state} is acknowledged`);
  }
  for (const action of books.actions.filter(({ caseId }) => caseIds.has(caseId))) {
    tell(action.createdAt, `action ${action.id} ${action.type} is listed`);
    tell(action.decidedAt, `action ${action.id} is decided for ${action.idealRetryTime.toISOString()}`);
    for (const { atMs, actionId, from, to } of journal.statuses)
      if (actionId === action.id) tell(atMs, `action ${actionId}: ${from} -> ${to}`);
  }
  const events = new Map(books.events.filter(({ caseId }) => caseIds.has(caseId)).map((event) => [event.id, event]));
  for (const { id, type, createdAt, withdrawnAt } of events.values()) {
    tell(createdAt, `event ${id} ${type} is made`);
    tell(withdrawnAt, `event ${id} ${type} is withdrawn`);
  }
  for (const { eventId, startMs, endMs, status, handled, life } of journal.wire) {
    if (!events.has(eventId)) continue;
    tell(startMs, `  on the wire: ${eventId} (life ${life})${handled ? ", the merchant takes it" : ""}`);
    tell(endMs, `  off the wire: ${eventId}, ${status ?? "no answer"}`);
  }
  for (const { eventId, number, endedAt, ends, status } of books.attempts)
    if (events.has(eventId))
      tell(endedAt, `  recorded: ${eventId} attempt ${number}, ${status ?? "failed"} ${ends ?? ""}`);
  return lines.sort(([a], [b]) => a - b).map(([ms, text]) => `  ${new Date(ms).toISOString()}  ${text}`);
}
