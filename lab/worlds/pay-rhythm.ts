/** In local days. Pay due at a weekend is posted on the Friday before. */
export type PayRhythm =
  | { kind: "weekly"; weekday: number }
  | { kind: "fortnightly"; weekday: number; phase: number }
  | { kind: "four_weekly"; phase: number }
  | { kind: "dated"; days: readonly number[] }
  | { kind: "business_day"; nth: number }
  | { kind: "nth_weekday"; nth: number; weekday: number }
  | { kind: "irregular"; perDay: number };

const daysByRhythm = new WeakMap<PayRhythm, Map<number, number>>();

/** 0 or 1, or a share for irregular pay. `day`: local days since 1970. */
export function payDueChance(rhythm: PayRhythm, day: number): number {
  let days = daysByRhythm.get(rhythm);
  if (!days) {
    days = new Map();
    daysByRhythm.set(rhythm, days);
  }
  let due = days.get(day);
  if (due === undefined) {
    due = computeDueChance(rhythm, day);
    days.set(day, due);
  }
  return due;
}

export const buildIsPayDay = (rhythm: PayRhythm | undefined) =>
  rhythm === undefined || rhythm.kind === "irregular" ? null : (day: number) => payDueChance(rhythm, day) > 0;

function computeDueChance(rhythm: PayRhythm, day: number): number {
  const weekday = (day + 4) % 7;
  switch (rhythm.kind) {
    case "weekly":
      return Number(weekday === rhythm.weekday);
    case "fortnightly":
      return Number(weekday === rhythm.weekday && Math.floor((day + 4) / 7) % 2 === rhythm.phase % 2);
    case "four_weekly":
      return Number(day % 28 === rhythm.phase);
    case "dated":
      return Number(rhythm.days.some((date) => postedOn(date, day, weekday)));
    case "business_day":
      return Number(isBusinessDay(weekday) && businessDays(day) === rhythm.nth);
    case "nth_weekday":
      return Number(weekday === rhythm.weekday && Math.ceil(dateOf(day) / 7) === rhythm.nth);
    case "irregular":
      return rhythm.perDay;
  }
}

const isBusinessDay = (weekday: number) => weekday !== 0 && weekday !== 6;
const dateOf = (day: number) => new Date(day * 86_400_000).getUTCDate();

function postedOn(date: number, day: number, weekday: number) {
  if (!isBusinessDay(weekday)) return false;
  for (const nominal of weekday === 5 ? [day, day + 1, day + 2] : [day]) {
    const at = new Date(nominal * 86_400_000);
    const lastDate = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 0)).getUTCDate();
    if (at.getUTCDate() === Math.min(date, lastDate)) return true;
  }
  return false;
}

function businessDays(day: number) {
  let count = 0;
  for (let n = day - dateOf(day) + 1; n <= day; n++) if (isBusinessDay((n + 4) % 7)) count++;
  return count;
}
