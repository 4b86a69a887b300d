import { cardAdvice, isTemporaryDecline } from "../decline-code-kinds.ts";
import { findOutageCode } from "../issuer-outages.ts";
import { DAY_MS, HOUR_MS, keyedUniform } from "../keyed-uniform.ts";
import { STEP_MS } from "../simulation-steps.ts";
import type { Charge } from "../world.ts";
import { calendarDayOf, hourOf, toLocalTime } from "../world-calendar.ts";
import { hasFundsFor } from "./company-funds.ts";
import { declineRate } from "./issuers.ts";
import type { Subscription } from "./subscriptions.ts";
import { CALENDAR } from "./year.ts";

/** Regardless of history, in log odds: more at night, on days off and from abroad. */
export function computeSuspicion({ company, isAbroad }: Subscription, at: number): number {
  const { issuer, offsets, work, oddity } = company;
  const local = toLocalTime(CALENDAR, offsets, at);
  const hour = hourOf(local);
  const night = hour < 6 || hour >= 22 ? issuer.night : 0;
  const dayOff = work[calendarDayOf(CALENDAR, local)] ? 0 : issuer.dayOff;
  return oddity + night + dayOff + (isAbroad ? issuer.abroad : 0);
}

export function findRefusal(seed: number, subscription: Subscription, amount: number, at: number): string | null {
  const { company } = subscription;
  const { issuer, state, kind } = company;
  const toss = (everyMs: number, purpose: number) =>
    keyedUniform(seed, company.number, Math.floor(at / everyMs), purpose);
  const outage = findOutageCode(issuer.uptime, at, toss(60_000, 121));
  if (outage !== null) return outage;
  if (company.hasLeft) return company.leaveCode;
  if (state.awaits !== null) return company.replacement.code;
  const suspicion = computeSuspicion(subscription, at) + state.heat + state.memory;
  if (toss(STEP_MS, 122) < declineRate(suspicion)) return toss(DAY_MS, 123) < 0.22 ? "59" : "05";
  if (hasFundsFor(company, state, amount)) return null;
  if (toss(HOUR_MS, 124) < issuer.masks) return "05";
  return kind === "prepaid" || kind === "line" ? "51" : issuer.limitCode;
}

export function buildCharge(seed: number, { company }: Subscription, at: number, code: string | null): Charge {
  const { number, issuer, state } = company;
  const charge: Charge = {
    at: new Date(at),
    approved: code === null,
    paymentMethodType: "card",
    cardBrand: issuer.brand,
    cardFunding: company.funding,
    cardCountry: company.country.code,
    cardIssuer: issuer.name,
    cardFingerprint: `card-${number}-${state.card}`,
  };
  if (code === null) return charge;
  charge.networkDeclineCode = code;
  if (issuer.brand !== "mastercard") return charge;
  const draw = keyedUniform(seed, number, Math.floor(at / 60_000), 125);
  const advice =
    cardAdvice(code, state.awaits === "batch", draw) ??
    (isTemporaryDecline(code) ? temporaryAdvice(company, code, draw) : null);
  return advice === null ? charge : { ...charge, networkAdviceCode: advice };
}

function temporaryAdvice({ kind, issuer }: Subscription["company"], code: string, draw: number): string | null {
  if (kind === "vendor" && draw < 0.3) return "43";
  if (draw >= issuer.advises) return null;
  return code === "51" || code === "61" ? issuer.advice : "02";
}
