import { createOutages, type IssuerOutages } from "../issuer-outages.ts";
import { createIssuersByCountry } from "../issuers-by-country.ts";
import { keyedUniform } from "../keyed-uniform.ts";
import type { RandomStream } from "../random-stream.ts";
import { STEPS_PER_DAY } from "../simulation-steps.ts";
import { COUNTRIES, type Country } from "./countries.ts";
import { SIMULATION_END, SIMULATION_START } from "./year.ts";

/** Suspicion is in log odds of a decline. */
export interface Issuer {
  number: number;
  name: string;
  brand: string;
  uptime: IssuerOutages;
  masks: number;
  limitCode: string;
  advises: number;
  advice: string;
  night: number;
  dayOff: number;
  abroad: number;
  memory: number;
  keeps: number;
  /** Limits reset in the three hours from here on, local time. */
  resetHour: number;
}

const NAMES = ["Commerce Bank", "Corporate Bank", "Spend Cards", "Trade Bank", "Ledger Cards"] as const;
const ADVICE = ["02", "25", "26", "27", "28", "24"] as const;
const OUTAGE_MEDIAN_MS = 40 * 60_000;

export const createIssuers = (seed: number, random: RandomStream) =>
  createIssuersByCountry(COUNTRIES, NAMES.length, (country, number, rank) =>
    createIssuer(seed, country, number, rank, random),
  );

function createIssuer(seed: number, country: Country, number: number, rank: number, random: RandomStream): Issuer {
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 111);
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
    uptime: createOutages(seed, number, SIMULATION_START, SIMULATION_END, upkeep, random),
    masks: draw(4) < 0.25 ? 0.6 : 0.05,
    limitCode: draw(5) < 0.22 ? "61" : "51",
    advises: draw(6) < 0.5 ? 0 : 0.7 * draw(7),
    advice: ADVICE[Math.floor(ADVICE.length * draw(8))]!,
    night: 0.8 + 2.2 * draw(9),
    dayOff: 0.3 + 1.5 * draw(10),
    abroad: 0.3 + 1.2 * draw(11),
    keeps: Math.exp(-1 / (STEPS_PER_DAY * (1.5 + 4 * draw(12)))),
    memory: 0.9 + 1.9 * draw(13),
    resetHour: draw(14) < 0.7 ? 0 : 6,
  };
}

export const MAX_DECLINE_MEMORY = 4;

export const declineRate = (suspicion: number) => 1 / (1 + Math.exp(-suspicion));
