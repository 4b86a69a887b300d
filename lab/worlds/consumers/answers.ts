import { cardAdvice, isTemporaryDecline } from "../decline-code-kinds.ts";
import { findOutageCode } from "../issuer-outages.ts";
import { DAY_MS, HOUR_MS, keyedUniform } from "../keyed-uniform.ts";
import type { Charge } from "../world.ts";
import { hourOf, toLocalTime } from "../world-calendar.ts";
import type { Issuer } from "./issuers.ts";
import type { Person } from "./people.ts";
import { CALENDAR } from "./year.ts";

export const FRAUD_CODE_RATE = 0.2;

export function refusalRateAt({ issuer, offsets }: Pick<Person, "issuer" | "offsets">, at: number): number {
  const hour = hourOf(toLocalTime(CALENDAR, offsets, at));
  return hour >= 1 && hour < 5 ? issuer.night : 0.006;
}

export function findRefusal(seed: number, person: Person, amount: number, at: number): string | null {
  const { issuer, state } = person;
  const toss = (everyMs: number, purpose: number) =>
    keyedUniform(seed, person.number, Math.floor(at / everyMs), purpose);
  const outage = findOutageCode(issuer.uptime, at, toss(60_000, 151));
  if (outage !== null) return outage;
  if (person.hasLeft) return person.leaveCode;
  if (state.awaits !== null) return person.replacement.code;
  if (at < person.blockedUntil) return "05";
  if (state.hold !== "none") return toss(4 * DAY_MS, 152) < FRAUD_CODE_RATE ? "59" : "05";
  if (toss(HOUR_MS, 153) < refusalRateAt(person, at)) return "05";
  if (state.rush > 0) return "65";
  if (state.balance < amount) return toss(HOUR_MS, 154) < issuer.masks ? "05" : "51";
  return state.spent + amount > person.dayLimit ? "61" : null;
}

export function buildCharge(seed: number, person: Person, at: number, code: string | null): Charge {
  const { number, issuer, state } = person;
  const charge: Charge = {
    at: new Date(at),
    approved: code === null,
    paymentMethodType: "card",
    cardBrand: issuer.brand,
    cardFunding: person.funding,
    cardCountry: person.country.code,
    cardIssuer: issuer.name,
    cardFingerprint: `card-${number}-${state.card}`,
  };
  if (code === null) return charge;
  charge.networkDeclineCode = code;
  if (issuer.brand !== "mastercard") return charge;
  const draw = keyedUniform(seed, number, Math.floor(at / 60_000), 155);
  const isAdvised = isTemporaryDecline(code) && draw < issuer.advises;
  const advice = cardAdvice(code, state.awaits === "batch", draw) ?? (isAdvised ? temporaryAdvice(issuer, code) : null);
  return advice === null ? charge : { ...charge, networkAdviceCode: advice };
}

function temporaryAdvice({ advice }: Issuer, code: string): string {
  if (code === "51") return advice;
  return code === "61" ? "25" : "02";
}

/** In ms; 0 if it blocks nothing. */
export function findBlockEnd({ isStrict }: Issuer, at: number, declinedAt: number): number {
  return isStrict && declinedAt > 0 && at - declinedAt < DAY_MS ? at + 3 * DAY_MS : 0;
}
