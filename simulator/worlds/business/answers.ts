import { dayOf, hourOf, localTime } from "../calendar.ts";
import { cardAdvice, isForNow } from "../codes.ts";
import { coin, DAY_MS, HOUR_MS } from "../coin.ts";
import { outageCode } from "../outages.ts";
import { STEP_MS } from "../steps.ts";
import type { Charge } from "../world.ts";
import { declines } from "./issuers.ts";
import { covers } from "./money.ts";
import type { Subscription } from "./subscriptions.ts";
import { CALENDAR } from "./year.ts";

/** How suspicious a charge at `at`, ms, looks to the issuer, log odds, before what moves: worse at night, off work and from abroad. */
export function suspicionAt({ company, isAbroad }: Subscription, at: number): number {
  const { issuer, offsets, work, oddity } = company;
  const local = localTime(CALENDAR, offsets, at);
  const hour = hourOf(local);
  const night = hour < 6 || hour >= 22 ? issuer.night : 0;
  const dayOff = work[dayOf(CALENDAR, local)] ? 0 : issuer.dayOff;
  return oddity + night + dayOff + (isAbroad ? issuer.abroad : 0);
}

/** Why a charge of `amount`, major units, fails in the company's present state; null: it is approved. */
export function refusalOf(seed: number, subscription: Subscription, amount: number, at: number): string | null {
  const { company } = subscription;
  const { issuer, state, kind } = company;
  const toss = (everyMs: number, what: number) => coin(seed, company.number, Math.floor(at / everyMs), what);
  const outage = outageCode(issuer.uptime, at, toss(60_000, 121));
  if (outage !== null) return outage;
  if (company.hasLeft) return company.leaveCode;
  if (state.awaits !== null) return company.replacement.code;
  const suspicion = suspicionAt(subscription, at) + state.heat + state.memory;
  if (toss(STEP_MS, 122) < declines(suspicion)) return toss(DAY_MS, 123) < 0.22 ? "59" : "05";
  if (covers(company, state, amount)) return null;
  if (toss(HOUR_MS, 124) < issuer.masks) return "05";
  return kind === "prepaid" || kind === "line" ? "51" : issuer.limitCode;
}

/** The charge as the merchant's gateway sees it. */
export function chargeOf(seed: number, { company }: Subscription, at: number, code: string | null): Charge {
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
  const draw = coin(seed, number, Math.floor(at / 60_000), 125);
  const advice =
    cardAdvice(code, state.awaits === "batch", draw) ?? (isForNow(code) ? adviceForNow(company, code, draw) : null);
  return advice === null ? charge : { ...charge, networkAdviceCode: advice };
}

function adviceForNow({ kind, issuer }: Subscription["company"], code: string, draw: number): string | null {
  // 43 says that the number is a virtual one of several uses.
  if (kind === "vendor" && draw < 0.3) return "43";
  if (draw >= issuer.advises) return null;
  return code === "51" || code === "61" ? issuer.advice : "02";
}
