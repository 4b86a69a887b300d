import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { hashText } from "../domain/hash-text.ts";
import type { CustomerLocale } from "./customer-locale.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import { addDays, atLocalTime, type LocalDay, localDay } from "./local-time.ts";
import { findPayDay, type PayDay } from "./pay-days.ts";
import type { DeclineGroup } from "./rules/decline-groups.ts";

/** Two tries of one invoice are at least this far apart: sooner hardly anything has changed at the bank. */
export const MIN_GAP_MS = 12 * HOUR_MS;
/** Retries of a morning are spread over this long, so that one bank does not get them all at nine. */
const MAX_JITTER_MS = 15 * 60_000;
/** Money booked overnight is there, and a person who is asked to confirm is awake. */
const MORNING_HOUR = 9;

/** A moment for the next try, and why it was chosen. */
export interface CandidateTime {
  at: number;
  why: "even" | "morning" | "pay_day" | "day_turn" | "month_turn" | "outage" | "new_card" | "last_chance";
  payDay?: PayDay;
}

/** What the choice of a moment rests on. All of it facts: none depends on when it is asked. */
export interface RetryInterval {
  /** The try is due here when tries are spread evenly. */
  even: number;
  /** It may be moved between these two. */
  from: number;
  to: number;
  windowEnd: number;
  jitterMs: number;
}

/** Retries that were carried out, or should have been. */
const countedRetries = (known: DecisionFacts) =>
  known.retries.filter(({ status }) => status !== "SCHEDULED" && status !== "CANCELED");

/** The last try of the invoice, made or asked for; the start of the window when there was none since. */
export function lastAttemptTime(known: DecisionFacts): number {
  let anchor = known.unpaidAt.getTime();
  for (const entry of known.ledger) if (entry.onThisInvoice) anchor = Math.max(anchor, entry.at.getTime());
  for (const retry of countedRetries(known)) anchor = Math.max(anchor, retry.idealRetryTime.getTime());
  return anchor;
}

/**
 * The stretch of time in which the next try falls: the tries left are spread evenly over the days left, and each may
 * be moved by half the gap.
 *
 * @param tries  how many are left
 * @param notBefore  the earliest moment by the bank's advice; 0 when there is none
 */
export function retryIntervalOf(known: DecisionFacts, tries: number, notBefore: number): RetryInterval {
  const anchor = lastAttemptTime(known);
  const windowEnd = known.windowEndsAt.getTime();
  const gap = Math.max(0, windowEnd - anchor) / (tries + 1);
  const earliest = Math.max(anchor + MIN_GAP_MS, notBefore);
  const even = Math.max(Math.ceil((anchor + gap) / 1000) * 1000, earliest);
  return {
    even,
    from: Math.max(even - gap / 2, earliest),
    to: Math.min(even + gap / 2, windowEnd - 1),
    windowEnd,
    jitterMs: jitterMs(known),
  };
}

/** The best moment of the span for a decline of that group. It may lie in the past, or past the window's end. */
export function chooseBestTime(
  span: RetryInterval,
  group: DeclineGroup,
  { zone, country }: CustomerLocale,
): CandidateTime {
  const options: CandidateTime[] = [];
  for (const { at, day } of dailyTimes(span, zone, group)) {
    if (at > span.to) break;
    if (group === "LIMIT") options.push({ at, why: day.day === 1 ? "month_turn" : "day_turn" });
    else {
      const paid = group === "FUNDS" ? findPayDay(day, country) : null;
      options.push(paid ? { at, why: "pay_day", payDay: paid } : { at, why: "morning" });
    }
  }
  const distance = ({ at }: CandidateTime) => Math.abs(at - span.even);
  if (group === "LIMIT") options.sort((a, b) => rankOf(b) - rankOf(a) || a.at - b.at);
  else options.sort((a, b) => rankOf(b) - rankOf(a) || distance(a) - distance(b) || a.at - b.at);
  return options[0] ?? { at: evenlySpacedTime(span), why: "even" };
}

const rankOf = (moment: CandidateTime) => moment.payDay?.weight ?? (moment.why === "month_turn" ? 1 : 0);

function evenlySpacedTime({ even, jitterMs: jitter, windowEnd }: RetryInterval) {
  return even + jitter < windowEnd ? even + jitter : even;
}

/** The good moments after one that was missed or is not allowed, one a day, up to the window's end. */
export function* laterTimes(
  span: RetryInterval,
  first: number,
  group: DeclineGroup,
  { zone }: CustomerLocale,
): Generator<CandidateTime> {
  for (const { at } of dailyTimes({ ...span, from: first + 1 }, zone, group)) {
    if (at >= span.windowEnd) return;
    yield { at, why: group === "LIMIT" ? "day_turn" : "morning" };
  }
}

/** One moment a local day from `span.from` on: its morning, or its start when a limit is what failed. */
function* dailyTimes(
  span: RetryInterval,
  zone: CustomerLocale["zone"],
  group: DeclineGroup,
): Generator<{ at: number; day: LocalDay }> {
  const hour = group === "LIMIT" ? 0 : MORNING_HOUR;
  const start = localDay(zone, span.from);
  const days = Math.ceil((span.windowEnd - span.from) / DAY_MS) + 1;
  for (let ahead = 0; ahead <= days; ahead++) {
    const day = addDays(start, ahead);
    const at = atLocalTime(zone, day, hour) + span.jitterMs;
    if (at >= span.from) yield { at, day };
  }
}

/** The same few minutes for the same try of the same case, and others for others, in whole seconds. */
export const jitterMs = (known: DecisionFacts) =>
  (hashText(`${known.caseId}:${countedRetries(known).length + 1}`) % (MAX_JITTER_MS / 1000)) * 1000;
