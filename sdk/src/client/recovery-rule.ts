// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** A recovery rule: it holds for an invoice that fits all its conditions. Outcomes that are absent come from the merchant's settings. */
export interface RecoveryRule {
  /** The id of the rule. Absent: a new rule, which gets an id. */
  id?: string;
  /** For people: reasons and explanations name the rule by it. */
  name: string;
  /** Condition: the plan of the subscription is one of these. */
  planIds?: string[];
  /** Condition: the entity of the invoice is one of these. */
  businessEntities?: string[];
  /** Condition: the country of the card is one of these. It may become known with an attempt. */
  cardCountries?: string[];
  /** Condition: the currency is one of these. */
  currencies?: string[];
  /** Condition: the amount of the invoice, in minor units, is at least this. Needs exactly one currency. */
  amountFrom?: number;
  /** Condition: the amount of the invoice is at most this. */
  amountTo?: number;
  /** Condition: the customer is one of these. */
  customerIds?: string[];
  /** Whether Dunlin never acts on the invoice. Then no other outcome is given. Default: false. */
  leaveOut?: boolean;
  /** Outcome: the recovery window. Absent: the setting of the merchant. */
  windowDays?: number;
  /** Outcome: the maximum number of retries. Absent: the setting of the merchant. */
  budget?: number;
  /** Outcome: how long before its ideal time a retry is requested. Absent: the setting of the merchant. */
  leadMinutes?: number;
  /** Outcome: no retry is planned on these weekdays, on the customer's clock. */
  quietWeekdays?: ("SUNDAY" | "MONDAY" | "TUESDAY" | "WEDNESDAY" | "THURSDAY" | "FRIDAY" | "SATURDAY")[];
  /** Outcome: no retry is planned on these dates. */
  quietDates?: string[];
  /** Outcome: no retry is planned from this hour of the customer's clock. */
  quietFromHour?: number;
  /** Outcome: up to this hour, 1 to 20 hours later, also across midnight. At this hour retries are allowed again. */
  quietToHour?: number;
}

/** The recovery rules. */
export interface RecoveryRuleList {
  /** In order: the first rule that fits an invoice decides. */
  rules: RecoveryRule[];
}

/** The rules are stored. */
export interface RecoveryRulesReply {
  /** The id of this request. Quote it in support requests. */
  requestId: string;
  /** As stored, with their ids. */
  rules: RecoveryRule[];
}

/** The part of a rule. */
export interface RuleTotal {
  /** For people: reasons and explanations name the rule by it. */
  name: string;
  /** Open cases. */
  openCases: number;
  /** The money of these cases. */
  amounts: {
    /** ISO 4217. */
    currency: string;
    /** Minor units that are left to pay. */
    amount: number;
  }[];
}

/** The effect of a list of rules on the open cases. Nothing was changed. */
export interface RecoveryRulesTest {
  /** All open cases. */
  openCases: number;
  /** Cases that would end, whose window or budget would change, or whose planned retry lies in a quiet time. */
  planChanges: number;
  /** The part of each rule, in order. */
  rules: RuleTotal[];
  /** Cases that no rule fits. */
  others: {
    /** Open cases. */
    openCases: number;
    /** The money of these cases. */
    amounts: {
      /** ISO 4217. */
      currency: string;
      /** Minor units that are left to pay. */
      amount: number;
    }[];
  };
  /** Such as "rule 3 never applies: rule 1 fits every invoice". Empty if every rule can apply. */
  notes: string[];
}
