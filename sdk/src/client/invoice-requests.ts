// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** An optional reason. */
export interface ReasonBody {
  /** Why, for the audit log. */
  reason?: string | null;
}

/** The time, and an optional reason. */
export interface PostponeBody {
  /** No retry is requested before this time, which is ahead and within the recovery window. */
  until: string;
  /** Why, for the audit log. */
  reason?: string | null;
}

/** The recovery is stopped. */
export interface StopReply {
  /** The id of this request. Quote it in support requests. */
  requestId: string;
  /** The `complete_dunning` that is sent; absent without an endpoint. */
  eventId?: string;
}

/** The retry is requested. */
export interface RetryNowReply {
  /** The id of this request. Quote it in support requests. */
  requestId: string;
  /** The recovery action, and its event. Send it as recoveryActionId when you push the attempt. */
  recoveryActionId: string;
}

/** The retries are postponed. */
export interface PostponeReply {
  /** The id of this request. Quote it in support requests. */
  requestId: string;
  /** Until when. */
  until: string;
}

/** The sentences of `dunlin explain` about an invoice. They are for people: their wording may change. */
export interface Explanation {
  /** Your id. */
  invoiceId: string;
  /** Whether Dunlin recovers the invoice now. `RECOVERY_OBSERVED`: Dunlin only observes it, in shadow mode or in the holdout. `RECOVERY_NONE`: its payment has not failed. */
  recovery: "RECOVERY_OPEN" | "RECOVERY_OBSERVED" | "RECOVERY_ENDED" | "RECOVERY_NONE";
  /** Why the latest recovery ended; null if it goes on, or if there was none. */
  endReason:
    | "END_REASON_PAID"
    | "END_REASON_VOIDED"
    | "END_REASON_UNCOLLECTIBLE"
    | "END_REASON_REFUNDED"
    | "END_REASON_DRAFT"
    | "END_REASON_SUBSCRIPTION_CANCELED"
    | "END_REASON_SUBSCRIPTION_EXPIRED"
    | "END_REASON_WINDOW_OVER"
    | "END_REASON_BUDGET_USED"
    | "END_REASON_HOPELESS"
    | "END_REASON_STOPPED_BY_HAND"
    | "END_REASON_SETTLED"
    | "END_REASON_LEFT_OUT"
    | null;
  /** The zone of all times in the sentences: the customer's, as far as it is known. */
  timeZone: string;
  /** The state in one text: the amount and how long it is unpaid, or how the recovery ended; why the payment failed; the next step. The invoice's page begins with it. */
  headline: string;
  /** The last step, the next one, and what the invoice waits for. */
  summary: {
    /** What the sentence is about. */
    label: "Last done" | "Ended" | "Next" | "Waiting" | "Why";
    /** The sentence. */
    sentence: string;
  }[];
  /** Questions that people ask about an invoice, with their answers. */
  answers: {
    /** The question. */
    question: string;
    /** The answer. */
    sentences: string[];
  }[];
}
