import { HOUR, VISA_FACTS } from "./decide-static.fixture.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import type { CustomerHistory, PastInvoice } from "./infer-posterior.ts";
import type { DeclineCodes } from "./rules/interpret-decline.ts";

export const DAY = 24 * HOUR;
export const buildCodes = (networkDeclineCode: string, networkAdviceCode: string | null = null): DeclineCodes => ({
  networkDeclineCode,
  networkAdviceCode,
  gatewayCode: null,
  declineCategory: null,
});
export const buildInvoice = (
  on: string,
  retries: [on: string, code: string | null][],
  code: string | null = "51",
): PastInvoice => ({
  dollars: 29,
  paymentMethodType: "card",
  charges: [[on, code] as const, ...retries].map(([day, code]) => ({
    at: new Date(`${day}T09:00:00Z`),
    approved: code === null,
    codes: code === null ? null : buildCodes(code),
  })),
});

export function buildCase(
  invoices: readonly PastInvoice[],
  rest: Partial<DecisionFacts> = {},
): [DecisionFacts, CustomerHistory] {
  const open = invoices.at(-1)!;
  const last = open.charges.at(-1)!;
  const unpaidAt = open.charges[0]!.at;
  const facts: DecisionFacts = {
    ...VISA_FACTS,
    caseId: "0198c0de-0000-7000-8000-000000000007",
    unpaidAt,
    windowEndsAt: new Date(+unpaidAt + 28 * DAY),
    explores: true,
    budgetLeft: 8 - (open.charges.length - 1),
    amount: 29_900,
    currency: "SEK",
    cardCountry: "SE",
    ledger: open.charges.map(({ at, approved, codes: code }) => ({
      at,
      amount: 29_900,
      approved,
      onThisInvoice: true,
      onPresentCard: true,
      codes: code,
    })),
    lastDecline: last.codes && { at: last.at, ...last.codes },
    ...rest,
  };
  const instrument = { paymentMethodType: facts.paymentMethodType, network: "visa", cardCountry: "SE" };
  const traits = {
    tenureDays: 200,
    billingPeriod: 1,
    billingPeriodUnit: "MONTH",
    merchant: "m",
    country: "SE",
    paymentMethodType: "card",
    network: "visa",
    funding: "debit",
    issuer: null,
  };
  return [facts, { traits, instrument, offsetAt: () => HOUR, invoices }];
}
export const PAID_ON_THE_25TH = [1, 2, 3, 4].map((month) =>
  buildInvoice(`2026-0${month}-11`, [
    [`2026-0${month}-15`, "51"],
    [`2026-0${month}-20`, "51"],
    [`2026-0${month}-26`, null],
  ]),
);
export const soonAfterFailure = (facts: DecisionFacts, hours = 0.1) => new Date(+facts.unpaidAt + hours * HOUR);
