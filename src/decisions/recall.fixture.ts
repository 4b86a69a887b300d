import { newLearned } from "../model/learned.ts";
import type { History, PastBill, PastCharge } from "./recall.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const learned = newLearned();
export const codes = {
  networkDeclineCode: "51",
  networkAdviceCode: null,
  gatewayCode: null,
  declineCategory: null,
};
export const failed = (moment: string): PastCharge => ({ at: new Date(`${moment}:00Z`), approved: false, codes });
export const paid = (moment: string): PastCharge => ({ at: new Date(`${moment}:00Z`), approved: true, codes: null });

export function historyOf(
  bills: PastCharge[][],
  offsetMs = 0,
  funding: string | null = "debit",
  type = "card",
): History {
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
    bills: bills.map((charges): PastBill => ({ dollars: 20, paymentMethodType: type, charges })),
  };
}
