import { listPlanCaveats } from "../engine/alternatives.ts";
import { formatTenths } from "../engine/shares.ts";
import { REPORTING_GRACE_DAYS } from "../experiments/maturity.ts";
import { type ShadowFigures, STANCES, type Stance } from "./shadow-figures.ts";

/** Completes "Dunlin would …" for the merchant's own retry, except `unknown`. */
export const STANCE_WORDING: Readonly<Record<Stance, string>> = {
  same: "retry too, within 12 hours",
  earlier: "retry more than 12 hours later",
  later: "have retried more than 12 hours earlier",
  card_change: "ask for another card or payment method",
  stop: "have stopped",
  wait: "wait for an answer or for the customer's other invoices",
  unknown: "unknown: no earlier decision, or it is no longer stored",
};

export const listStancesWithRetries = ({ stances }: ShadowFigures) =>
  STANCES.filter((stance) => stances[stance].tries > 0);

/** How many invoices count, and why others do not yet. `day` formats a day. */
export function describeCounts(
  { since, cases, asked = 0, counted, young }: ShadowFigures,
  day: (at: Date) => string,
): string[] {
  if (since === null) return ["No invoice has become unpaid in shadow mode."];
  const countsText = `${cases} ${cases === 1 ? "invoice" : "invoices"} became unpaid from ${day(since)} on; ${counted} ${counted === 1 ? "is" : "are"} old enough to count (without voided and refunded ones).`;
  if (young.cases === 0) return [countsText, ...describeRequests(asked)];
  const [first, last] = [day(young.firstAt!), day(young.lastAt!)];
  return [
    countsText,
    `${young.cases} ${young.cases === 1 ? "is" : "are"} too young, and ${young.cases === 1 ? "counts" : "count"} ${first === last ? `on ${first}` : `from ${first} to ${last}`}: paid or not, each counts ${REPORTING_GRACE_DAYS} days after the end of its window, because payments are known sooner than failures.`,
    ...describeRequests(asked),
  ];
}

const describeRequests = (requestCount: number) =>
  requestCount === 0
    ? []
    : [
        `In ${requestCount} of the invoices Dunlin would have asked the customer for another card or payment method, or to confirm the payment.`,
      ];

/** What Dunlin's plans would have recovered by its own model, and how reliable that is. */
export function describePlans({ planned }: ShadowFigures): string[] {
  const { cases, expected, paid, debits, others } = planned;
  if (cases === 0) return [];
  return [
    `For ${cases} of them Dunlin had a plan. By its own model these plans would recover ${expected.toFixed(1)} of them${formatShare(expected / cases, cases)}; ${paid}${formatShare(paid / cases, cases)} ${paid === 1 ? "was" : "were"} paid.`,
    listPlanCaveats({ plans: cases, debits, others }),
  ];
}

/** Of retries made when Dunlin would have made them, and of forbidden ones. */
export function describeRetries({ foreseen, forbidden }: ShadowFigures): string[] {
  return [
    ...(foreseen.tries === 0
      ? []
      : [
          `Of ${foreseen.tries} ${foreseen.tries === 1 ? "retry" : "retries"} made at Dunlin's times, Dunlin had predicted ${foreseen.expected.toFixed(1)}${formatShare(foreseen.expected / foreseen.tries, foreseen.tries)} to be approved, and ${formatApproved(foreseen)} ${foreseen.approved === 1 ? "was" : "were"}.`,
        ]),
    forbidden.tries === 0
      ? "No retry in this comparison broke a network rule that Dunlin applies."
      : `${forbidden.tries} ${forbidden.tries === 1 ? "retry" : "retries"} in this comparison broke a network rule that Dunlin applies; ${forbidden.approved} of these ${forbidden.approved === 1 ? "was" : "were"} approved.`,
  ];
}

export const NO_RETRY = "The merchant's own system has made no retry since.";
export const COMPARISON_CAVEAT =
  "This comparison proves nothing, because Dunlin's decisions were not carried out. Only an experiment does";

/** With fewer, one more or less changes a percentage by over three points. */
const MIN_PERCENT_COUNT = 30;
export const formatShare = (share: number, total: number) =>
  total < MIN_PERCENT_COUNT ? "" : ` (${formatTenths(share)})`;
export const formatApproved = ({ tries, approved }: { tries: number; approved: number }) =>
  `${approved}${formatShare(approved / tries, tries)}`;
