import { recordViolation } from "../journal.ts";
import type { SimulatedYear } from "../simulate-year.ts";

/**
 * Checks I4: an exhausted event had exactly its six or seven ended attempts, numbered in order, and an ended event has no more.
 */
export function checkExhaustedEvents({ journal, books }: SimulatedYear) {
  const types = new Map(books.events.map((event) => [event.id, event]));
  const rounds = Map.groupBy(books.attempts, ({ eventId, round }) => `${eventId} ${round}`);
  for (const attempts of rounds.values()) {
    const { type, invoiceId, id } = types.get(attempts[0]!.eventId)!;
    const attemptsMax = type === "recovery_action" ? 6 : 7;
    const inOrder = attempts.sort((a, b) => a.number - b.number).every(({ number }, index) => number === index + 1);
    if (!inOrder) recordViolation(journal, "I4", `the attempts of ${type} ${id} are not numbered 1, 2, …`, invoiceId);
    const end = attempts.findIndex(({ ends }) => ends !== null);
    if (end >= 0 && end < attempts.length - 1)
      recordViolation(journal, "I4", `${type} ${id} was tried after its end`, invoiceId);
    const ends = attempts[end]?.ends;
    if (ends === "exhausted" && attempts.length !== attemptsMax)
      recordViolation(journal, "I4", `${type} ${id} was exhausted after ${attempts.length} attempts`, invoiceId);
    if (attempts.length > attemptsMax || (attempts.length === attemptsMax && ends === undefined))
      recordViolation(journal, "I4", `${type} ${id} had ${attempts.length} attempts and no end`, invoiceId);
    const isTaken = ({ status }: { status: number | null }) => status !== null && status >= 200 && status <= 299;
    if (attempts.some((attempt) => isTaken(attempt) !== (attempt.ends === "delivered")))
      recordViolation(journal, "I4", `a 2xx did not end ${type} ${id}, or something else did`, invoiceId);
  }
}

/** Checks I4: no more requests on the wire than ended attempts and interruptions, and every attempt was on the wire. */
export function checkAttemptsOnWire({ journal, books }: SimulatedYear) {
  const wire = Map.groupBy(journal.wire, ({ eventId }) => eventId);
  const ended = Map.groupBy(books.attempts, ({ eventId }) => eventId);
  for (const { id, type, invoiceId } of books.events) {
    const requests = wire.get(id) ?? [];
    const attempts = ended.get(id) ?? [];
    const interruptions = journal.interruptions.get(id) ?? 0;
    if (requests.length !== attempts.length + interruptions)
      recordViolation(
        journal,
        "I4",
        `${type} ${id}: ${requests.length} requests, ${attempts.length} ended attempts, ${interruptions} interruptions`,
        invoiceId,
      );
    for (const { number, startedAt, endedAt, status } of attempts) {
      const isSeen = requests.some(
        (one) => one.startMs === startedAt.getTime() && one.endMs === endedAt.getTime() && one.status === status,
      );
      if (!isSeen)
        recordViolation(journal, "I4", `attempt ${number} of ${type} ${id} was never on the wire like this`, invoiceId);
    }
  }
}

const DELAYS_MS = [100, 5_000, 15_000, 900_000, 1_800_000, 3_600_000];

/** Checks I5: no attempt begins earlier after the failed one than the schedule allows. */
export function checkNeverEarly({ journal, books }: SimulatedYear) {
  const events = new Map(books.events.map((event) => [event.id, event]));
  const rounds = Map.groupBy(books.attempts, ({ eventId, round }) => `${eventId} ${round}`);
  for (const attempts of rounds.values()) {
    const { type, id, invoiceId, createdAt } = events.get(attempts[0]!.eventId)!;
    const sorted = attempts.toSorted((a, b) => a.number - b.number);
    for (const [index, { startedAt, number }] of sorted.entries()) {
      const before = sorted[index - 1];
      const earliestMs = before ? before.endedAt.getTime() + DELAYS_MS[index - 1]! : createdAt.getTime();
      if (startedAt.getTime() < earliestMs)
        recordViolation(
          journal,
          "I5",
          `attempt ${number} of ${type} ${id} began ${earliestMs - startedAt.getTime()} ms early`,
          invoiceId,
        );
    }
  }
}
