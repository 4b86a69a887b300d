import { addDays, atLocalTime, findZone, type LocalDay, localDay, type Zone } from "../engine/local-time.ts";

export const PERIOD_NAMES = ["7d", "4w", "12w", "12m", "quarter"] as const;
export type PeriodName = (typeof PERIOD_NAMES)[number];

/** A span with its steps, in the reader's time zone. */
export interface Period {
  /** Null: by dates. */
  name: PeriodName | null;
  from: Date;
  /** Exclusive: when the last day ends, or now. */
  to: Date;
  /** From `from` until the last step ends, which may lie ahead. Neighbors make a step. */
  bounds: Date[];
  step: "day" | "week" | "month";
}

const DAYS_IN_STEPS_OF_DAYS = 31;
const DAYS_IN_STEPS_OF_WEEKS = 200;
const DAYS_MAX = 1_100;

/** Days between two dates. */
const daysBetween = (one: LocalDay, other: LocalDay) =>
  Math.round(
    (Date.UTC(other.year, other.month - 1, other.day) - Date.UTC(one.year, one.month - 1, one.day)) / 86_400_000,
  );

const monthStart = ({ year, month }: LocalDay, months = 0): LocalDay =>
  addDays({ year, month: month + months, day: 1, weekday: 0 }, 0);

/** The day's Monday. */
const weekStart = (day: LocalDay): LocalDay => addDays(day, -((day.weekday + 6) % 7));

/** A period that ends now. Weeks begin on Monday, and the present one is the last. */
export function namedPeriod(name: PeriodName, now: Date, zoneName: string): Period {
  const zone = findZone(zoneName)!;
  const today = localDay(zone, now.getTime());
  const starts: Record<PeriodName, LocalDay> = {
    "7d": addDays(today, -6),
    "4w": addDays(weekStart(today), -21),
    "12w": addDays(weekStart(today), -77),
    "12m": monthStart(today, -11),
    quarter: monthStart(today, -((today.month - 1) % 3)),
  };
  const step = name === "7d" ? "day" : name === "12m" ? "month" : "week";
  return buildPeriod(zone, name, starts[name], addDays(today, 1), step, now);
}

/**
 * Whole days.
 *
 * @param from, to  dates such as 2027-03-01; `to` is the last day
 * @returns null if `to` is before `from`, or too far away
 */
export function datedPeriod(from: string, to: string, now: Date, zoneName: string): Period | null {
  const zone = findZone(zoneName)!;
  const [first, last] = [parseDay(from), parseDay(to)];
  if (first === null || last === null) return null;
  const end = addDays(last, 1);
  const days = daysBetween(first, end);
  if (days <= 0 || days > DAYS_MAX) return null;
  const step = days <= DAYS_IN_STEPS_OF_DAYS ? "day" : days <= DAYS_IN_STEPS_OF_WEEKS ? "week" : "month";
  return buildPeriod(zone, null, first, end, step, now);
}

function parseDay(text: string): LocalDay | null {
  const [, year, month, day] = (/^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []).map(Number) as [
    number,
    number,
    number,
    number,
  ];
  if (year === undefined || Number.isNaN(year)) return null;
  const parsed = addDays({ year, month, day, weekday: 0 }, 0);
  return parsed.month === month && parsed.day === day ? parsed : null;
}

/** @param end  the day after the last */
function buildPeriod(
  zone: Zone,
  name: PeriodName | null,
  first: LocalDay,
  end: LocalDay,
  step: Period["step"],
  now: Date,
): Period {
  const at = (day: LocalDay) => new Date(atLocalTime(zone, day, 0));
  const bounds: Date[] = [];
  for (let day = first; daysBetween(day, end) > 0; day = nextStep(day, step, first)) bounds.push(at(day));
  const last = step === "day" || name === null ? end : nextStep(localDay(zone, bounds.at(-1)!.getTime()), step, first);
  bounds.push(at(daysBetween(last, end) > 0 ? end : last));
  return { name, from: at(first), to: new Date(Math.min(at(end).getTime(), now.getTime() + 1)), bounds, step };
}

/** The first week begins with the period, and the others on Mondays. */
const nextStep = (day: LocalDay, step: Period["step"], first: LocalDay): LocalDay =>
  step === "day"
    ? addDays(day, 1)
    : step === "week"
      ? addDays(day === first ? weekStart(day) : day, 7)
      : monthStart(day, 1);

const MONTHS_IN_QUARTER = 3;

/**
 * The period before, with as many days, up to the same time. For a quarter these are the same days of the quarter before. Its
 * steps stand beside those in `period`.
 */
export function periodBefore(period: Period, zoneName: string): Period {
  const zone = findZone(zoneName)!;
  const dayOf = (at: Date) => localDay(zone, at.getTime());
  const first = dayOf(period.from);
  const isQuarter = period.name === "quarter";
  const isMonths = period.step === "month" || isQuarter;
  const months = isQuarter ? MONTHS_IN_QUARTER : period.bounds.length - 1;
  const days = daysBetween(first, dayOf(period.bounds.at(-1)!));
  const shift = (at: Date) => {
    const day = dayOf(at);
    const start = atLocalTime(zone, day, 0);
    const moved = isMonths ? { ...monthStart(day, -months), day: day.day } : addDays(day, -days);
    return new Date(atLocalTime(zone, addDays(moved, 0), 0) + (at.getTime() - start));
  };
  return {
    name: null,
    from: shift(period.from),
    to: shift(period.to),
    bounds: period.bounds.map(shift),
    step: period.step,
  };
}

/** All month starts that a span touches, cut at its ends. Neighbors make a step. */
export function monthBounds(from: Date, to: Date, zoneName: string): Date[] {
  const zone = findZone(zoneName)!;
  const bounds = [from];
  for (let day = monthStart(localDay(zone, from.getTime()), 1); ; day = monthStart(day, 1)) {
    const start = new Date(atLocalTime(zone, day, 0));
    if (start >= to) return [...bounds, to];
    bounds.push(start);
  }
}
