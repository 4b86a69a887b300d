import { coin } from "../coin.ts";
import { issuersByCountry } from "../issuers-by-country.ts";
import type { Luck } from "../luck.ts";
import { type Uptime, uptimeOf } from "../outages.ts";
import { STEPS_A_DAY } from "../steps.ts";
import { COUNTRIES, type Country } from "./countries.ts";
import { LIVES_FROM, LIVES_TO } from "./year.ts";

/** A bank that issues cards to companies. Suspicion is counted in log odds of a decline. */
export interface Issuer {
  number: number;
  name: string;
  brand: string;
  uptime: Uptime;
  /** Share of missing funds that it calls 05, and what it calls a full limit otherwise. */
  masks: number;
  limitCode: string;
  /** Share of declines for now that come with advice on Mastercard's network, and which. */
  advises: number;
  advice: string;
  /** Suspicion added from ten to six at night, off work, and from merchants abroad. */
  night: number;
  dayOff: number;
  abroad: number;
  /** What a declined try adds, and the share of what was added that is left three hours later. */
  memory: number;
  keeps: number;
  /** Limits start afresh in the three hours from here on, local time. */
  resetHour: number;
}

const NAMES = ["Commerce Bank", "Corporate Bank", "Spend Cards", "Trade Bank", "Ledger Cards"] as const;
const ADVICE = ["02", "25", "26", "27", "28", "24"] as const;
const OUTAGE_MEDIAN_MS = 40 * 60_000;

/** A country's issuers, the most usual one first. */
export const issuersOf = (seed: number, luck: Luck) =>
  issuersByCountry(COUNTRIES, NAMES.length, (country, number, rank) => issuerOf(seed, country, number, rank, luck));

function issuerOf(seed: number, country: Country, number: number, rank: number, luck: Luck): Issuer {
  const draw = (what: number) => coin(seed, number, what, 111);
  const upkeep = {
    perMonth: 0.4 + 4.5 * draw(1) * draw(2),
    medianMs: OUTAGE_MEDIAN_MS,
    utcOffsetHours: country.utcOffsetHours,
  };
  const isAmex = country.code === "US" && rank === 1;
  return {
    number,
    name: `${country.code} ${NAMES[rank]}`,
    brand: isAmex ? "amex" : draw(3) < 0.55 ? "visa" : "mastercard",
    uptime: uptimeOf(seed, number, LIVES_FROM, LIVES_TO, upkeep, luck),
    masks: draw(4) < 0.25 ? 0.6 : 0.05,
    limitCode: draw(5) < 0.22 ? "61" : "51",
    advises: draw(6) < 0.5 ? 0 : 0.7 * draw(7),
    advice: ADVICE[Math.floor(ADVICE.length * draw(8))]!,
    night: 0.8 + 2.2 * draw(9),
    dayOff: 0.3 + 1.5 * draw(10),
    abroad: 0.3 + 1.2 * draw(11),
    keeps: Math.exp(-1 / (STEPS_A_DAY * (1.5 + 4 * draw(12)))),
    memory: 0.9 + 1.9 * draw(13),
    resetHour: draw(14) < 0.7 ? 0 : 6,
  };
}

/** More than this the memory of declined tries does not add. */
export const MOST_MEMORY = 4;

/** The share that suspicion, log odds, declines. */
export const declines = (suspicion: number) => 1 / (1 + Math.exp(-suspicion));
