// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** Recovery by one dimension. Each sum equals the invoices behind it. */
export interface RecoveryBreakdown {
  /** The dimension. */
  by: "reason" | "code" | "method" | "country" | "issuer" | "plan" | "amount" | "attempt" | "hour" | "cohort";
  /** Invoices that first failed from then on. */
  from: string;
  /** Exclusive. Earlier than asked if younger invoices may still be paid. */
  to: string;
  /** An invoice counts this many days after it failed. */
  maturityDays: number;
  /** One row for each value and currency. Amounts, attempts, hours and months are in their order. */
  rows: {
    /** The value of the dimension; empty if it is unknown. */
    value: string;
    /** The value in words, for people. */
    label: string;
    /** ISO 4217 code. Absent for retries. */
    currency?: string;
    /** Invoices that failed. For `attempt` and `hour`: retries that were made. */
    count: number;
    /** Those that were paid after an instruction of Dunlin. For retries: those that were approved. */
    recovered: number;
    /** `recovered` of `count`. */
    rate?: number;
    /** The lower end of the rate's 95% interval, which is wider where customers have several invoices. */
    rateLow?: number;
    /** The upper end of the interval. */
    rateHigh?: number;
    /** The amounts that failed. In minor units, as text because a sum may be too large for a JSON number. */
    failedAmount?: string;
    /** The amounts that were recovered. In minor units, as text because a sum may be too large for a JSON number. */
    recoveredAmount?: string;
  }[];
}
