import { DAY_MS } from "../../domain/durations.ts";
import { momentIn, YEAR_MAX } from "../../domain/moment.ts";

/** Of a moment as JavaScript writes it: 2026-01-31T12:00:00.000Z. */
export const USUAL_LENGTH = 24;

/**
 * What four bytes of it must be: `form` in those of their bits that tell a digit from all but six others, or a sign from any other. Those six look like
 * digits no more when `six` is added.
 */
interface Four {
  bits: number;
  form: number;
  six: number;
}

const HOUR: Four = { bits: 0x0000fff0, form: 0x00005430, six: 0x00000006 }; // ..T1, behind two digits of the day
const MINUTE: Four = { bits: 0xf0fff0f0 | 0, form: 0x303a3030, six: 0x06000606 }; // 2:00
const SECOND: Four = { bits: 0xfff0f0ff | 0, form: 0x3a30302e, six: 0x00060600 }; // :00.
const MILLISECOND: Four = { bits: 0xf0f0f0ff | 0, form: 0x3030305a, six: 0x06060600 }; // 000Z

const hasForm = (four: number, { bits, form, six }: Four) => (four & bits) === form && ((four + six) & bits) === form;

/** The value of a digit. `place`: of its byte, counted from the last one. */
const digit = (four: number, place: 0 | 1 | 2 | 3) => (four >> (8 * place)) & 0xf;

// The days that were read last, by their last digit: year, month and day as they are written, and when they begin.
const DAYS_KEPT = 16;
const years = new Int32Array(DAYS_KEPT).fill(-1); // which no four bytes of ASCII are
const months = new Int32Array(DAYS_KEPT);
const days = new Int32Array(DAYS_KEPT);
const begins = new Float64Array(DAYS_KEPT);

/**
 * As `momentIn`, of `USUAL_LENGTH` bytes: quicker where they are a moment as JavaScript writes it, of a day that came lately.
 *
 * @param view  over the memory of `bytes`
 */
export function usualMomentIn(bytes: Uint8Array, view: DataView, from: number, yearMax = YEAR_MAX): number {
  const year = view.getInt32(from);
  const month = view.getInt32(from + 4);
  const dayHour = view.getInt32(from + 8);
  const day = dayHour >> 16;
  const kept = day & 0xf;
  if (years[kept] === year && months[kept] === month && days[kept] === day) {
    const time = timeOfDay(dayHour, view.getInt32(from + 12), view.getInt32(from + 16), view.getInt32(from + 20));
    if (time >= 0) return begins[kept]! + time;
  }
  const moment = momentIn(bytes, from, from + USUAL_LENGTH, yearMax);
  // In UTC, so the day that is written is the day of the moment.
  if (moment >= 0 && hasForm(view.getInt32(from + 20), MILLISECOND)) {
    years[kept] = year;
    months[kept] = month;
    days[kept] = day;
    begins[kept] = Math.floor(moment / DAY_MS) * DAY_MS;
  }
  return moment;
}

const WRONG = -1;

/** Milliseconds since the day began; WRONG when these are not what JavaScript writes. */
function timeOfDay(dayHour: number, hourMinute: number, second: number, millisecond: number): number {
  if (!hasForm(dayHour, HOUR) || !hasForm(hourMinute, MINUTE)) return WRONG;
  if (!hasForm(second, SECOND) || !hasForm(millisecond, MILLISECOND)) return WRONG;
  const hours = digit(dayHour, 0) * 10 + digit(hourMinute, 3);
  const minutes = digit(hourMinute, 1) * 10 + digit(hourMinute, 0);
  const seconds = digit(second, 2) * 10 + digit(second, 1);
  if (hours > 23 || minutes > 59 || seconds > 59) return WRONG;
  const milliseconds = digit(millisecond, 3) * 100 + digit(millisecond, 2) * 10 + digit(millisecond, 1);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
}
