import { TIMESTAMP_RULE } from "./timestamp.ts";

export const DATE_ORDERS = ["ymd", "dmy", "mdy"] as const;
export type DateOrder = (typeof DATE_ORDERS)[number];

const RFC_3339_PATTERN = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/;
const ISO_DATE = /^(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)/;
const YEAR_FIRST_DATE = /^(?<y>\d{4})([-./])(?<m>\d\d?)\2(?<d>\d\d?)/;
/** Dots are not used where the month comes first. */
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
/** `02-Jan-2026`, `Jan 2, 2026`, `2026-Jan-02` */
const NAMED_MONTH_DATES = [
  `^${WEEKDAY}${DAY_OF_MONTH}(?:[-/]|\\.? ?| of )${MONTH}(?:[-/ ]|, ?)?${YEAR}`,
  `^${WEEKDAY}${MONTH}[-/ ]?${DAY_OF_MONTH}(?:[-/ ]|, ?)${YEAR}`,
  `^(?<y>\\d{4})[-/. ]?${MONTH}[-/. ]?(?<d>\\d\\d?)(?!\\d)`,
].map((form) => new RegExp(form, "i"));

/**
 * `Z`, `UTC`, PostgreSQL's `+00`, Ruby's `-0800`, JavaScript's `GMT+0100 (…)`, and Go's `+0530 IST` with an optional monotonic
 * clock reading.
 */
const ZONE_PATTERN =
  "(?<zone>Z|UTC|GMT|(?:UTC|GMT)?(?<offset>[+-]\\d\\d(?::?\\d\\d)?)(?: (?<abbreviation>(?![AP]M)[A-Z]{2,5}|[+-]\\d{2,4}))?(?: \\([^()]*\\))?)(?: m=[+-]\\d+\\.\\d+)?";
const TIME_PATTERN = new RegExp(
  `^(?:(?:T|,? )(?<hour>\\d\\d?):(?<minute>\\d\\d)(?::(?<second>\\d\\d(?:\\.\\d+)?))?(?: ?(?<half>[AP])M)?(?: ?${ZONE_PATTERN})?)?$`,
  "i",
);

/**
 * Returns RFC 3339 if the time is unambiguous, else the text. A day means its start in UTC.
 *
 * @param order  from --dates; with it, a time without a zone is in UTC
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
  // Possibly local.
  if (zone === undefined || (zone === "" && order === null && time.hour !== undefined)) return moment;
  const { y, m, month, d } = date.groups!;
  const number = month === undefined ? m! : String(MONTHS.indexOf(month.slice(0, 3).toLowerCase()) + 1);
  const hours = half ? toHour24(Number(hour), half) : hour;
  return `${y}-${padTwoDigits(number)}-${padTwoDigits(d!)}T${padTwoDigits(hours)}:${minute}:${second}${zone || "Z"}`;
}

function matchDate(text: string, order: DateOrder | null): RegExpExecArray | null {
  const numeric =
    order === null ? ISO_DATE.exec(text) : (YEAR_FIRST_DATE.exec(text) ?? DATE_PATTERNS[order].exec(text));
  if (numeric) return numeric;
  for (const form of NAMED_MONTH_DATES) {
    const named = form.exec(text);
    if (named) return named;
  }
  return null;
}

/** "" without a zone; undefined if its parts contradict each other. */
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
/** 12 AM is midnight; 13 PM does not exist. */
const toHour24 = (hour: number, half: string) =>
  hour < 1 || hour > 12 ? "99" : String((hour % 12) + (/p/i.test(half) ? 12 : 0));

const DATE_EXAMPLES: Readonly<Record<DateOrder, string>> = {
  ymd: "2026-01-31 12:00",
  dmy: "31.01.2026 12:00",
  mdy: "01/31/2026 12:00",
};

/** 25.11.26 or 25-NOV-26: the century is unknown, and usually the order too. */
const TWO_DIGIT_YEAR = new RegExp(
  `^(?:\\d\\d?([-./])\\d\\d?\\1|\\d\\d?[-/. ]?${MONTH}[-/. ]?|${MONTH.replace("?<month>", "?:")}[-/. ]?\\d\\d?(?:[-/ ]|, ?))\\d\\d(?!\\d)`,
  "i",
);
const TWO_DIGIT_YEAR_RULE = "has a two-digit year, which is ambiguous: write four digits, as in";

/**
 * @param written  null for JSON, which has no options
 * @param text  the invalid text
 */
export function describeDateRule(written: Readonly<{ dates: DateOrder | null }> | null, text = ""): string {
  const dates = written?.dates ?? null;
  const isShort = TWO_DIGIT_YEAR.test(text.trim());
  const other = written ? "; to read dates in another form, use --dates ymd, dmy or mdy" : "";
  if (isShort && dates === null) return `${TWO_DIGIT_YEAR_RULE} 2026-01-31${other}`;
  if (isShort) return `${TWO_DIGIT_YEAR_RULE} ${DATE_EXAMPLES[dates!]} (--dates ${dates})`;
  if (dates !== null)
    return `must be a real date from 1970 to 2199, such as ${DATE_EXAMPLES[dates]} (--dates ${dates})`;
  return `${TIMESTAMP_RULE}, or a day such as 2026-01-31${other}`;
}
