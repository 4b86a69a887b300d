import { checkAttemptsOnWire, checkExhaustedEvents, checkNeverEarly } from "./checks/attempt-checks.ts";
import {
  checkBodiesNeverChange,
  checkEveryEventEnds,
  checkNothingAskedAfterEnd,
  checkOneEventPerDecision,
} from "./checks/event-checks.ts";
import { checkNetworkRules } from "./checks/network-checks.ts";
import { checkAcknowledgedIsStored, checkCaseEnds, checkOutcomes } from "./checks/record-checks.ts";
import {
  checkDeliveriesAreNoticed,
  checkEveryActionSettles,
  checkRecoveryRate,
  recoveryRateOf,
} from "./checks/total-checks.ts";
import { tellInvoiceStory } from "./invoice-story.ts";
import type { SimulatedYear } from "./simulate-year.ts";

const INVARIANT_CHECKS = [
  checkAcknowledgedIsStored,
  checkCaseEnds,
  checkOutcomes,
  checkOneEventPerDecision,
  checkEveryEventEnds,
  checkBodiesNeverChange,
  checkNothingAskedAfterEnd,
  checkExhaustedEvents,
  checkAttemptsOnWire,
  checkNeverEarly,
  checkNetworkRules,
  checkEveryActionSettles,
  checkDeliveriesAreNoticed,
  checkRecoveryRate,
];
const SHOWN_STORIES_MAX = 2;

/** Returns an empty list if every invariant held; otherwise the violations, with the seed and the story of the invoice. */
export function findViolations(year: SimulatedYear): string[] {
  for (const check of INVARIANT_CHECKS) check(year);
  const { violations } = year.journal;
  if (violations.length === 0) return [];
  const { seed, customers, days, pushTransactions } = year.scenario;
  const lines = [
    `seed ${seed} (${customers} customers, ${days} days, ${pushTransactions ? "with" : "without"} transactions): ${violations.length} violations`,
  ];
  for (const [invariant, all] of Map.groupBy(violations, (one) => one.invariant)) {
    lines.push(`${invariant}: ${all.length}`);
    for (const { says, invoiceId } of all.slice(0, SHOWN_STORIES_MAX)) {
      lines.push(`${invariant}: ${says}`);
      if (invoiceId !== null) lines.push(` the story of ${invoiceId}:`, ...tellInvoiceStory(year, invoiceId));
    }
  }
  return lines;
}

/** Summarizes the year in one line. */
export function summarizeYear({
  scenario,
  journal,
  books,
  summary,
  faults,
  statements,
  realMs,
}: SimulatedYear): string {
  const { failed, open } = summary.total;
  const share = Math.round(100 * recoveryRateOf(summary.total));
  const interruptions = [...journal.interruptions.values()].reduce((sum, n) => sum + n, 0);
  const exhausted = books.attempts.filter(({ ends }) => ends === "exhausted").length;
  const limit = scenario.pushTransactions ? "with" : "without";
  return [
    `seed ${scenario.seed} ${limit} transactions: ${summary.charged} invoices, ${failed} failed, ${open} open, ${share} % recovered`,
    `${books.actions.length} actions, ${books.events.length} events, ${journal.wire.length} requests, ${books.attempts.length} ended attempts, ${exhausted} exhausted, ${interruptions} cut short`,
    `${journal.counts.batches} batches (${journal.counts.repeated} repeated, ${journal.counts.refused} refused, ${journal.counts.interrupted} interrupted)`,
    `${faults.crashes} crashes, ${faults.outages} lost connections, ${faults.conflicts} conflicts`,
    `${statements} statements, ${(realMs / 1000).toFixed(1)} s`,
  ].join("; ");
}
