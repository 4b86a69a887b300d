import type { Problem } from "../harness/problems.ts";
import type { Arrival } from "../harness/receiver.ts";
import type { Interval } from "../harness/service-fleet.ts";
import type { StoredRows } from "../harness/stored-rows.ts";
import type { SentRecords } from "./sent-records.ts";

/** A row that was read ahead can be sent for at most so long after its withdrawal, plus the time onto the wire. */
const READ_AHEAD_MS = 1_000;
const WIRE_TOLERANCE_MS = 500;

/** Checks I7: after the service acknowledged that nothing is owed, it creates no instruction and sends no waiting one. */
export function verifyStops(
  books: SentRecords,
  rows: StoredRows,
  journal: readonly Arrival[],
  sleeps: readonly Interval[],
) {
  const problems: Problem[] = [];
  const counts = { paid: books.paidAt.size, canceled: books.canceledAt.size, sentAfterPaid: 0 };
  const toService = (real: number) => rows.anchor.serviceAt + (real - rows.anchor.realAt) * rows.anchor.rate;
  const asks = new Map(rows.events.filter(({ type }) => type === "recovery_action").map((event) => [event.id, event]));
  for (const { id, invoiceId, subscriptionId, createdAt } of asks.values()) {
    const paidAt = books.paidAt.get(invoiceId);
    const canceledAt = subscriptionId === null ? undefined : books.canceledAt.get(subscriptionId);
    for (const [at, what] of [
      [paidAt, "PAID"],
      [canceledAt, "CANCELED"],
    ] as const)
      if (at !== undefined && createdAt > toService(at))
        problems.push({ invariant: "I7", says: `event ${id}: made after ${what} was acknowledged` });
  }
  for (const { eventId, at } of journal) {
    const event = asks.get(eventId);
    const paidAt = event && books.paidAt.get(event.invoiceId);
    if (paidAt === undefined || at <= paidAt) continue;
    counts.sentAfterPaid++;
    // A stopped process does not know how long it slept until it reads the clock.
    const slept = sleeps.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, at) - Math.max(from, paidAt)), 0);
    if (at - paidAt - slept > READ_AHEAD_MS + WIRE_TOLERANCE_MS)
      problems.push({ invariant: "I7", says: `event ${eventId}: sent ${at - paidAt} ms after PAID was acknowledged` });
  }
  return { problems, counts };
}
