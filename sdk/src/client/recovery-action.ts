// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** A planned, sent or settled step to recover an invoice. Unknown values are omitted. */
export interface RecoveryAction {
  /** The id of its event too. Send it as recoveryActionId when you push the attempt. */
  id: string;
  /** Your id of the subscription; absent for a one-off invoice. */
  subscriptionId?: string;
  /** Your id of the invoice. */
  invoiceId: string;
  /** Your id of the customer. */
  customerId: string;
  /** Your id of the payment attempt that carried out the action. */
  transactionId?: string;
  /** The type of payment method that was charged, such as `card` or `sepa_debit`. */
  paymentMethodType?: string;
  /** The country in which the card was issued: ISO 3166 alpha-2. */
  cardCountry?: string;
  /** ISO 4217 code. */
  currency: string;
  /** The amount due on the invoice when the action was last planned, in minor units of the currency. */
  amountDue?: number;
  /** The requested action. */
  type: "RECOVERY_ACTION_TYPE_RETRY" | "RECOVERY_ACTION_TYPE_CARD_CHANGE";
  /** The current status. */
  status:
    | "RECOVERY_ACTION_STATUS_SCHEDULED"
    | "RECOVERY_ACTION_STATUS_SENT"
    | "RECOVERY_ACTION_STATUS_SUCCEEDED"
    | "RECOVERY_ACTION_STATUS_FAILED"
    | "RECOVERY_ACTION_STATUS_EXPIRED"
    | "RECOVERY_ACTION_STATUS_CANCELED"
    | "RECOVERY_ACTION_STATUS_DELIVERY_FAILED";
  /** The source of the invoice. `INTEGRATION_TYPE_CUSTOM`: a program of yours. `INTEGRATION_TYPE_STRIPE` and others: the connector whose key pushed it. */
  integrationType: string;
  /** When it was planned. */
  createdAt: string;
  /** When its outcome was recorded. Only in status SUCCEEDED or FAILED. */
  executedAt?: string;
  /** When it last changed. */
  updatedAt: string;
  /** As in the event. An addition to the interface. */
  actionSuggestion?: "ACTION_SUGGESTION_UNSPECIFIED" | "ACTION_SUGGESTION_RETRY" | "ACTION_SUGGESTION_CARD_CHANGE";
  /** The best time for it. An addition to the interface. */
  idealRetryTime?: string;
  /** When the payment attempt was made. An addition to the interface. */
  attemptedAt?: string;
  /** The reasons, as sentences, most important first. An addition to the interface. */
  reasons?: string[];
}

export interface RecoveryActionPage {
  /** The actions, in the requested order. */
  recoveryActions: RecoveryAction[];
  /** The token for the next page; empty on the last page. */
  nextPageToken: string;
  /** The number of actions on all pages, counted for the first page. */
  totalSize: number;
}

/** An error. */
export interface ListErrorReply {
  /** The HTTP status. */
  code: number;
  /** The problem, for people. Programs should not parse it. For a batch, it lists up to 20 problems, joined by semicolons, and the number of further ones. */
  message: string;
  /** The parameter at fault. */
  details: {
    /** The kind of detail. */
    "@type": "type.googleapis.com/google.rpc.BadRequest";
    /** The parameter at fault; empty if no parameter is. */
    fieldViolations: {
      /** The parameter. */
      field: string;
      /** The problem. */
      description: string;
    }[];
  }[];
}

/** An error. */
export interface ListOtherErrorReply {
  /** The HTTP status. */
  code: number;
  /** The problem, for people. Programs should not parse it. For a batch, it lists up to 20 problems, joined by semicolons, and the number of further ones. */
  message: string;
  /** The reason. */
  details: {
    /** The kind of detail. */
    "@type": "type.googleapis.com/google.rpc.ErrorInfo";
    /** The reason, for programs. */
    reason: string;
    /** The domain of the reason. */
    domain: "dunlin";
  }[];
}

/** The query of the list. An ascending walk by `executed_at` or `created_at` has no gaps and no duplicates. */
export interface ListParams {
  /** Only actions for this subscription; your id. */
  subscriptionId?: string;
  /** Only actions for this invoice; your id. */
  invoiceId?: string;
  /** Only actions for this customer; your id. */
  customerId?: string;
  /** Only the action that this payment attempt carried out; your id. An addition to the interface. */
  transactionId?: string;
  /** Only actions whose card was issued in this country. */
  cardCountry?: string;
  /** Only actions in this currency. */
  currency?: string;
  /** Only actions of this type. An addition to the interface. */
  type?: "RECOVERY_ACTION_TYPE_RETRY" | "RECOVERY_ACTION_TYPE_CARD_CHANGE";
  /** Only actions in this status. An addition to the interface. */
  status?:
    | "RECOVERY_ACTION_STATUS_SCHEDULED"
    | "RECOVERY_ACTION_STATUS_SENT"
    | "RECOVERY_ACTION_STATUS_SUCCEEDED"
    | "RECOVERY_ACTION_STATUS_FAILED"
    | "RECOVERY_ACTION_STATUS_EXPIRED"
    | "RECOVERY_ACTION_STATUS_CANCELED"
    | "RECOVERY_ACTION_STATUS_DELIVERY_FAILED";
  /** Only actions executed at this time or later. */
  executedAfter?: string;
  /** Only actions executed at this time or earlier. */
  executedBefore?: string;
  /** The field to order by; ties are ordered by id. With `executed_at`, only executed actions are listed. */
  orderBy?: "executed_at" | "created_at" | "updated_at";
  /** The direction of the order. An ascending walk by `created_at` or `executed_at` has no gaps and no duplicates. */
  orderDirection?: "asc" | "desc";
  /** The number of actions per page. If it is below 1, above 100 or absent, the page holds 100. */
  pageSize?: number;
  /** The `nextPageToken` of the previous page, valid for 24 hours. Omit filters and order, or send the same ones as before. */
  pageToken?: string;
}
