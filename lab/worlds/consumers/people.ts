import { type CardReplacement, drawReplacement } from "../card-replacement.ts";
import { chooseWeighted, DAY_MS, keyedUniform } from "../keyed-uniform.ts";
import type { PayRhythm } from "../pay-rhythm.ts";
import { STEPS_PER_DAY, stepOf } from "../simulation-steps.ts";
import { COUNTRIES, type Country, findPayDays } from "./countries.ts";
import type { Issuer } from "./issuers.ts";
import { newPersonState, type PersonFinances, type PersonState } from "./person-funds.ts";
import { CALENDAR, SIMULATION_START, YEAR_START } from "./year.ts";

export interface Person extends PersonFinances {
  number: number;
  country: Country;
  issuer: Issuer;
  funding: string;
  attention: number;
  replacement: CardReplacement;
  leavesAt: number;
  leaveCode: string;
  /** State up to and including `step`; `version` counts charges. */
  hasLeft: boolean;
  step: number;
  state: PersonState;
  version: number;
  /** In ms, or 0. A strict issuer refuses everything until `blockedUntil`. */
  declinedAt: number;
  blockedUntil: number;
}

/** Hourly or daily jobs, a wage gone before the next, family benefits, a wage that lasts. */
type Kind = "gigs" | "tight" | "family" | "steady";

const TIGHT_HOUSEHOLD_RATES = { gigs: 0.042, tight: 0.052, family: 0.03 } as const;

const MONTHLY_INCOMES: Readonly<Record<Kind, number>> = { steady: 3200, tight: 2000, gigs: 1500, family: 1300 };
const SPENDING_DAYS: Readonly<Record<Kind, readonly [number, number]>> = {
  steady: [12, 24],
  tight: [2.2, 3],
  gigs: [2, 3],
  family: [3, 4],
};

export const REPLACEMENTS_PER_YEAR = 0.5;
export const REPLACEMENT_ROUTES = [
  ["silent", 45],
  ["batch", 22],
  ["holder", 16],
  ["never", 17],
] as const;
export const DEPARTURES_PER_YEAR = 0.21;
export const LEAVE_CODES = [
  ["51", 50],
  ["05", 30],
  ["14", 8],
  ["R1", 7],
  ["46", 5],
] as const;

/** From Sunday on: late nights at the weekend, or shifts early in the week. */
const LATE_JOB_CHANCES = [0.4, 0.08, 0.08, 0.1, 0.16, 0.3, 0.5];
const WEEKDAY_JOB_CHANCES = [0.06, 0.08, 0.08, 0.12, 0.5, 0.5, 0.1];

export interface PopulationScales {
  tight: number;
  left: number;
}

const NO_DAYS = new Uint8Array(CALENDAR.days);

export function createPerson(
  seed: number,
  number: number,
  issuers: ReadonlyMap<Country, readonly (readonly [Issuer, number])[]>,
  scales: PopulationScales,
): Person {
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 142);
  const country = chooseWeighted(draw(1), COUNTRIES);
  const kind = drawKind(scales.tight, draw(3));
  const drawSpread = (first: number) => (draw(first) + draw(first + 1) + draw(first + 2) - 1.5) * 2;
  const income = country.incomes * MONTHLY_INCOMES[kind] * Math.exp(0.4 * drawSpread(4));
  const rhythm = chooseWeighted(draw(7), country.wages);
  const earns = kind === "tight" || kind === "steady" || (kind === "family" && draw(8) < 0.3);
  const wage = earns ? (income * (kind === "steady" ? 0.6 : 0.42)) / payCountPerMonth(rhythm) : 0;
  const cushion =
    kind === "steady"
      ? income * (0.045 + 0.5 * draw(9))
      : draw(9) < 0.3
        ? 4 + 20 * draw(10)
        : 35 * country.incomes * Math.exp(1.1 * drawSpread(10) + 0.8);
  const [least, more] = SPENDING_DAYS[kind];
  const jobs = draw(13) < 0.55 ? LATE_JOB_CHANCES : WEEKDAY_JOB_CHANCES;
  const jobsADay = jobs.reduce((sum, chance) => sum + chance, 0) / 7;
  const works = kind === "gigs" ? 1 : kind === "family" && draw(14) < 0.4 ? 0.35 : 0;
  const isHasty = draw(15) < 0.45;
  const state = newPersonState();
  state.balance = cushion + draw(16) * wage;
  return {
    number,
    country,
    issuer: chooseWeighted(draw(2), issuers.get(country)!),
    funding: drawFunding(kind, draw(17)),
    offsets: country.clocks[Math.floor(country.clocks.length * draw(18))]!,
    work: country.work,
    payDays: earns ? findPayDays(country, rhythm) : NO_DAYS,
    wage,
    postsIn: [0, 0, 1, 1, 2, 3, 5][Math.floor(7 * draw(19))]!,
    punctual: 0.82 + 0.17 * draw(20),
    hasBonus: number % 4 === 0,
    grantDays: kind === "family" ? findPayDays(country, chooseWeighted(draw(21), country.benefits)) : NO_DAYS,
    grant: country.incomes * (220 + 500 * draw(22)),
    job: (works * income * 0.5) / (30 * jobsADay * 0.78),
    jobs,
    income,
    rate: 2.3 / (least + more * draw(23)),
    cushion,
    surprises: kind === "steady" ? 0.002 : 0.014,
    season: 0.5 + draw(24),
    attention: draw(25) < 0.3 ? 0 : 0.15 + 0.6 * draw(26),
    haste: isHasty ? 0.16 : 0.035,
    forgets: isHasty ? 12 : 45,
    alarms: (0.0016 / STEPS_PER_DAY) * Math.exp(1.4 * (draw(27) * 2 - 1)),
    dayLimit: draw(28) < 0.4 ? 15 + (income / 30) * (0.5 + 2.4 * draw(29)) : Number.POSITIVE_INFINITY,
    rushes: draw(30) < 0.1 ? 0.004 : 0,
    replacement: drawReplacement(YEAR_START, REPLACEMENTS_PER_YEAR, REPLACEMENT_ROUTES, (purpose) =>
      draw(40 + purpose),
    ),
    leavesAt: stepOf(YEAR_START - (Math.log(1 - draw(31)) * 365 * DAY_MS) / (DEPARTURES_PER_YEAR * scales.left)),
    leaveCode: chooseWeighted(draw(32), LEAVE_CODES),
    hasLeft: false,
    step: stepOf(SIMULATION_START),
    state,
    version: 0,
    declinedAt: 0,
    blockedUntil: 0,
  };
}

function drawKind(scale: number, draw: number): Kind {
  const { gigs, tight, family } = TIGHT_HOUSEHOLD_RATES;
  return chooseWeighted<Kind>(draw, [
    ["gigs", gigs * scale],
    ["tight", tight * scale],
    ["family", family * scale],
    ["steady", Math.max(0, 1 - (gigs + tight + family) * scale)],
  ]);
}

function payCountPerMonth(rhythm: PayRhythm): number {
  if (rhythm.kind === "dated") return rhythm.days.length;
  return rhythm.kind === "weekly" ? 4.35 : rhythm.kind === "fortnightly" ? 2.17 : 1.09;
}

function drawFunding(kind: Kind, draw: number): string {
  if (draw < 0.7) return "debit";
  if (draw < 0.88) return "prepaid";
  return kind === "steady" ? "credit" : "debit";
}
