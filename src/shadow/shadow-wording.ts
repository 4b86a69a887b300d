import { listPlanCaveats } from "../engine/alternatives.ts";
import { formatTenths } from "../engine/shares.ts";
import { REPORTING_GRACE_DAYS } from "../experiments/experiments.ts";
import { type ShadowFigures, STANCES, type Stance } from "./shadow-figures.ts";

/** Completes "Dunlin would …" beside a retry of the merchant's own system. */
export const STANCE_WORDING: Readonly<Record<Stance, string>> = {
  same: "try too, within 12 hours",
  earlier: "try, more than 12 hours later",
  later: "have tried, more than 12 hours before",
  card_change: "ask for another card or payment method",
  stop: "have stopped",
  wait: "wait, for an answer or for what comes of the customer's other bills",
  unknown: "not known: nothing was decided before, or it is kept no longer",
};

/** Those that the merchant's own system made retries of. */
export const listStancesWithRetries = ({ stances }: ShadowFigures) =>
  STANCES.filter((stance) => stances[stance].tries > 0);

/** How many invoices count, and why the others do not yet. `day` writes a day. */
export function describeCounts(
  { since, cases, asked = 0, counted, young }: ShadowFigures,
  day: (at: Date) => string,
): string[] {
  if (since === null) return ["No invoice has become unpaid in shadow mode."];
  const said = `${cases} ${cases === 1 ? "invoice" : "invoices"} became unpaid from ${day(since)} on; ${counted} ${counted === 1 ? "is" : "are"} old enough to count, voided and refunded ones aside.`;
  if (young.cases === 0) return [said, ...describeRequests(asked)];
  const [first, last] = [day(young.firstAt!), day(young.lastAt!)];
  return [
    said,
    `${young.cases} ${young.cases === 1 ? "is" : "are"} too young, and ${young.cases === 1 ? "counts" : "count"} ${first === last ? `on ${first}` : `from ${first} to ${last}`}: paid or not, each counts ${REPORTING_GRACE_DAYS} days after its window is over, since what is paid is known sooner than what is not.`,
    ...describeRequests(asked),
  ];
}

const describeRequests = (asked: number) =>
  asked === 0
    ? []
    : [
        `In ${asked} of the invoices Dunlin would have asked the customer for another card or payment method, or to confirm the payment.`,
      ];

/** What Dunlin's plans would have recovered by its own model, and how far that is to be believed. */
export function describePlans({ planned }: ShadowFigures): string[] {
  const { cases, expected, paid, debits, others } = planned;
  if (cases === 0) return [];
  return [
    `For ${cases} of them Dunlin had made a plan, knowing how they had failed where an attempt was pushed at all. By its own model the plans recover ${expected.toFixed(1)} of these${formatShare(expected / cases, cases)}; ${paid}${formatShare(paid / cases, cases)} ${paid === 1 ? "was" : "were"} paid.`,
    listPlanCaveats({ plans: cases, debits, others }),
  ];
}

/** What came of the retries that were made when Dunlin would have made them, and of those that a rule forbade. */
export function describeRetries({ foreseen, forbidden }: ShadowFigures): string[] {
  return [
    ...(foreseen.tries === 0
      ? []
      : [
          `Where both tried at the same time, of ${foreseen.tries} ${foreseen.tries === 1 ? "retry" : "retries"} Dunlin had foreseen ${foreseen.expected.toFixed(1)}${formatShare(foreseen.expected / foreseen.tries, foreseen.tries)} to be approved, and ${formatApproved(foreseen)} ${foreseen.approved === 1 ? "was" : "were"}.`,
        ]),
    forbidden.tries === 0
      ? "None of the retries was made at a moment at which the rules that Dunlin keeps leave no try."
      : `The rules that Dunlin keeps left no try at the moment of ${forbidden.tries} of the retries; ${forbidden.approved} of these ${forbidden.approved === 1 ? "was" : "were"} approved.`,
  ];
}

export const NO_RETRY = "Your system has made no retry since.";
export const COMPARISON_CAVEAT = "This compares; it proves nothing, since nobody followed Dunlin. An experiment does";

/** Of fewer than these a share in percent says more than is known: one more or less moves it by over three points. */
const MIN_PERCENT_COUNT = 30;
export const formatShare = (part: number, of: number) => (of < MIN_PERCENT_COUNT ? "" : ` (${formatTenths(part)})`);
export const formatApproved = ({ tries, approved }: { tries: number; approved: number }) =>
  `${approved}${formatShare(approved / tries, tries)}`;
