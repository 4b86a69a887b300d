import { type CardReplacement, drawReplacement } from "../card-replacement.ts";
import { chooseWeighted, DAY_MS, keyedUniform } from "../keyed-uniform.ts";
import { stepOf } from "../simulation-steps.ts";
import { type FundingSource, type FundingState, newFundingState } from "./company-funds.ts";
import { COUNTRIES, type Country } from "./countries.ts";
import type { Issuer } from "./issuers.ts";
import { SIMULATION_START, YEAR_START } from "./year.ts";

export interface Company extends FundingSource {
  number: number;
  country: Country;
  issuer: Issuer;
  funding: string;
  oddity: number;
  replacement: CardReplacement;
  leavesAt: number;
  leaveCode: string;
  hasLeft: boolean;
  step: number;
  state: FundingState;
  version: number;
}

const FUNDING_KINDS = [
  ["limit", 17],
  ["week", 11],
  ["vendor", 6],
  ["prepaid", 13],
  ["line", 14],
  ["plain", 39],
] as const;

const REPLACEMENTS_PER_YEAR = 0.32;
const REPLACEMENT_ROUTES = [
  ["silent", 45],
  ["batch", 27],
  ["holder", 16],
  ["never", 12],
] as const;

const LEAVE_CODES = [
  ["51", 32],
  ["05", 27],
  ["14", 20],
  ["46", 13],
  ["R1", 8],
] as const;

export interface Shares {
  edge: number;
  gone: number;
}

/**
 * As it is when the world begins.
 *
 * @param size  price per period, in major units
 */
export function createCompany(
  seed: number,
  number: number,
  size: number,
  issuers: ReadonlyMap<Country, readonly (readonly [Issuer, number])[]>,
  { edge, gone }: Shares,
): Company {
  const draw = (purpose: number) => keyedUniform(seed, number, purpose, 112);
  const country = chooseWeighted(draw(1), COUNTRIES);
  const issuer = chooseWeighted(draw(2), issuers.get(country)!);
  const kind = chooseWeighted(draw(3), FUNDING_KINDS);
  const pace = draw(5) < edge ? edgePace(kind, draw(6)) : 0.28 + 0.32 * draw(6);
  const limit = kind === "vendor" ? 0 : size * (kind === "week" ? 4 + 8 * draw(7) : 6 + 22 * draw(7)) + 150;
  const runsWeekly = draw(8) < 0.45;
  const state = newFundingState(pace);
  if (kind === "prepaid") state.balance = limit;
  else state.spent = limit * 0.3 * draw(9);
  state.cap = kind === "vendor" ? size * (1.04 + 0.4 * draw(10) ** 2) : limit;
  return {
    number,
    country,
    issuer,
    kind,
    funding: drawFunding(kind, draw(11)),
    offsets: country.clocks[Math.floor(country.clocks.length * draw(12))]!,
    work: country.work,
    resetHour: issuer.resetHour,
    keeps: issuer.keeps,
    turnsOn: (kind === "limit" || kind === "vendor") && draw(13) < 0.6 ? 1 : 1 + Math.floor(28 * draw(14)),
    limit,
    pace,
    swing: 0.22 + 0.2 * draw(15),
    small: size * 1.2,
    notices: draw(16) < 0.25 ? 0.002 : 0.012 + 0.13 * draw(17) ** 2,
    runsOn: runsWeekly ? paymentRunWeekday(country, draw(18)) : null,
    lands: draw(19) < 0.4 ? 0.4 : 0.1,
    alarms: (0.0034 / 8) * Math.exp(1.2 * (2 * draw(20) - 1)),
    oddity: -7.4 + 1.8 * draw(21),
    replacement: drawReplacement(YEAR_START, REPLACEMENTS_PER_YEAR, REPLACEMENT_ROUTES, (purpose) =>
      draw(30 + purpose),
    ),
    leavesAt: stepOf(YEAR_START - (Math.log(1 - draw(22)) * 365 * DAY_MS) / gone),
    leaveCode: chooseWeighted(draw(23), LEAVE_CODES),
    hasLeft: false,
    step: stepOf(SIMULATION_START),
    state,
    version: 0,
  };
}

function edgePace(kind: Company["kind"], draw: number): number {
  if (kind === "week") return 2 + 2.5 * draw;
  return kind === "prepaid" ? 2.2 + 3.5 * draw : 1.8 + 3.4 * draw;
}

function drawFunding(kind: Company["kind"], draw: number): string {
  if (kind === "prepaid") return "prepaid";
  if (kind === "vendor") return draw < 0.5 ? "prepaid" : "credit";
  if (kind === "plain") return draw < 0.5 ? "debit" : "credit";
  return kind === "week" ? "debit" : "credit";
}

function paymentRunWeekday({ code }: Country, draw: number): number {
  const weekday = 1 + Math.floor(5 * draw);
  return code === "SA" && weekday === 5 ? 0 : weekday;
}
