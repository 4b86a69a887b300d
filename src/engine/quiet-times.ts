import { type NumberedRule, nameRule, type QuietTimes, WEEKDAYS } from "../domain/recovery-rule.ts";
import { type LocalDay, localDay, localHour, type Zone } from "./local-time.ts";
import type { Ruling } from "./rules/attempt-ledger.ts";
import type { Guard } from "./rules/guard.ts";
import { SOURCES } from "./rules/sources.ts";

/** `rule`: its name, as the subject of a sentence. */
export interface RuleQuietTimes extends QuietTimes {
  rule: string;
}

export const quietTimesOf = (rule: NumberedRule | null | undefined): RuleQuietTimes | null =>
  rule?.quiet ? { rule: nameRule(rule), ...rule.quiet } : null;

/**
 * On the customer's clock: a quiet day ends at the customer's midnight, however many hours it has, and a quiet hour is quiet
 * each time that the clock shows it.
 */
export function buildQuietGuard(
  { rule, weekdays, dates, hours }: RuleQuietTimes,
  zone: Zone,
): NonNullable<Guard["quiet"]> {
  const rulingFor = (when: string): Ruling => ({
    sentence: `${rule} allows no retries ${when}.`,
    source: SOURCES.recoveryRule,
  });
  const days = [
    ...dates.map((range) => ({ isQuiet: buildDateTest(range), ruling: rulingFor(describeDates(range)) })),
    ...weekdays.map((name) => ({
      isQuiet: ({ weekday }: LocalDay) => weekday === WEEKDAYS.indexOf(name),
      ruling: rulingFor(`on ${weekdayPlural(name)}`),
    })),
  ];
  const hoursRuling = hours && rulingFor(describeHours(hours));
  const isQuietHour = (at: number) => hours !== null && isBetween(localHour(zone, at), hours.from, hours.to);
  return {
    isQuietHour,
    rulingAt(at) {
      const day = days.length === 0 ? null : localDay(zone, at);
      const quietDay = day && days.find(({ isQuiet }) => isQuiet(day));
      return quietDay?.ruling ?? (isQuietHour(at) ? hoursRuling : null);
    },
  };
}

const isBetween = (hour: number, from: number, to: number) =>
  from < to ? hour >= from && hour < to : hour >= from || hour < to;

const endsOf = (range: string) => {
  const [from, to = from] = range.split("..") as [string, string?];
  return { from, to };
};
const numberOf = (date: string) => Number(date.replaceAll("-", ""));

/** Dates without a year hold in each year, and a range of them may contain the turn of the year. */
function buildDateTest(range: string): (day: LocalDay) => boolean {
  const { from, to } = endsOf(range);
  const [first, last] = [numberOf(from), numberOf(to)];
  const isYearly = from.length === "MM-DD".length;
  return ({ year, month, day }) => {
    const date = (isYearly ? 0 : year * 10_000) + month * 100 + day;
    return first <= last ? date >= first && date <= last : date >= first || date <= last;
  };
}

/** "on Sundays, from 24 December to 1 January and between 22:00 and 07:00" */
export function describeQuietTimes({ weekdays, dates, hours }: QuietTimes): string {
  const parts = [
    ...(weekdays.length > 0 ? [`on ${LIST_FORMAT.format(weekdays.map(weekdayPlural))}`] : []),
    ...dates.map(describeDates),
    ...(hours ? [describeHours(hours)] : []),
  ];
  return LIST_FORMAT.format(parts);
}

const LIST_FORMAT = new Intl.ListFormat("en-GB");
const MONTHS = "January February March April May June July August September October November December".split(" ");

const weekdayPlural = (name: string) => `${name[0]}${name.slice(1).toLowerCase()}s`;

function describeDates(range: string): string {
  const { from, to } = endsOf(range);
  return from === to ? `on ${describeDate(from)}` : `from ${describeDate(from)} to ${describeDate(to)}`;
}

function describeDate(date: string): string {
  const [day, month, year] = date.split("-").reverse().map(Number);
  return `${day} ${MONTHS[month! - 1]}${year === undefined ? "" : ` ${year}`}`;
}

const describeHours = ({ from, to }: NonNullable<QuietTimes["hours"]>) =>
  `between ${formatHour(from)} and ${formatHour(to)}`;
const formatHour = (hour: number) => `${String(hour).padStart(2, "0")}:00`;
