import type { ConnectorName } from "../domain/connection.ts";
import { formatMoneyText } from "../domain/currency.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/durations.ts";
import { UNKNOWN_CODES_DAYS } from "../merchants/find-unknown-codes.ts";
import type { EndpointAnswer } from "../tables/attention.ts";
import type { LargeAmount } from "../tables/large-amounts.ts";

/** A title and one or two sentences about it. */
export interface AttentionWords {
  title: string;
  detail: string;
}

const COUNT_FORMAT = new Intl.NumberFormat("en-US");
/** "1 invoice", "1,200 invoices" */
const countOf = (count: number, one: string, many: string) =>
  `${COUNT_FORMAT.format(count)} ${count === 1 ? one : many}`;

const UNITS: readonly (readonly [ms: number, one: string, many: string])[] = [
  [DAY_MS, "day", "days"],
  [HOUR_MS, "hour", "hours"],
  [MINUTE_MS, "minute", "minutes"],
];

/** "3 hours"; hours up to two days, then days. */
function formatAge(ms: number): string {
  const [unitMs, one, many] = UNITS.find(([each], index) => ms >= (index === 0 ? 2 * each : each)) ?? UNITS.at(-1)!;
  return countOf(Math.max(1, Math.floor(ms / unitMs)), one, many);
}

const ageOf = (at: Date, now: Date) => formatAge(now.getTime() - at.getTime());

const waitingText = (waiting: number) =>
  waiting === 0 ? "No event waits." : `${countOf(waiting, "event waits", "events wait")}.`;

export function describeEndpoint(
  { failingSince, isPaused }: { failingSince: Date | null; isPaused: boolean },
  waiting: number,
  answer: EndpointAnswer | null,
  now: Date,
): AttentionWords {
  const failed = failingSince ? `Every attempt has failed for ${ageOf(failingSince, now)}` : "Every attempt failed";
  const answered = answer?.status ? `; it last answered ${answer.status}` : "";
  return {
    title: isPaused ? "Dunlin paused deliveries to your endpoint" : "Your endpoint fails",
    detail: `${waitingText(waiting)} ${failed}${answered}.`,
  };
}

export const describeGivenUp = (count: number, since: Date, now: Date): AttentionWords => ({
  title: `Dunlin gave up ${countOf(count, "event", "events")}`,
  detail: `Every attempt to deliver ${count === 1 ? "it" : "them"} failed. ${count === 1 ? "It" : "The oldest"} was given up ${ageOf(since, now)} ago. Send ${count === 1 ? "it" : "them"} again.`,
});

export const describeStoppedIngest = (lastAt: Date, gapMs: number, now: Date): AttentionWords => ({
  title: "Your system pushes no records",
  detail: `The last ones arrived ${ageOf(lastAt, now)} ago. Usually the longest gap is ${formatAge(gapMs)}.`,
});

const CONNECTOR_WORDS: Readonly<Record<ConnectorName, string>> = { stripe: "Stripe" };

export function describeConnector(
  name: ConnectorName,
  { seenAt, isSilent }: { seenAt: Date | null; isSilent: boolean },
  problems: number,
  now: Date,
): AttentionWords {
  const failing = problems === 0 ? "" : `${countOf(problems, "step fails", "steps fail")}.`;
  if (!isSilent) return { title: `The ${CONNECTOR_WORDS[name]} connector has problems`, detail: failing };
  const seen = seenAt ? `It last reported ${ageOf(seenAt, now)} ago.` : "It has never reported.";
  return { title: `The ${CONNECTOR_WORDS[name]} connector does not run`, detail: `${seen} ${failing}`.trim() };
}

export function describeEnding(count: number, onLastRetry: number, firstEndsAt: Date, days: number, now: Date) {
  const left = firstEndsAt.getTime() - now.getTime();
  const first = left <= 0 ? "now" : `in ${formatAge(left)}`;
  return {
    title: `Recovery ends within ${days} days for ${countOf(count, "invoice", "invoices")}`,
    detail: `The first ends ${first}.${onLastRetry === 0 ? "" : ` ${COUNT_FORMAT.format(onLastRetry)} of them ${onLastRetry > 1 ? "have" : "has"} one retry left.`}`,
  };
}

export const describeCardChanges = (count: number, oldestAt: Date, now: Date): AttentionWords => ({
  title: `${countOf(count, "card change has", "card changes have")} no answer`,
  detail: `Dunlin requested the oldest ${ageOf(oldestAt, now)} ago.`,
});

export const describeContradictions = (count: number): AttentionWords => ({
  title: `${countOf(count, "invoice has", "invoices have")} contradictory data`,
  detail: `Dunlin does not retry ${count === 1 ? "it until its" : "them until their"} data changes.`,
});

export const describeUnknownCodes = (count: number, declines: number): AttentionWords => ({
  title: `Dunlin does not know ${countOf(count, "decline code", "decline codes")}`,
  detail: `${countOf(declines, "decline has", "declines have")} ${count === 1 ? "it" : "them"} in the last ${UNKNOWN_CODES_DAYS} days.`,
});

export const describeLargeInvoices = (count: number, amounts: readonly LargeAmount[]): AttentionWords => ({
  title: `${countOf(count, "large invoice is", "large invoices are")} in recovery`,
  detail: `Large means at least ${amounts.map(({ amount, currency }) => formatMoneyText(amount, currency)).join(", ")}.`,
});
