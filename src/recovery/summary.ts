import type { Explained } from "./explain.ts";
import { when } from "./explained-moment.ts";
import { neverDecided, planned, plannedNow, waitsFor, whyUndecided, withoutZone, zoneOf } from "./explanation.ts";
import { happenedTo, timesWords } from "./story.ts";

/** Returns the state of an invoice in up to three lines, under the zone of their times: the last step, the next one with its time, and what the case waits for or why it ended. */
export function summaryOf(explained: Explained): string[] {
  const zone = zoneOf(explained);
  const happened = happenedTo(explained, zone);
  const last = happened.findLast(({ isEnd }) => !isEnd);
  const end = happened.find(({ isEnd }) => isEnd);
  const lines = [
    ...(last ? [`Last done   ${when(zone, last.at)}: ${last.words}`] : []),
    ...(end ? [`Ended       ${when(zone, end.at)}: ${end.words}`] : nextLines(explained)),
  ];
  return [timesWords(zone), ...withoutZone(lines, zone)];
}

function nextLines(explained: Explained): string[] {
  const { case: kase, decisions } = explained;
  const latest = decisions.at(-1);
  const undecided = kase ? whyUndecided(explained) : neverDecided(explained);
  if (undecided !== null || !latest) return [`Why         ${undecided ?? ""}`];
  const action = plannedNow(explained);
  // In shadow mode the first line says so, and the second one what would be done.
  const [first, second] = planned(explained, latest, zoneOf(explained));
  if (kase!.arm === "shadow") return [`Next        ${second ?? first}`, SHADOW];
  if (!action) return [`Waits for   ${waitsFor(explained) ?? latest.account.reasons.at(-1) ?? first}`];
  const awaited =
    action.status === "SENT"
      ? AWAITED[action.type]
      : action.decidedAt === null
        ? "its time. What becomes known until then may change it."
        : "the merchant's endpoint, which has not taken the webhook yet.";
  // A retry is asked for ahead of its time; of a card change that was asked for nothing is next but the card.
  const isNext = action.type === "RETRY" || action.status !== "SENT";
  return [...(isNext ? [`Next        ${first}`] : []), `Waits for   ${awaited}`];
}

const SHADOW = "Waits for   the merchant's own system: in shadow mode Dunlin asks for nothing.";
const AWAITED = {
  RETRY: "the outcome of that retry, which the merchant pushes.",
  CARD_CHANGE: "another card or payment method of the customer.",
} as const;
