// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** An event's envelope. */
export interface RecoveryActionEvent {
  /** The event's id, the same on every attempt. Skip events that you have seen. */
  id: string;
  /** The event's type. */
  type: "recovery_action";
  /** When the event was created. */
  created: string;
  /** The action, and when to take it. */
  data: {
    /** The invoice to retry; your id. */
    invoiceId: string;
    /** The subscription of the invoice; absent for a one-off invoice. */
    subscriptionId?: string;
    /** RETRY: charge again. CARD_CHANGE: ask for a new payment method. UNSPECIFIED: the time is good; you decide what to do. */
    actionSuggestion: "ACTION_SUGGESTION_UNSPECIFIED" | "ACTION_SUGGESTION_RETRY" | "ACTION_SUGGESTION_CARD_CHANGE";
    /** The best time to do it. */
    idealRetryTime: string;
  };
  /** Only in a test event, on which you should not act. */
  test?: true;
}

/** An event's envelope. */
export interface PauseCollectionEvent {
  /** The event's id, the same on every attempt. Skip events that you have seen. */
  id: string;
  /** The event's type. */
  type: "pause_collection";
  /** When the event was created. */
  created: string;
  /** The event's subject. */
  data: {
    /** The event's invoice; your id. */
    invoiceId: string;
  };
  /** Only in a test event, on which you should not act. */
  test?: true;
}

/** An event's envelope. */
export interface CompleteDunningEvent {
  /** The event's id, the same on every attempt. Skip events that you have seen. */
  id: string;
  /** The event's type. */
  type: "complete_dunning";
  /** When the event was created. */
  created: string;
  /** The event's subject. */
  data: {
    /** The event's invoice; your id. */
    invoiceId: string;
  };
  /** Only in a test event, on which you should not act. */
  test?: true;
}

/** An event's envelope. */
export interface RecoveryEndedEvent {
  /** The event's id, the same on every attempt. Skip events that you have seen. */
  id: string;
  /** The event's type. */
  type: "recovery_ended";
  /** When the event was created. */
  created: string;
  /** The event's subject. */
  data: {
    /** The event's invoice; your id. */
    invoiceId: string;
    /** Why recovery ended. */
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
      | "END_REASON_LEFT_OUT";
  };
  /** Only in a test event, on which you should not act. */
  test?: true;
}

/** The alternative body of a recovery action, for merchants that choose it. */
export interface FlatRetryRequest {
  /** The event's id. Skip events that you have seen. */
  requestId: string;
  /** The invoice to retry; your id. */
  invoiceId: string;
  /** The subscription of the invoice; absent for a one-off invoice. */
  subscriptionId?: string;
  /** RETRY: charge again. CARD_CHANGE: ask for a new payment method. UNSPECIFIED: the time is good; you decide what to do. */
  actionSuggestion: "ACTION_SUGGESTION_UNSPECIFIED" | "ACTION_SUGGESTION_RETRY" | "ACTION_SUGGESTION_CARD_CHANGE";
  /** The best time to do it. */
  idealRetryTime: string;
  /** Only in a test event, on which you should not act. */
  test?: true;
}

/** The optional body of an endpoint's answer. */
export interface WebhookReply {
  /** Whether the endpoint accepted the event. */
  success?: boolean;
  /** For people. */
  message?: string;
}

/** The answer of an endpoint that refuses an event. */
export interface WebhookErrorReply {
  /** Always false. */
  success: false;
  /** The kind of error. */
  error_code: "invalid_request" | "unauthorized" | "rate_limit_exceeded" | "server_error";
  /** For people. Shown in the delivery log. */
  message: string;
}
