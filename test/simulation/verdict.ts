import { attemptsAreOnTheWire, exhaustedMeansAll, neverEarly } from "./checks/attempts.ts";
import {
  bodiesNeverChange,
  everyDecisionHasOneEvent,
  everyEventEnds,
  nothingIsAskedAfterTheEnd,
} from "./checks/events.ts";
import { networksAreObeyed } from "./checks/networks.ts";
import { acknowledgedIsStored, casesEndAsTheBooksSay, outcomesAreTrue } from "./checks/records.ts";
import { deliveriesAreNoticed, enoughIsRecovered, everyActionSettles, recoveredShare } from "./checks/totals.ts";
import type { Year } from "./simulate.ts";
import { storyOf } from "./story.ts";

const CHECKS = [
  acknowledgedIsStored,
  casesEndAsTheBooksSay,
  outcomesAreTrue,
  everyDecisionHasOneEvent,
  everyEventEnds,
  bodiesNeverChange,
  nothingIsAskedAfterTheEnd,
  exhaustedMeansAll,
  attemptsAreOnTheWire,
  neverEarly,
  networksAreObeyed,
  everyActionSettles,
  deliveriesAreNoticed,
  enoughIsRecovered,
];
const STORIES = 2;

/** Empty when every invariant held; else what broke, with the seed and the story of the invoice. */
export function complaints(year: Year): string[] {
  for (const check of CHECKS) check(year);
  const { violations } = year.journal;
  if (violations.length === 0) return [];
  const { seed, customers, days, pushTransactions } = year.scenario;
  const lines = [
    `seed ${seed} (${customers} customers, ${days} days, ${pushTransactions ? "with" : "without"} transactions): ${violations.length} violations`,
  ];
  for (const [invariant, all] of Map.groupBy(violations, (one) => one.invariant)) {
    lines.push(`${invariant}: ${all.length}`);
    for (const { says, invoiceId } of all.slice(0, STORIES)) {
      lines.push(`${invariant}: ${says}`);
      if (invoiceId !== null) lines.push(` the story of ${invoiceId}:`, ...storyOf(year, invoiceId));
    }
  }
  return lines;
}

/** The year in one line. */
export function figuresOf({ scenario, journal, books, summary, faults, statements, realMs }: Year): string {
  const { failed, open } = summary.total;
  const share = Math.round(100 * recoveredShare(summary.total));
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
