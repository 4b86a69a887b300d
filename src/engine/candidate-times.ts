import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { hashText } from "../domain/hash-text.ts";
import type { CustomerLocale } from "./customer-locale.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import { addDays, atLocalTime, type LocalDay, localDay } from "./local-time.ts";
import { findPayDay, type PayDay } from "./pay-days.ts";
import type { DeclineGroup } from "./rules/decline-groups.ts";

/** Minimum time between two retries of one invoice. Sooner, hardly anything has changed at the bank. */
export const MIN_GAP_MS = 12 * HOUR_MS;
/** Morning retries are spread over this time, so that a bank does not receive all of them at nine. */
const MAX_JITTER_MS = 15 * 60_000;
/** By then, payments booked overnight have arrived, and a customer who has to confirm is awake. */
const MORNING_HOUR = 9;

/** A time for the next retry, and the reason for it. */
export interface CandidateTime {
  at: number;
  why: "even" | "morning" | "pay_day" | "day_turn" | "month_turn" | "outage" | "new_card" | "last_chance";
  payDay?: PayDay;
}

/** The interval in which a time is chosen. It depends on facts alone, never on the current time. */
export interface RetryInterval {
  /** The time of the retry if all are spaced evenly. */
  even: number;
  /** The limits between which it may be moved. */
  from: number;
  to: number;
  windowEnd: number;
  jitterMs: number;
}

/** Returns the retries that were executed or should have been. */
const countedRetries = (known: DecisionFacts) =>
  known.retries.filter(({ status }) => status !== "SCHEDULED" && status !== "CANCELED");

/** Returns the time of the last attempt or request on the invoice, or the start of the window. */
export function lastAttemptTime(known: DecisionFacts): number {
  let anchor = known.unpaidAt.getTime();
  for (const entry of known.ledger) if (entry.onThisInvoice) anchor = Math.max(anchor, entry.at.getTime());
  for (const retry of countedRetries(known)) anchor = Math.max(anchor, retry.idealRetryTime.getTime());
  return anchor;
}

/**
 * Returns the interval of the next retry: the remaining retries are spaced evenly over the remaining days, and each may be moved
 * by half the gap.
 *
 * @param tries  remaining retries
 * @param notBefore  the earliest time by the bank's advice; 0: none
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

/** Returns the best time of the interval for a decline of that group. It may lie in the past, or after the window. */
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

/** Yields the good times after one that was missed or is forbidden, one a day, until the end of the window. */
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

/** Yields one time per local day from `span.from` on: its morning, or its start if a limit caused the decline. */
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

/** Returns a delay in whole seconds that is constant for one retry of one case, and differs between cases. */
export const jitterMs = (known: DecisionFacts) =>
  (hashText(`${known.caseId}:${countedRetries(known).length + 1}`) % (MAX_JITTER_MS / 1000)) * 1000;
