import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { hashText } from "../domain/hash-text.ts";
import type { CustomerLocale } from "./customer-locale.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import { addDays, atLocalTime, type LocalDay, localDay } from "./local-time.ts";
import { findPayDay, type PayDay } from "./pay-days.ts";
import type { DeclineGroup } from "./rules/decline-groups.ts";

/** Sooner, hardly anything has changed at the bank. */
export const MIN_GAP_MS = 12 * HOUR_MS;
/** Spreads morning retries, so that a bank does not receive all at nine. */
const MAX_JITTER_MS = 15 * 60_000;
/** Overnight payments have arrived, and customers are awake to confirm. */
const MORNING_HOUR = 9;

export interface CandidateTime {
  at: number;
  why:
    | "even"
    | "morning"
    | "pay_day"
    | "day_turn"
    | "month_turn"
    | "outage"
    | "new_card"
    | "last_chance"
    | "after_quiet";
  payDay?: PayDay;
}

/** From facts alone, never the current time. */
export interface RetryInterval {
  /** Time if all are spaced evenly. */
  even: number;
  from: number;
  to: number;
  windowEnd: number;
  jitterMs: number;
}

const countedRetries = (facts: DecisionFacts) =>
  facts.retries.filter(({ status }) => status !== "SCHEDULED" && status !== "CANCELED");

/** The invoice's last attempt or request, or the window's start. */
export function lastAttemptTime(facts: DecisionFacts): number {
  let anchor = facts.unpaidAt.getTime();
  for (const entry of facts.ledger) if (entry.onThisInvoice) anchor = Math.max(anchor, entry.at.getTime());
  for (const retry of countedRetries(facts)) anchor = Math.max(anchor, retry.idealRetryTime.getTime());
  return anchor;
}

/**
 * Spreads the remaining retries evenly; each may be moved by half the gap.
 *
 * @param notBefore  by the bank's advice; 0: none
 */
export function retryIntervalOf(facts: DecisionFacts, retryCount: number, notBefore: number): RetryInterval {
  const anchor = lastAttemptTime(facts);
  const windowEnd = facts.windowEndsAt.getTime();
  const gap = Math.max(0, windowEnd - anchor) / (retryCount + 1);
  const earliest = Math.max(anchor + MIN_GAP_MS, notBefore);
  const even = Math.max(Math.ceil((anchor + gap) / 1000) * 1000, earliest);
  return {
    even,
    from: Math.max(even - gap / 2, earliest),
    to: Math.min(even + gap / 2, windowEnd - 1),
    windowEnd,
    jitterMs: jitterMs(facts),
  };
}

/** May lie in the past, or after the window. */
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

const rankOf = (candidate: CandidateTime) => candidate.payDay?.weight ?? (candidate.why === "month_turn" ? 1 : 0);

function evenlySpacedTime({ even, jitterMs: jitter, windowEnd }: RetryInterval) {
  return even + jitter < windowEnd ? even + jitter : even;
}

/** One good time a day after a missed or forbidden one, until the window ends. */
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

/** Each local day's morning, or its start if a limit caused the decline. */
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

/** Whole seconds, constant for one retry of one case. */
export const jitterMs = (facts: DecisionFacts) =>
  (hashText(`${facts.caseId}:${countedRetries(facts).length + 1}`) % (MAX_JITTER_MS / 1000)) * 1000;
