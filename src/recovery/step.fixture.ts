// Setup for pure tests of a step: a case of an unpaid invoice that fixed rules decide.
import type { Case } from "../domain/case.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import type { AvailableModel } from "./decide-case.ts";
import type { LoadedCase } from "./loaded-case.ts";
import type { DeliveredAction } from "./outcome.ts";
import { buildInvoice, DAY, START } from "./stage.fixture.ts";
import { stepCase } from "./step.ts";

export const at = (ms: number) => new Date(START.getTime() + ms);
export const WINDOW_MS = 28 * DAY;

export interface ViewOverrides extends Partial<Omit<LoadedCase, "case" | "merchant" | "invoice" | "sentOnceEvents">> {
  case?: Partial<Case>;
  merchant?: Partial<Merchant>;
  invoice?: Partial<Invoice>;
  sentOnceEvents?: Partial<LoadedCase["sentOnceEvents"]>;
}

/** A case with paused collection. */
export const buildView = ({ case: recoveryCase, merchant, invoice, sentOnceEvents, ...over }: ViewOverrides = {}) =>
  ({
    case: {
      ...{ id: "case_1", invoiceId: "inv_1", customerId: "cus_1", subscriptionId: null, amount: 4900, currency: "EUR" },
      ...{ unpaidAt: START, windowEndsAt: at(WINDOW_MS), budget: 8, arm: "dunlin", openedAt: START },
      ...{ endedAt: null, endReason: null, paidAt: null, postponedUntil: null, ...recoveryCase },
    },
    merchant: {
      ...{ webhookUrl: "https://shop.example/", webhookFlat: false, leadMs: 0, smallestAmount: 0, engine: "static" },
      ...merchant,
    },
    invoice: buildInvoice(invoice),
    ...{
      subscription: null,
      customerInvoices: [],
      actions: [],
      transactions: [],
      blockingAttempts: [],
      disputed: [],
      pendingRequests: [],
    },
    ...{ storedConflict: null, issuerDownAt: null, lastDecision: null, ...over },
    sentOnceEvents: { pauseCollection: true, completeDunning: false, recoveryEnded: false, ...sentOnceEvents },
  }) as unknown as LoadedCase;

export function stepAt(nowMs: number, given: ViewOverrides = {}, model: AvailableModel["model"] = null) {
  let ids = 0;
  return stepCase(buildView(given), at(nowMs), () => `new_${++ids}`, { model, failureReason: null });
}

/** A retry that was delivered a day after START and is awaited. */
export const buildAction = (overrides: Partial<DeliveredAction> = {}): DeliveredAction => ({
  ...{ id: "action_1", caseId: "case_1", invoiceId: "inv_1", subscriptionId: null, customerId: "cus_1" },
  ...{ transactionId: null, paymentMethodType: null, cardCountry: null, currency: "EUR", amountDue: 4900 },
  ...{ type: "RETRY", status: "SENT", integrationType: "CUSTOM", actionSuggestion: "RETRY", reasons: ["It is time."] },
  ...{ idealRetryTime: at(DAY), decidedAt: at(DAY), executedAt: null, attemptedAt: null },
  ...{ createdAt: START, updatedAt: START, firstAttemptAt: at(DAY), delivery: "delivered" },
  ...overrides,
});
const NOT_SENT = { firstAttemptAt: null, status: "SCHEDULED" } as const;
/** A retry planned for three days after START. */
export const PLAN = buildAction({ ...NOT_SENT, decidedAt: null, delivery: "none", idealRetryTime: at(3 * DAY) });
/** Its webhook waits for delivery. */
export const UNDELIVERED = buildAction({ ...NOT_SENT, delivery: "waiting" });

export const buildAttempt = (overrides: Partial<TransactionFacts> = {}): TransactionFacts => ({
  ...{ id: "txn_1", state: "FAILED", invoiceId: "inv_1", customerId: "cus_1", amount: 4900, currency: "EUR" },
  ...{ createdAt: at(DAY), updatedAt: at(DAY), paymentMethodType: "card", cardBrand: "visa", cardCountry: "DE" },
  ...{ cardFingerprint: "fp_1", networkDeclineCode: "51" },
  ...overrides,
});
