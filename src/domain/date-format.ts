import { TIMESTAMP_RULE } from "./timestamp.ts";

/** Orders of year, month and day. */
export const DATE_ORDERS = ["ymd", "dmy", "mdy"] as const;
export type DateOrder = (typeof DATE_ORDERS)[number];

const RFC_3339_PATTERN = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/;
const ISO_DATE = /^(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)/;
const YEAR_FIRST_DATE = /^(?<y>\d{4})([-./])(?<m>\d\d?)\2(?<d>\d\d?)/;
/** Nobody writes points behind months that come first. */
const DATE_PATTERNS: Readonly<Record<DateOrder, RegExp>> = {
  ymd: YEAR_FIRST_DATE,
  dmy: /^(?<d>\d\d?)([-./])(?<m>\d\d?)\2(?<y>\d{4})/,
  mdy: /^(?<m>\d\d?)([-/])(?<d>\d\d?)\2(?<y>\d{4})/,
};

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const MONTH =
  "(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\\.?";
const WEEKDAY = "(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[,.]? )?";
const DAY_OF_MONTH = "(?<d>\\d\\d?)(?:st|nd|rd|th)?";
const YEAR = "(?<y>\\d{4})(?!\\d)";
/** `02-Jan-2026`, `2 January 2026`, `Jan 2, 2026`, `2026-Jan-02`: a month with a name is in no doubt, wherever it stands. */
const NAMED_MONTH_DATES = [
  `^${WEEKDAY}${DAY_OF_MONTH}(?:[-/]|\\.? ?| of )${MONTH}(?:[-/ ]|, ?)?${YEAR}`,
  `^${WEEKDAY}${MONTH}[-/ ]?${DAY_OF_MONTH}(?:[-/ ]|, ?)${YEAR}`,
  `^(?<y>\\d{4})[-/. ]?${MONTH}[-/. ]?(?<d>\\d\\d?)(?!\\d)`,
].map((form) => new RegExp(form, "i"));

/**
 * A zone as programs write it: `Z`, `UTC`, PostgreSQL's `+00`, Ruby's `-0800`, JavaScript's `GMT+0100 (…)`, and Go's `+0530 IST`, behind which the reading of
 * a monotonic clock may stand.
 */
const ZONE_PATTERN =
  "(?<zone>Z|UTC|GMT|(?:UTC|GMT)?(?<offset>[+-]\\d\\d(?::?\\d\\d)?)(?: (?<abbreviation>(?![AP]M)[A-Z]{2,5}|[+-]\\d{2,4}))?(?: \\([^()]*\\))?)(?: m=[+-]\\d+\\.\\d+)?";
const TIME_PATTERN = new RegExp(
  `^(?:(?:T|,? )(?<hour>\\d\\d?):(?<minute>\\d\\d)(?::(?<second>\\d\\d(?:\\.\\d+)?))?(?: ?(?<half>[AP])M)?(?: ?${ZONE_PATTERN})?)?$`,
  "i",
);

/**
 * Returns a moment as RFC 3339 writes it, if it can mean only one thing, and otherwise the text as it is. A day is its beginning in UTC.
 *
 * @param order  of what `dates` says, where somebody said it; then a time without a zone is in UTC
 */
export function toTimestampText(text: string, order: DateOrder | null): string {
  const moment = text.trim();
  if (RFC_3339_PATTERN.test(moment)) return moment;
  const spaced = moment.replace(/\s+/g, " ");
  const date = matchDate(spaced, order);
  const time = date && TIME_PATTERN.exec(spaced.slice(date[0].length))?.groups;
  if (!time) return moment;
  const { hour = "0", minute = "00", second = "00", half } = time;
  const zone = parseZone(time);
  // Whoever says nothing of a zone may mean a local one.
  if (zone === undefined || (zone === "" && order === null && time.hour !== undefined)) return moment;
  const { y, m, month, d } = date.groups!;
  const number = month === undefined ? m! : String(MONTHS.indexOf(month.slice(0, 3).toLowerCase()) + 1);
  const hours = half ? toHour24(Number(hour), half) : hour;
  return `${y}-${padTwoDigits(number)}-${padTwoDigits(d!)}T${padTwoDigits(hours)}:${minute}:${second}${zone || "Z"}`;
}

function matchDate(text: string, order: DateOrder | null): RegExpExecArray | null {
  const known = order === null ? ISO_DATE.exec(text) : (YEAR_FIRST_DATE.exec(text) ?? DATE_PATTERNS[order].exec(text));
  if (known) return known;
  for (const form of NAMED_MONTH_DATES) {
    const named = form.exec(text);
    if (named) return named;
  }
  return null;
}

/** `Z` or an offset with a colon, "" where there is none; undefined: its parts contradict each other. */
function parseZone({
  zone,
  offset,
  abbreviation = "",
}: Readonly<Record<string, string | undefined>>): string | undefined {
  if (zone === undefined) return "";
  if (offset === undefined) return "Z";
  const digits = offset.replace(/\D/g, "").padEnd(4, "0");
  if (/^(?:UTC|GMT|Z)$/i.test(abbreviation) && digits !== "0000") return undefined;
  return `${offset[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

const padTwoDigits = (digits: string) => digits.padStart(2, "0");
/** 12 AM is midnight; 13 PM is no hour. */
const toHour24 = (hour: number, half: string) =>
  hour < 1 || hour > 12 ? "99" : String((hour % 12) + (/p/i.test(half) ? 12 : 0));

const DATE_EXAMPLES: Readonly<Record<DateOrder, string>> = {
  ymd: "2026-01-31 12:00",
  dmy: "31.01.2026 12:00",
  mdy: "01/31/2026 12:00",
};

/** 25.11.26, 11/25/26, 26-11-25 or 25-NOV-26: nobody can tell of which century, and mostly not which part it is. */
const TWO_DIGIT_YEAR = new RegExp(
  `^(?:\\d\\d?([-./])\\d\\d?\\1|\\d\\d?[-/. ]?${MONTH}[-/. ]?|${MONTH.replace("?<month>", "?:")}[-/. ]?\\d\\d?(?:[-/ ]|, ?))\\d\\d(?!\\d)`,
  "i",
);
const TWO_DIGIT_YEAR_RULE = "has a year of two digits, which may be read in several ways: write all four, as in";

/**
 * What a moment must be, for messages.
 *
 * @param written  null: of JSON, for which there is no option
 * @param text  that it is
 */
export function describeDateRule(written: Readonly<{ dates: DateOrder | null }> | null, text = ""): string {
  const dates = written?.dates ?? null;
  const isShort = TWO_DIGIT_YEAR.test(text.trim());
  const other = written ? "; dates in another form are read with --dates ymd, dmy or mdy" : "";
  if (isShort && dates === null) return `${TWO_DIGIT_YEAR_RULE} 2026-01-31${other}`;
  if (isShort) return `${TWO_DIGIT_YEAR_RULE} ${DATE_EXAMPLES[dates!]} (--dates ${dates})`;
  if (dates !== null)
    return `must be a real date from 1970 to 2199, such as ${DATE_EXAMPLES[dates]} (--dates ${dates})`;
  return `${TIMESTAMP_RULE}, or a day such as 2026-01-31${other}`;
}
