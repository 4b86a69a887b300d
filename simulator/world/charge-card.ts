import { type Customer, createCard, dueTimeMs } from "./customer.ts";
import { findDeclineCause, hasFundsAt } from "./decline-causes.ts";
import { DECLINES, type Reason } from "./decline-reasons.ts";
import { DAY_MS, HOUR_MS, keyedRandom, pickWeighted } from "./keyed-random.ts";

/** The first is generation 0. */
export interface CardOnFile {
  generation: number;
  sinceMs: number;
}

export type ChargeAnswer = { approved: true } | { approved: false; reason: Reason; adviceCode: string | null };

/** Unexplained declines, per customer and hour. */
const NOISE_SHARE = 0.004;
/** Mastercard issuers that send an advice code. */
const ADVICE_SHARE = 0.6;

/** Pure: the same customer, card and hour get the same answer. A new card ends all earlier troubles. */
export function chargeCard(customer: Customer, onFile: CardOnFile, at: Date): ChargeAnswer {
  const atMs = at.getTime();
  const reason = findDeclineCauseAt(customer, onFile, atMs) ?? findNoiseAt(customer, atMs);
  if (reason === null) return { approved: true };
  const { advice } = DECLINES[reason];
  const draw = (what: string) => keyedRandom(customer.seed, what, customer.number, Math.floor(atMs / HOUR_MS));
  const told =
    advice.length > 0 &&
    createCard(customer, onFile.generation)?.brand === "mastercard" &&
    draw("advice told") < ADVICE_SHARE;
  return { approved: false, reason, adviceCode: told ? pickWeighted(draw("advice"), advice) : null };
}

function findDeclineCauseAt(customer: Customer, onFile: CardOnFile, atMs: number): Reason | null {
  for (let cycle = findLastCycle(customer, atMs); cycle >= 0; cycle--) {
    if (dueTimeMs(customer, cycle) < onFile.sinceMs) return null;
    const trouble = findDeclineCause(customer, cycle);
    if (!trouble || atMs >= trouble.endsAtMs) continue;
    if (trouble.funds && hasFundsAt(customer, trouble, atMs)) continue;
    return trouble.reason;
  }
  return null;
}

function findNoiseAt(customer: Customer, atMs: number): Reason | null {
  if (customer.method !== "card") return null;
  return keyedRandom(customer.seed, "noise", customer.number, Math.floor(atMs / HOUR_MS)) < NOISE_SHARE
    ? "do_not_honor"
    : null;
}

const MIN_PERIOD_DAYS = { WEEK: 7, MONTH: 28, YEAR: 365 };

/** The last cycle due by `atMs`; -1 before the first. */
function findLastCycle(customer: Customer, atMs: number) {
  let cycle = Math.floor((atMs - customer.firstBillAtMs) / (MIN_PERIOD_DAYS[customer.plan.period] * DAY_MS));
  while (cycle >= 0 && dueTimeMs(customer, cycle) > atMs) cycle--;
  return cycle;
}
