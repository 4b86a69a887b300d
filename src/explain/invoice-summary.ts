import {
  describePlan,
  describeWait,
  explainNoCase,
  explainUndecided,
  findCustomerZone,
  findPlannedAction,
  removeZoneNames,
} from "./answers.ts";
import { formatTime } from "./explain-retry-time.ts";
import { buildHeadline, type InvoiceHeadline, joinHeadline } from "./invoice-headline.ts";
import type { ExplainedCase } from "./load-explained-case.ts";
import { describeCurrentPostponement } from "./persons-requests.ts";
import { listStoryEvents, nameZone } from "./story.ts";

export interface SummaryLine {
  label: "Last done" | "Ended" | "Next" | "Waiting" | "Why";
  sentence: string;
}

/** An invoice in up to three sentences: the last event, the next one, and the reason for waiting or for the end. */
export interface InvoiceSummary {
  /** The customer's, as far as it is known; all times in the sentences are of this zone. */
  timeZone: string;
  /** Amount, age, why it failed, and the next step. The invoice's page and `dunlin explain` begin with it. */
  headline: InvoiceHeadline;
  lines: SummaryLine[];
}

export function summarizeInvoice(explained: ExplainedCase): InvoiceSummary {
  const zone = findCustomerZone(explained);
  const history = listStoryEvents(explained, zone);
  const last = history.findLast(({ isEnd, isRequest }) => !isEnd && !isRequest);
  const end = history.find(({ isEnd }) => isEnd);
  const lines: SummaryLine[] = [
    ...(last ? [{ label: "Last done" as const, sentence: `${formatTime(zone, last.at)}: ${last.words}` }] : []),
    ...(end
      ? [{ label: "Ended" as const, sentence: `${formatTime(zone, end.at)}: ${end.words}` }]
      : describeNextStep(explained)),
  ];
  const sentences = removeZoneNames(
    lines.map(({ sentence }) => sentence),
    zone,
  );
  return {
    timeZone: zone.name,
    headline: buildHeadline(explained),
    lines: lines.map(({ label }, index) => ({ label, sentence: sentences[index]! })),
  };
}

const LABEL_WIDTH = 12;

/** The headline, the time zone, and the summary below it, as text. */
export function buildSummary(explained: ExplainedCase): string[] {
  const { headline, lines } = summarizeInvoice(explained);
  return [
    joinHeadline(headline),
    nameZone(findCustomerZone(explained)),
    ...lines.map(({ label, sentence }) => label.padEnd(LABEL_WIDTH) + sentence),
  ];
}

function describeNextStep(explained: ExplainedCase): SummaryLine[] {
  const { case: recoveryCase, decisions } = explained;
  const latest = decisions.at(-1);
  const undecided = recoveryCase ? explainUndecided(explained) : explainNoCase(explained);
  if (undecided !== null || !latest) return [{ label: "Why", sentence: undecided ?? "" }];
  const action = findPlannedAction(explained);
  // In shadow mode the first line says so, and the second one is the plan.
  const [first, second] = describePlan(explained, latest, findCustomerZone(explained));
  if (recoveryCase!.arm === "shadow")
    return [
      { label: "Next", sentence: second ?? first! },
      { label: "Waiting", sentence: SHADOW_SENTENCE },
    ];
  if (!action)
    return [{ label: "Waiting", sentence: describeWait(explained) ?? latest.account.reasons.at(-1) ?? first! }];
  const awaited =
    action.status === "SENT"
      ? AWAITED_WORDING[action.type]
      : action.decidedAt === null
        ? "for its time. New facts may change it until then."
        : "for the merchant's endpoint, which has not accepted the webhook yet.";
  const postponement = describeCurrentPostponement(explained, findCustomerZone(explained));
  // A retry is requested ahead of its time. After a request for a new card nothing is next but the card.
  const isNext = action.type === "RETRY" || action.status !== "SENT";
  return [
    ...(isNext ? [{ label: "Next" as const, sentence: first! }] : []),
    { label: "Waiting", sentence: postponement === null ? awaited : `${awaited} ${postponement}` },
  ];
}

const SHADOW_SENTENCE = "for the merchant's own system: in shadow mode Dunlin requests nothing.";
const AWAITED_WORDING = {
  RETRY: "for the outcome of that retry, which the merchant pushes.",
  CARD_CHANGE: "for another card or payment method of the customer.",
} as const;
