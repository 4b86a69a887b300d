// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** The envelope of an event. */
export interface RecoveryActionEvent {
  /** The id of the event, the same on every attempt. Skip events that you have seen. */
  id: string;
  /** The type of the event. */
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

/** The envelope of an event. */
export interface PauseCollectionEvent {
  /** The id of the event, the same on every attempt. Skip events that you have seen. */
  id: string;
  /** The type of the event. */
  type: "pause_collection";
  /** When the event was created. */
  created: string;
  /** The subject of the event. */
  data: {
    /** The invoice of the event; your id. */
    invoiceId: string;
  };
  /** Only in a test event, on which you should not act. */
  test?: true;
}

/** The envelope of an event. */
export interface CompleteDunningEvent {
  /** The id of the event, the same on every attempt. Skip events that you have seen. */
  id: string;
  /** The type of the event. */
  type: "complete_dunning";
  /** When the event was created. */
  created: string;
  /** The subject of the event. */
  data: {
    /** The invoice of the event; your id. */
    invoiceId: string;
  };
  /** Only in a test event, on which you should not act. */
  test?: true;
}

/** The alternative body of a recovery action, for merchants that choose it. */
export interface FlatRetryRequest {
  /** The id of the event. Skip events that you have seen. */
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
