import { type Customer, createCard, dueTimeMs, type Period } from "./customer.ts";
import type { Reason } from "./decline-reasons.ts";
import { DAY_MS, HOUR_MS, keyedRandom, pickWeighted, type Weighted } from "./keyed-random.ts";
import { findNextPaydays } from "./paydays.ts";

export interface DeclineCause {
  reason: Reason;
  startsAtMs: number;
  /** Infinity: until the card is changed. */
  endsAtMs: number;
  /** Whether money comes and goes meanwhile: charges are approved around pay days. */
  funds: boolean;
}

// Per invoice. Weekly customers are billed again during the same trouble, so their invoices need fewer of their own. Together
// about 13% of first charges fail.
const DECLINE_CAUSE_RATE: Record<Period, number> = { WEEK: 0.105, MONTH: 0.125, YEAR: 0.14 };

type Cause = "funds" | "generic" | "issuer" | "limit" | "expired" | "card";

const CARD_CAUSES: Weighted<readonly [Cause, Reason]> = [
  [["funds", "insufficient_funds"], 44],
  [["generic", "do_not_honor"], 29],
  [["issuer", "issuer_down"], 5],
  [["issuer", "system_error"], 2.5],
  [["limit", "amount_limit"], 3],
  [["limit", "count_limit"], 1.5],
  [["expired", "expired"], 7],
  [["card", "authentication"], 1.5],
  [["card", "wrong_number"], 1.5],
  [["card", "lost"], 1.5],
  [["card", "stolen"], 1],
  [["card", "revoked"], 1.5],
];
const SEPA_CAUSES: Weighted<readonly [Cause, Reason]> = [
  [["funds", "sepa_funds"], 75],
  [["generic", "sepa_unspecified"], 15],
  [["card", "sepa_closed"], 6],
  [["card", "sepa_no_mandate"], 4],
];
const ACH_CAUSES: Weighted<readonly [Cause, Reason]> = [
  [["funds", "ach_funds"], 78],
  [["funds", "ach_uncollected"], 8],
  [["card", "ach_closed"], 9],
  [["card", "ach_revoked"], 5],
];

/** The trouble that begins with this invoice; null for most. */
export function findDeclineCause(customer: Customer, cycle: number): DeclineCause | null {
  const draw = (what: string) => keyedRandom(customer.seed, "trouble", customer.number, cycle, what);
  if (draw("any") >= DECLINE_CAUSE_RATE[customer.plan.period]) return null;
  const causes = { card: CARD_CAUSES, sepa_debit: SEPA_CAUSES, ach_debit: ACH_CAUSES }[customer.method];
  const [cause, reason] = pickWeighted(draw("cause"), causes);
  const startsAtMs = dueTimeMs(customer, cycle);
  const lasting = (endsAtMs: number, funds = false): DeclineCause => ({ reason, startsAtMs, endsAtMs, funds });
  const hidden = cause === "generic" ? draw("hidden") : 0;

  // Missing money that the issuer does not report, a hold that passes, or a permanent refusal.
  if (cause === "funds" || (cause === "generic" && hidden < 0.45)) {
    return lasting(fundsReturnTimeMs(customer, startsAtMs, draw("paydays")), true);
  }
  if (cause === "generic") return lasting(hidden < 0.8 ? startsAtMs + 4 * HOUR_MS * 36 ** draw("hold") : Infinity);
  // Most outages last an hour or two, a few most of a day.
  if (cause === "issuer") return lasting(startsAtMs + 0.5 * HOUR_MS * 40 ** draw("outage"));
  if (cause === "limit") return lasting(nextLocalMidnightMs(customer, startsAtMs));
  if (cause === "expired" && draw("updater") < updaterRate(customer)) {
    return lasting(startsAtMs + (1 + 2 * draw("updated")) * DAY_MS);
  }
  return lasting(Infinity);
}

/** Although the trouble lasts. */
export function hasFundsAt(customer: Customer, trouble: DeclineCause, atMs: number) {
  const day = Math.floor(atMs / DAY_MS);
  // A small gift on any day.
  if (keyedRandom(customer.seed, "top-up", customer.number, day) < 0.06) return true;
  for (let paydayMs = trouble.startsAtMs; ; ) {
    paydayMs = findNextPaydays(customer, paydayMs, 1)[0]!;
    if (paydayMs > atMs) return false;
    const lastsDays = keyedRandom(customer.seed, "spending", customer.number, Math.floor(paydayMs / DAY_MS)) * 3;
    if (atMs < paydayMs + lastsDays * DAY_MS) return true;
  }
}

/** For half of the customers after the first pay day, for most others after the second or third, for the rest never. */
function fundsReturnTimeMs(customer: Customer, afterMs: number, draw: number) {
  const paydays = findNextPaydays(customer, afterMs, 3);
  if (draw < 0.5) return paydays[0]!;
  if (draw < 0.68) return paydays[1]!;
  return draw < 0.78 ? paydays[2]! : Infinity;
}

function nextLocalMidnightMs(customer: Customer, afterMs: number) {
  const offsetMs = customer.utcOffsetHours * HOUR_MS;
  return (Math.floor((afterMs + offsetMs) / DAY_MS) + 1) * DAY_MS - offsetMs;
}

/** The networks report some replaced cards to merchants within days. */
function updaterRate(customer: Customer) {
  return createCard(customer, 0)?.brand === "amex" ? 0 : 0.35;
}
