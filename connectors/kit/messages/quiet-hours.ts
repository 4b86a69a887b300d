/** Hours of the day in a time zone, from 0 to 23. `from` is later than `to` if they span midnight; equal: no quiet hours. */
export interface QuietHours {
  zone: string;
  from: number;
  to: number;
}

const STEP_MS = 15 * 60_000;
const STEPS_MAX = 2 * 24 * 4;

/** Returns the first quarter of an hour from `at` on that is not quiet. Steps, so that days with 23 or 25 hours are right. */
export function nextLoudTime(at: Date, { zone, from, to }: QuietHours): Date {
  const format = new Intl.DateTimeFormat("en", { timeZone: zone, hour: "numeric", hourCycle: "h23" });
  const isQuiet = (ms: number) => {
    const hour = Number(format.format(ms));
    return from <= to ? hour >= from && hour < to : hour >= from || hour < to;
  };
  if (!isQuiet(at.getTime())) return at;
  let ms = Math.ceil(at.getTime() / STEP_MS) * STEP_MS;
  for (let steps = 0; steps < STEPS_MAX && isQuiet(ms); steps++) ms += STEP_MS;
  return new Date(ms);
}
