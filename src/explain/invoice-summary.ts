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
import type { ExplainedCase } from "./load-explained-case.ts";
import { listStoryEvents, nameZone } from "./story.ts";

/**
 * Summarizes an invoice in up to three lines below their time zone: the last event, the next one, and the reason for waiting or
 * for the end.
 */
export function buildSummary(explained: ExplainedCase): string[] {
  const zone = findCustomerZone(explained);
  const history = listStoryEvents(explained, zone);
  const last = history.findLast(({ isEnd }) => !isEnd);
  const end = history.find(({ isEnd }) => isEnd);
  const lines = [
    ...(last ? [`Last done   ${formatTime(zone, last.at)}: ${last.words}`] : []),
    ...(end ? [`Ended       ${formatTime(zone, end.at)}: ${end.words}`] : describeNextStep(explained)),
  ];
  return [nameZone(zone), ...removeZoneNames(lines, zone)];
}

function describeNextStep(explained: ExplainedCase): string[] {
  const { case: recoveryCase, decisions } = explained;
  const latest = decisions.at(-1);
  const undecided = recoveryCase ? explainUndecided(explained) : explainNoCase(explained);
  if (undecided !== null || !latest) return [`Why         ${undecided ?? ""}`];
  const action = findPlannedAction(explained);
  // In shadow mode the first line says so, and the second one is the plan.
  const [first, second] = describePlan(explained, latest, findCustomerZone(explained));
  if (recoveryCase!.arm === "shadow") return [`Next        ${second ?? first}`, SHADOW_LINE];
  if (!action) return [`Waiting     ${describeWait(explained) ?? latest.account.reasons.at(-1) ?? first}`];
  const awaited =
    action.status === "SENT"
      ? AWAITED_WORDING[action.type]
      : action.decidedAt === null
        ? "for its time. New facts may change it until then."
        : "for the merchant's endpoint, which has not accepted the webhook yet.";
  // A retry is requested ahead of its time. After a request for a new card nothing is next but the card.
  const isNext = action.type === "RETRY" || action.status !== "SENT";
  return [...(isNext ? [`Next        ${first}`] : []), `Waiting     ${awaited}`];
}

const SHADOW_LINE = "Waiting     for the merchant's own system: in shadow mode Dunlin requests nothing.";
const AWAITED_WORDING = {
  RETRY: "for the outcome of that retry, which the merchant pushes.",
  CARD_CHANGE: "for another card or payment method of the customer.",
} as const;
