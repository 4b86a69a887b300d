import assert from "node:assert/strict";
import { decideStatic } from "./decide-static.ts";
import { buildDecisionContext } from "./decision-context.ts";
import type { Decision, DecisionFacts } from "./decision-facts.ts";
import type { LedgerEntry } from "./rules/attempt-ledger.ts";
import type { DeclineCodes } from "./rules/interpret-decline.ts";

export const HOUR = 3_600_000;
const FAILED_AT = new Date("2026-04-06T10:00:00Z"); // a Monday
export const hoursAfterFailure = (hours: number) => new Date(+FAILED_AT + hours * HOUR);

/** Unchanged and unrequested; the merchant learns of a retry 49 minutes before its ideal time. */
export const VISA_FACTS = {
  leadMs: 49 * 60_000,
  paymentMethodType: "card",
  network: "visa",
  customerTimezone: null,
  cardChangedAt: null,
  cardChange: null,
  cardAskedAt: null,
  issuerDownAt: null,
  postponedUntil: null,
  quietTimes: null,
  billed: [],
  pending: null,
  othersPlanned: false,
  retries: [],
} as const;

export function buildFailedFacts(
  codes: Partial<DeclineCodes> | null,
  rest: Partial<DecisionFacts> = {},
): DecisionFacts {
  const allCodes = codes && {
    networkDeclineCode: null,
    networkAdviceCode: null,
    gatewayCode: null,
    declineCategory: null,
    ...codes,
  };
  const first: LedgerEntry = {
    at: FAILED_AT,
    amount: 2900,
    approved: false,
    onThisInvoice: true,
    onPresentCard: true,
    codes: allCodes,
  };
  return {
    ...VISA_FACTS,
    caseId: "0198c0de-0000-7000-8000-000000000001",
    unpaidAt: FAILED_AT,
    windowEndsAt: hoursAfterFailure(28 * 24),
    explores: true,
    budgetLeft: 8,
    amount: 2900,
    currency: "EUR",
    cardCountry: "DE",
    ledger: allCodes ? [first] : [],
    lastDecline: allCodes && { at: FAILED_AT, ...allCodes },
    ...rest,
  };
}

export const assertRetry = (decision: Decision) => {
  assert.equal(decision.kind, "retry", JSON.stringify(decision));
  return decision as Extract<Decision, { kind: "retry" }>;
};
export const decideSoonAfterFailure = (facts: DecisionFacts) =>
  decideStatic(buildDecisionContext(facts, hoursAfterFailure(0.1)));
