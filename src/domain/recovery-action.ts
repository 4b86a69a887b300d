import { DAY_MS, HOUR_MS } from "./durations.ts";

export const ACTION_TYPES = ["RETRY", "CARD_CHANGE"] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

/** How long after its ideal time the outcome of an action is waited for: of a retry, and of a customer who changes the card. */
export const OUTCOME_WAIT_MS: Readonly<Record<ActionType, number>> = { RETRY: 48 * HOUR_MS, CARD_CHANGE: 7 * DAY_MS };

export const ACTION_STATUSES = [
  "SCHEDULED",
  "SENT",
  "SUCCEEDED",
  "FAILED",
  "EXPIRED",
  "CANCELED",
  "DELIVERY_FAILED",
] as const;
export type ActionStatus = (typeof ACTION_STATUSES)[number];

export const ACTION_SUGGESTIONS = ["UNSPECIFIED", "RETRY", "CARD_CHANGE"] as const;
export type ActionSuggestion = (typeof ACTION_SUGGESTIONS)[number];

/** One planned, sent or settled step to recover an invoice. What is not known is null and left out of the JSON. */
export interface RecoveryAction {
  /** UUIDv7; also the `id` of the event that carries it. */
  id: string;
  caseId: string;
  invoiceId: string;
  subscriptionId: string | null;
  customerId: string;
  transactionId: string | null;
  paymentMethodType: string | null;
  cardCountry: string | null;
  currency: string;
  /** What was owed when it was planned last, in minor units; null: it was planned before that was kept. */
  amountDue: number | null;
  type: ActionType;
  status: ActionStatus;
  integrationType: string;
  actionSuggestion: ActionSuggestion;
  idealRetryTime: Date;
  /** Sentences a person can read, most important first. */
  reasons: string[];
  /** When the event was created; null while it is only a plan. */
  decidedAt: Date | null;
  /** When Dunlin recorded the execution: SUCCEEDED or FAILED. */
  executedAt: Date | null;
  /** The moment of the attempt itself. */
  attemptedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}
