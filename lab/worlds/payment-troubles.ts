import { drawFailurePeriod, type FailurePeriod } from "./failure-period.ts";
import { chooseWeighted, DAY_MS, HOUR_MS, keyedUniform } from "./keyed-uniform.ts";

export interface PaymentTrouble {
  code: string;
  spell: FailurePeriod;
  /** Whether its end is on the calendar, so the oracle knows it. */
  isKnown: boolean;
}

type Kind = "short" | "days" | "for_ever" | "midnight" | "month" | "updated" | "expired" | "gone" | "confirm";

/** With missing money and outages, 13% of invoices fail. */
const TROUBLE_RATE = 0.055;
const TROUBLE_KINDS: readonly (readonly [Kind, number])[] = [
  ["short", 56],
  ["days", 18],
  ["for_ever", 11],
  ["midnight", 7],
  ["month", 3],
  ["updated", 11],
  ["expired", 9],
  ["gone", 11],
  ["confirm", 3],
];

const SHORT_CODES = [
  ["05", 60],
  ["59", 20],
  ["62", 20],
] as const;

/** null for most. `scale` multiplies their share. */
export function drawTrouble(
  seed: number,
  customer: number,
  cycle: number,
  utcOffsetHours: number,
  at: number,
  scale: number,
): PaymentTrouble | null {
  const draw = (purpose: number) => keyedUniform(seed, customer, cycle * 64 + purpose, 7);
  if (draw(1) >= TROUBLE_RATE * scale) return null;
  const kind = chooseWeighted(draw(2), TROUBLE_KINDS);
  const lasting = (code: string, shortest: number, longest: number): PaymentTrouble => ({
    code,
    spell: drawFailurePeriod(at, shortest, longest, draw(3)),
    isKnown: false,
  });
  switch (kind) {
    case "short":
      return lasting(chooseWeighted(draw(4), SHORT_CODES), 3 * HOUR_MS, 3 * DAY_MS);
    case "days":
      return lasting("05", 2 * DAY_MS, 16 * DAY_MS);
    case "for_ever":
      return lasting("05", Infinity, Infinity);
    case "updated":
      return lasting("54", DAY_MS, 12 * DAY_MS);
    case "expired":
      return lasting("54", Infinity, Infinity);
    case "gone": {
      const codes = ["14", "41", "43", "46", "R1"];
      return lasting(codes[Math.floor(draw(4) * codes.length)]!, Infinity, Infinity);
    }
    case "confirm":
      return lasting("1A", Infinity, Infinity);
    case "midnight":
    case "month": {
      const endsAt = kind === "midnight" ? nextMidnight(at, utcOffsetHours) : nextMonth(at, utcOffsetHours);
      const code = draw(4) < 0.6 ? "61" : "65";
      return { code, spell: { startsAt: at, shortest: 0, longest: 1, endsAt }, isKnown: true };
    }
  }
}

export const nextMidnight = (at: number, utcOffsetHours: number) =>
  (Math.floor((at + utcOffsetHours * HOUR_MS) / DAY_MS) + 1) * DAY_MS - utcOffsetHours * HOUR_MS;

export function nextMonth(at: number, utcOffsetHours: number) {
  const local = new Date(at + utcOffsetHours * HOUR_MS);
  return Date.UTC(local.getUTCFullYear(), local.getUTCMonth() + 1, 1) - utcOffsetHours * HOUR_MS;
}
