import { computeOffsets, computeWorkDays, type Zone } from "../world-calendar.ts";
import { CALENDAR } from "./year.ts";

export interface Country {
  code: string;
  /** Of its issuers. */
  utcOffsetHours: number;
  /** UTC offsets in ms, by calendar day. Busier zones are listed more than once. */
  clocks: readonly Float64Array[];
  /** 1 on days on which offices work. */
  work: Uint8Array;
}

const defineCountry = (code: string, ...zones: readonly Zone[]): Country => ({
  code,
  utcOffsetHours: zones[0]!.utcOffsetHours,
  clocks: zones.map((zone) => computeOffsets(zone, CALENDAR)),
  work: computeWorkDays(code, CALENDAR),
});
const americanZone = (utcOffsetHours: number): Zone => ({ utcOffsetHours, summer: "US" });
const europeanZone = (utcOffsetHours: number): Zone => ({ utcOffsetHours, summer: "EU" });

export const COUNTRIES: readonly (readonly [Country, number])[] = [
  [defineCountry("US", americanZone(-5), americanZone(-6), americanZone(-8), americanZone(-8)), 36],
  [defineCountry("GB", europeanZone(0)), 14],
  [defineCountry("DE", europeanZone(1)), 13],
  [defineCountry("FR", europeanZone(1)), 8],
  [defineCountry("IN", { utcOffsetHours: 5.5 }), 8],
  [defineCountry("SG", { utcOffsetHours: 8 }), 6],
  [defineCountry("AU", { utcOffsetHours: 10, summer: "AU" }), 6],
  [defineCountry("BR", { utcOffsetHours: -3 }), 5],
  [defineCountry("SA", { utcOffsetHours: 3 }), 4],
];
