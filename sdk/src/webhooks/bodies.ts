// Written by generate-records.ts from openapi.json. Moments are ISO 8601 in UTC.

/** The envelope of an event. */
export interface RecoveryActionEvent {
  /** Names the event, on every attempt the same: skip what you have seen. */
  id: string;
  /** What the event asks for. */
  type: "recovery_action";
  /** When the event was made. */
  created: string;
  /** What to do, and when. */
  data: {
    /** The invoice to retry; your id. */
    invoiceId: string;
    /** The subscription of the invoice; absent for a one-off invoice. */
    subscriptionId?: string;
    /** RETRY: charge again. CARD_CHANGE: ask for a new payment method. UNSPECIFIED: the moment is good, what to do is yours to say. */
    actionSuggestion: "ACTION_SUGGESTION_UNSPECIFIED" | "ACTION_SUGGESTION_RETRY" | "ACTION_SUGGESTION_CARD_CHANGE";
    /** The best time to do it. */
    idealRetryTime: string;
  };
  /** Only in a test event: there is nothing to act on. */
  test?: true;
}

/** The envelope of an event. */
export interface PauseCollectionEvent {
  /** Names the event, on every attempt the same: skip what you have seen. */
  id: string;
  /** What the event asks for. */
  type: "pause_collection";
  /** When the event was made. */
  created: string;
  /** What it is about. */
  data: {
    /** The invoice that it is about; your id. */
    invoiceId: string;
  };
  /** Only in a test event: there is nothing to act on. */
  test?: true;
}

/** The envelope of an event. */
export interface CompleteDunningEvent {
  /** Names the event, on every attempt the same: skip what you have seen. */
  id: string;
  /** What the event asks for. */
  type: "complete_dunning";
  /** When the event was made. */
  created: string;
  /** What it is about. */
  data: {
    /** The invoice that it is about; your id. */
    invoiceId: string;
  };
  /** Only in a test event: there is nothing to act on. */
  test?: true;
}

/** The other body of a recovery action, for merchants that choose it. */
export interface FlatRetryRequest {
  /** The event's id: skip what you have seen. */
  requestId: string;
  /** The invoice to retry; your id. */
  invoiceId: string;
  /** The subscription of the invoice; absent for a one-off invoice. */
  subscriptionId?: string;
  /** RETRY: charge again. CARD_CHANGE: ask for a new payment method. UNSPECIFIED: the moment is good, what to do is yours to say. */
  actionSuggestion: "ACTION_SUGGESTION_UNSPECIFIED" | "ACTION_SUGGESTION_RETRY" | "ACTION_SUGGESTION_CARD_CHANGE";
  /** The best time to do it. */
  idealRetryTime: string;
  /** Only in a test event: there is nothing to act on. */
  test?: true;
}

/** What an endpoint may answer; the body as a whole may be left out. */
export interface WebhookReply {
  /** Whether the event was taken. */
  success?: boolean;
  /** For people. */
  message?: string;
}

/** What an endpoint answers when it refuses an event. */
export interface WebhookErrorReply {
  /** Always false. */
  success: false;
  /** The kind of error. */
  error_code: "invalid_request" | "unauthorized" | "rate_limit_exceeded" | "server_error";
  /** For people. It is shown in the delivery log. */
  message: string;
}
