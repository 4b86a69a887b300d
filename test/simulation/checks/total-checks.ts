import { recordViolation } from "../journal.ts";
import type { SimulatedYear } from "../simulate-year.ts";

/** Checks that every action has settled at the end. */
export function checkEveryActionSettles({ journal, books }: SimulatedYear) {
  for (const { id, status, type, invoiceId } of books.actions)
    if (status === "SCHEDULED" || status === "SENT")
      recordViolation(journal, "settled", `${type} ${id} is still ${status}`, invoiceId);
}

/** Covers restarts, and a case that is postponed for a minute after a lost connection. */
const NOTICE_MS_MAX = 15 * 60_000;

/** Checks that a delivered event is recorded as sent soon after, so no hint is lost. */
export function checkDeliveriesAreNoticed({ journal, books }: SimulatedYear) {
  const left = new Map<string, number>();
  for (const { actionId, to, atMs } of journal.statuses)
    if (to !== "PLANNED" && to !== "SCHEDULED" && !left.has(actionId)) left.set(actionId, atMs);
  const ends = new Map(books.attempts.filter(({ ends }) => ends).map((attempt) => [attempt.eventId, attempt.endedAt]));
  for (const { id, type, invoiceId } of books.actions) {
    const endedAt = ends.get(id);
    if (endedAt && (left.get(id) ?? Number.POSITIVE_INFINITY) > endedAt.getTime() + NOTICE_MS_MAX)
      recordViolation(journal, "settled", `${type} ${id} still looked as if it were not sent`, invoiceId);
  }
}

/** With fewer failed invoices a year says nothing about shares. */
const RATE_SAMPLE_MIN = 40;
/** A dozen customers may all pay. Only with many is a rate this high implausible. */
const RATE_MAX_SAMPLE_MIN = 200;
const RECOVERY_RATE_MIN = 0.45;
const RECOVERY_RATE_MAX = 0.9;

/** Checks the benefit of Dunlin: a plausible share of the failed and settled invoices is recovered, some of it by its retries. */
export function checkRecoveryRate({ journal, books, summary }: SimulatedYear) {
  const { failed, open } = summary.total;
  if (failed < RATE_SAMPLE_MIN) return;
  const share = recoveryRateOf(summary.total);
  if (share < RECOVERY_RATE_MIN || (failed >= RATE_MAX_SAMPLE_MIN && share > RECOVERY_RATE_MAX))
    recordViolation(
      journal,
      "totals",
      `${Math.round(share * 100)} % of ${failed - open} failed invoices were recovered`,
    );
  if (!books.actions.some(({ status }) => status === "SUCCEEDED"))
    recordViolation(journal, "totals", "no action ever succeeded");
}

export const recoveryRateOf = ({ failed, recovered, open }: { failed: number; recovered: number; open: number }) =>
  failed === open ? 0 : recovered / (failed - open);
