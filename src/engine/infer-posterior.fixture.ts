import type { CustomerHistory, PastCharge, PastInvoice } from "./infer-posterior.ts";
import { newLearnedModel } from "./learned/learned-model.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const newModel = newLearnedModel();
export const codes = {
  networkDeclineCode: "51",
  networkAdviceCode: null,
  gatewayCode: null,
  declineCategory: null,
};
export const failedCharge = (time: string): PastCharge => ({ at: new Date(`${time}:00Z`), approved: false, codes });
export const paidCharge = (time: string): PastCharge => ({
  at: new Date(`${time}:00Z`),
  approved: true,
  codes: null,
});

export function buildHistory(
  invoices: PastCharge[][],
  offsetMs = 0,
  funding: string | null = "debit",
  type = "card",
): CustomerHistory {
  const traits = {
    tenureDays: 200,
    billingPeriod: 1,
    billingPeriodUnit: "MONTH",
    merchant: "own",
    country: "AU",
    paymentMethodType: type,
    network: "visa",
    funding,
    issuer: null,
  };
  return {
    traits,
    instrument: { paymentMethodType: "card", network: "visa", cardCountry: "AU" },
    offsetAt: () => offsetMs,
    invoices: invoices.map((charges): PastInvoice => ({ dollars: 20, paymentMethodType: type, charges })),
  };
}
