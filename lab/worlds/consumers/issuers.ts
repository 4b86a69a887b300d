import { createOutages, type IssuerOutages } from "../issuer-outages.ts";
import { createIssuersByCountry } from "../issuers-by-country.ts";
import { keyedUniform } from "../keyed-uniform.ts";
import type { RandomStream } from "../random-stream.ts";
import { COUNTRIES, type Country } from "./countries.ts";
import { SIMULATION_END, SIMULATION_START } from "./year.ts";

export interface Issuer {
  name: string;
  brand: string;
  uptime: IssuerOutages;
  masks: number;
  /** Whether two declines in a day block the card for three days. */
  isStrict: boolean;
  /** Share of temporary declines with advice on Mastercard's network, and the advice for missing funds. */
  advises: number;
  advice: string;
  night: number;
}

const NAMES = ["First", "Union", "People's", "Neo", "Savings", "Pocket"] as const;
const ADVICE = ["02", "25", "26", "27", "24"] as const;
const OUTAGE_MEDIAN_MS = 35 * 60_000;

export const createIssuers = (seed: number, random: RandomStream) =>
  createIssuersByCountry(COUNTRIES, NAMES.length, (country, number, rank) =>
    createIssuer(seed, country, number, rank, random),
  );

function createIssuer(seed: number, country: Country, number: number, rank: number, random: RandomStream): Issuer {
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 141);
  const upkeep = {
    perMonth: 0.6 + 4 * draw(1) * draw(2),
    medianMs: OUTAGE_MEDIAN_MS,
    utcOffsetHours: country.utcOffsetHours,
  };
  return {
    name: `${country.code} ${NAMES[rank]} Bank`,
    brand: draw(3) < 0.6 ? "visa" : "mastercard",
    uptime: createOutages(seed, number, SIMULATION_START, SIMULATION_END, upkeep, random),
    masks: draw(4) < 0.22 ? 0.8 : 0.05,
    isStrict: draw(5) < 0.3,
    advises: draw(6) < 0.5 ? 0 : 0.7 * draw(7),
    advice: ADVICE[Math.floor(ADVICE.length * draw(8))]!,
    night: 0.012 + 0.05 * draw(9),
  };
}
