import { violate } from "../journal.ts";
import type { Year } from "../simulate.ts";

/** In the end every action has settled. */
export function everyActionSettles({ journal, books }: Year) {
  for (const { id, status, type, invoiceId } of books.actions)
    if (status === "SCHEDULED" || status === "SENT")
      violate(journal, "settled", `${type} ${id} is still ${status}`, invoiceId);
}

/** Restarts, and a case that is set aside for a minute after a lost connection. */
const PROMPT_MS = 15 * 60_000;

/** What was delivered is seen to be sent soon after: no hint of it gets lost. */
export function deliveriesAreNoticed({ journal, books }: Year) {
  const left = new Map<string, number>();
  for (const { actionId, to, atMs } of journal.statuses)
    if (to !== "PLANNED" && to !== "SCHEDULED" && !left.has(actionId)) left.set(actionId, atMs);
  const ends = new Map(books.attempts.filter(({ ends }) => ends).map((attempt) => [attempt.eventId, attempt.endedAt]));
  for (const { id, type, invoiceId } of books.actions) {
    const endedAt = ends.get(id);
    if (endedAt && (left.get(id) ?? Number.POSITIVE_INFINITY) > endedAt.getTime() + PROMPT_MS)
      violate(journal, "settled", `${type} ${id} still looked as if it were not sent`, invoiceId);
  }
}

/** Below so many failed invoices a year says nothing about shares. */
const ENOUGH = 40;
/** A dozen customers may all pay in the end: only of many is it too good to be true. */
const ENOUGH_FOR_MOST = 200;
const SHARE_MIN = 0.45;
const SHARE_MAX = 0.9;

/** Dunlin earns its keep: of the invoices that failed and are decided a sane share was recovered, some of it by its retries. */
export function enoughIsRecovered({ journal, books, summary }: Year) {
  const { failed, open } = summary.total;
  if (failed < ENOUGH) return;
  const share = recoveredShare(summary.total);
  if (share < SHARE_MIN || (failed >= ENOUGH_FOR_MOST && share > SHARE_MAX))
    violate(journal, "totals", `${Math.round(share * 100)} % of ${failed - open} failed invoices were recovered`);
  if (!books.actions.some(({ status }) => status === "SUCCEEDED"))
    violate(journal, "totals", "no action ever succeeded");
}

export const recoveredShare = ({ failed, recovered, open }: { failed: number; recovered: number; open: number }) =>
  failed === open ? 0 : recovered / (failed - open);
