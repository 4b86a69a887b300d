import { coin } from "../coin.ts";
import { issuersByCountry } from "../issuers-by-country.ts";
import type { Luck } from "../luck.ts";
import { type Uptime, uptimeOf } from "../outages.ts";
import { COUNTRIES, type Country } from "./countries.ts";
import { LIVES_FROM, LIVES_TO } from "./year.ts";

export interface Issuer {
  name: string;
  brand: string;
  uptime: Uptime;
  /** Share of missing funds that it calls 05. */
  masks: number;
  /** Whether two refusals in a day block the card for three. */
  isStrict: boolean;
  /** Share of declines for now that come with advice on Mastercard's network, and which for missing funds. */
  advises: number;
  advice: string;
  /** Share of charges that it refuses from one to five at night. */
  night: number;
}

const NAMES = ["First", "Union", "People's", "Neo", "Savings", "Pocket"] as const;
const ADVICE = ["02", "25", "26", "27", "24"] as const;
const OUTAGE_MEDIAN_MS = 35 * 60_000;

/** A country's issuers, the most usual one first. */
export const issuersOf = (seed: number, luck: Luck) =>
  issuersByCountry(COUNTRIES, NAMES.length, (country, number, rank) => issuerOf(seed, country, number, rank, luck));

function issuerOf(seed: number, country: Country, number: number, rank: number, luck: Luck): Issuer {
  const draw = (what: number) => coin(seed, number, what, 141);
  const upkeep = {
    perMonth: 0.6 + 4 * draw(1) * draw(2),
    medianMs: OUTAGE_MEDIAN_MS,
    utcOffsetHours: country.utcOffsetHours,
  };
  return {
    name: `${country.code} ${NAMES[rank]} Bank`,
    brand: draw(3) < 0.6 ? "visa" : "mastercard",
    uptime: uptimeOf(seed, number, LIVES_FROM, LIVES_TO, upkeep, luck),
    masks: draw(4) < 0.22 ? 0.8 : 0.05,
    isStrict: draw(5) < 0.3,
    advises: draw(6) < 0.5 ? 0 : 0.7 * draw(7),
    advice: ADVICE[Math.floor(ADVICE.length * draw(8))]!,
    night: 0.012 + 0.05 * draw(9),
  };
}
