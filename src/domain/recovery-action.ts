import { DAY_MS, HOUR_MS } from "./durations.ts";

export const ACTION_TYPES = ["RETRY", "CARD_CHANGE"] as const;
export type ActionType = (typeof ACTION_TYPES)[number];

/** How long Dunlin waits for an outcome, from the ideal time. */
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
/** Planned, or requested and without an outcome yet. */
export const OPEN_ACTION_STATUSES = ["SCHEDULED", "SENT"] as const satisfies readonly ActionStatus[];

/** In the reasons of a retry of a card that cannot be charged, which the bank may have renewed. Stored decisions hold it too. */
export const RENEWAL_WORDS = "renew such cards without";

export const ACTION_SUGGESTIONS = ["UNSPECIFIED", "RETRY", "CARD_CHANGE"] as const;
export type ActionSuggestion = (typeof ACTION_SUGGESTIONS)[number];

/** JSON omits fields that are null. */
export interface RecoveryAction {
  /** Also the `id` of its event. */
  id: string;
  caseId: string;
  invoiceId: string;
  subscriptionId: string | null;
  customerId: string;
  transactionId: string | null;
  paymentMethodType: string | null;
  cardCountry: string | null;
  currency: string;
  /** Minor units, as of the latest plan. Null in old records. */
  amountDue: number | null;
  type: ActionType;
  status: ActionStatus;
  integrationType: string;
  actionSuggestion: ActionSuggestion;
  idealRetryTime: Date;
  /** Most important first. */
  reasons: string[];
  /** When the event was created. */
  decidedAt: Date | null;
  /** When Dunlin recorded the outcome. */
  executedAt: Date | null;
  attemptedAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}
