import { offsetsOf, workDays, type Zone } from "../calendar.ts";
import { CALENDAR } from "./year.ts";

export interface Country {
  code: string;
  /** Where its issuers keep their clocks. */
  utcOffsetHours: number;
  /** Offsets from UTC, ms, by day of the calendar: of each zone, the busier ones more than once. */
  clocks: readonly Float64Array[];
  /** 1 on days on which offices work. */
  work: Uint8Array;
}

const country = (code: string, ...zones: readonly Zone[]): Country => ({
  code,
  utcOffsetHours: zones[0]!.utcOffsetHours,
  clocks: zones.map((zone) => offsetsOf(zone, CALENDAR)),
  work: workDays(code, CALENDAR),
});
const american = (utcOffsetHours: number): Zone => ({ utcOffsetHours, summer: "US" });
const european = (utcOffsetHours: number): Zone => ({ utcOffsetHours, summer: "EU" });

/** Where companies are, with how many in a hundred. */
export const COUNTRIES: readonly (readonly [Country, number])[] = [
  [country("US", american(-5), american(-6), american(-8), american(-8)), 36],
  [country("GB", european(0)), 14],
  [country("DE", european(1)), 13],
  [country("FR", european(1)), 8],
  [country("IN", { utcOffsetHours: 5.5 }), 8],
  [country("SG", { utcOffsetHours: 8 }), 6],
  [country("AU", { utcOffsetHours: 10, summer: "AU" }), 6],
  [country("BR", { utcOffsetHours: -3 }), 5],
  [country("SA", { utcOffsetHours: 3 }), 4],
];
