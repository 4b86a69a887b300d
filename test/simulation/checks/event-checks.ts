import { recordViolation } from "../journal.ts";
import type { SimulatedYear } from "../simulate-year.ts";

/** Checks I3: every decision has exactly one event, and a case is paused and completed once. */
export function checkOneEventPerDecision({ journal, books }: SimulatedYear) {
  const asked = new Map(
    books.events.filter(({ type }) => type === "recovery_action").map((event) => [event.id, event]),
  );
  for (const { id, decidedAt, invoiceId, idealRetryTime, caseId } of books.actions) {
    const event = asked.get(id);
    asked.delete(id);
    if (decidedAt === null && event) recordViolation(journal, "I3", `a plan, ${id}, has an event`, invoiceId);
    if (decidedAt === null) continue;
    if (!event) recordViolation(journal, "I3", `action ${id} was decided and has no event`, invoiceId);
    else if (event.caseId !== caseId || !event.body.includes(idealRetryTime.toISOString()))
      recordViolation(journal, "I3", `event ${id} does not say what its action says`, invoiceId);
  }
  for (const { id, invoiceId } of asked.values())
    recordViolation(journal, "I3", `event ${id} has no action`, invoiceId);
  // Two decisions of one case within a minute are one decision made twice.
  const ofCases = Map.groupBy(
    books.actions.filter(({ decidedAt }) => decidedAt),
    ({ caseId }) => caseId,
  );
  for (const actions of ofCases.values()) {
    const moments = actions.map(({ decidedAt }) => decidedAt!.getTime()).sort((a, b) => a - b);
    if (moments.some((at, index) => index > 0 && at - moments[index - 1]! < 60_000))
      recordViolation(journal, "I3", "two actions were decided within a minute", actions[0]!.invoiceId);
  }
  const once = Map.groupBy(
    books.events.filter(({ type }) => type !== "recovery_action"),
    ({ caseId, type }) => `${type} ${caseId}`,
  );
  for (const [name, events] of once)
    if (events.length > 1) recordViolation(journal, "I3", `${events.length} events ${name}`, events[0]!.invoiceId);
}

/** Checks I3: once faults stop, every event has ended: delivered, exhausted or withdrawn. */
export function checkEveryEventEnds({ journal, books }: SimulatedYear) {
  const ends = new Map(books.attempts.filter(({ ends }) => ends).map((attempt) => [attempt.eventId, attempt.ends]));
  const queued = new Set(books.queued.map(({ eventId }) => eventId));
  for (const { id, type, withdrawnAt, invoiceId } of books.events) {
    if (queued.has(id)) recordViolation(journal, "I3", `${type} ${id} is still queued`, invoiceId);
    else if (!ends.has(id) && withdrawnAt === null)
      recordViolation(journal, "I3", `${type} ${id} never ended`, invoiceId);
  }
}

/** Checks I6: one id has one body, byte for byte, on the wire and in the database. */
export function checkBodiesNeverChange({ journal, books }: SimulatedYear) {
  const bodies = new Map(books.events.map(({ id, body }) => [id, body]));
  for (const { eventId, body, invoiceId } of journal.wire)
    if (bodies.get(eventId) !== body)
      recordViolation(journal, "I6", `event ${eventId} was sent with another body`, invoiceId);
  if (bodies.size !== books.events.length) recordViolation(journal, "I6", "two events have one id");
}

/** Checks I7: no instruction is sent after the end of the invoice or its subscription was acknowledged. */
export function checkNothingAskedAfterEnd({ journal, books }: SimulatedYear) {
  const overMs = new Map<string, number>();
  const note = (invoiceId: string | undefined, ackMs: number | null) => {
    if (invoiceId !== undefined && ackMs !== null && ackMs < (overMs.get(invoiceId) ?? Number.POSITIVE_INFINITY))
      overMs.set(invoiceId, ackMs);
  };
  const ofSubscription = new Map<string, string[]>();
  for (const record of books.records.invoices.values()) {
    const { subscriptionId = "" } = record as { subscriptionId?: string };
    ofSubscription.set(subscriptionId, [...(ofSubscription.get(subscriptionId) ?? []), record.id]);
  }
  for (const { kind, record, ackMs } of journal.pushes) {
    if (kind === "invoices" && record.state !== "UNPAID") note(record.id, ackMs);
    if (kind === "transactions" && record.state === "PAID" && "invoiceId" in record && record.amount > 0)
      note(record.invoiceId, ackMs);
    if (kind === "subscriptions" && record.state === "CANCELED")
      for (const id of ofSubscription.get(record.id) ?? []) note(id, ackMs);
  }
  const completed = new Map<string, Date>();
  for (const event of books.events) {
    const { id, type, invoiceId, createdAt, caseId } = event;
    if (type === "complete_dunning") completed.set(caseId, createdAt);
    else if (createdAt.getTime() > (overMs.get(invoiceId) ?? Number.POSITIVE_INFINITY))
      recordViolation(journal, "I7", `${type} ${id} was made after the end was acknowledged`, invoiceId);
    else if (completed.has(caseId))
      recordViolation(journal, "I7", `${type} ${id} was made after complete_dunning`, invoiceId);
  }
}
