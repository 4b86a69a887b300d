// Written by generate-records.ts from openapi.json. Moments are ISO 8601 in UTC.

/** One planned, sent or settled step to recover an invoice. What is not known is left out. */
export interface RecoveryAction {
  /** The same as the id of its event; name it as recoveryActionId when you push the attempt. */
  id: string;
  /** Your id of the subscription; absent for a one-off invoice. */
  subscriptionId?: string;
  /** Your id of the invoice. */
  invoiceId: string;
  /** Your id of the customer. */
  customerId: string;
  /** Your id of the payment attempt that carried the action out. */
  transactionId?: string;
  /** What was charged: `card`, `sepa_debit` and so on. */
  paymentMethodType?: string;
  /** Where the card was issued: ISO 3166 alpha-2. */
  cardCountry?: string;
  /** ISO 4217 code. */
  currency: string;
  /** What was owed on the invoice when the action was planned last, in minor units of the currency. */
  amountDue?: number;
  /** What is asked for. */
  type: "RECOVERY_ACTION_TYPE_RETRY" | "RECOVERY_ACTION_TYPE_CARD_CHANGE";
  /** How it stands. */
  status:
    | "RECOVERY_ACTION_STATUS_SCHEDULED"
    | "RECOVERY_ACTION_STATUS_SENT"
    | "RECOVERY_ACTION_STATUS_SUCCEEDED"
    | "RECOVERY_ACTION_STATUS_FAILED"
    | "RECOVERY_ACTION_STATUS_EXPIRED"
    | "RECOVERY_ACTION_STATUS_CANCELED"
    | "RECOVERY_ACTION_STATUS_DELIVERY_FAILED";
  /** Where the invoice came from. `INTEGRATION_TYPE_CUSTOM`: by this API. */
  integrationType: string;
  /** When it was planned. */
  createdAt: string;
  /** When its outcome was recorded; of SUCCEEDED and FAILED. */
  executedAt?: string;
  /** When it last changed. */
  updatedAt: string;
  /** As in the event. An addition to the interface. */
  actionSuggestion?: "ACTION_SUGGESTION_UNSPECIFIED" | "ACTION_SUGGESTION_RETRY" | "ACTION_SUGGESTION_CARD_CHANGE";
  /** The best time for it. An addition to the interface. */
  idealRetryTime?: string;
  /** The moment of the attempt itself. An addition to the interface. */
  attemptedAt?: string;
  /** Why, in sentences, most important first. An addition to the interface. */
  reasons?: string[];
}

export interface RecoveryActionPage {
  /** In the order that was asked for. */
  recoveryActions: RecoveryAction[];
  /** For the page after this one; empty on the last. */
  nextPageToken: string;
  /** How many actions there are on all pages, counted on the first. */
  totalSize: number;
}

/** A refusal or a fault. */
export interface ListErrorReply {
  /** The HTTP status. */
  code: number;
  /** What is wrong, for people; not for programs to take apart. Of a batch up to 20 problems, joined by semicolons, and how many more there are. */
  message: string;
  /** What is at fault. */
  details: {
    /** The kind of detail. */
    "@type": "type.googleapis.com/google.rpc.BadRequest";
    /** The parameter at fault; empty when it is not one of them. */
    fieldViolations: {
      /** The parameter. */
      field: string;
      /** What is wrong. */
      description: string;
    }[];
  }[];
}

/** A refusal or a fault. */
export interface ListOtherErrorReply {
  /** The HTTP status. */
  code: number;
  /** What is wrong, for people; not for programs to take apart. Of a batch up to 20 problems, joined by semicolons, and how many more there are. */
  message: string;
  /** Why. */
  details: {
    /** The kind of detail. */
    "@type": "type.googleapis.com/google.rpc.ErrorInfo";
    /** Why, for programs. */
    reason: string;
    /** Whose reasons they are. */
    domain: "dunlin";
  }[];
}

/** The query of the list. Ascending by `executed_at` or `created_at` misses and doubles nothing. */
export interface ListParams {
  /** Only actions of this subscription; your id. */
  subscriptionId?: string;
  /** Only actions of this invoice; your id. */
  invoiceId?: string;
  /** Only actions of this customer; your id. */
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
  /** Only actions executed at this moment or later. */
  executedAfter?: string;
  /** Only actions executed at this moment or earlier. */
  executedBefore?: string;
  /** What the list is ordered by; ties by id. With `executed_at` only executed actions are listed. */
  orderBy?: "executed_at" | "created_at" | "updated_at";
  /** The direction of the order. Ascending by `created_at` or `executed_at` misses and doubles nothing. */
  orderDirection?: "asc" | "desc";
  /** How many actions a page holds. Below 1, above 100 or absent: 100. */
  pageSize?: number;
  /** The `nextPageToken` of the page before; good for 24 hours. Filters and order may be left out, or must be the same. */
  pageToken?: string;
}
