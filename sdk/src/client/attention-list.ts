// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.

/** Everything that needs a person, the most urgent first. The wording of the sentences may change. */
export interface Attention {
  /** The matters. */
  items: {
    /** The kind of matter. More kinds may be added. */
    kind:
      | "endpoint_failing"
      | "instructions_given_up"
      | "ingest_stopped"
      | "connector_failing"
      | "window_ending"
      | "card_change_unanswered"
      | "data_contradictory"
      | "decline_code_unknown"
      | "invoice_large";
    /** `broken`: money waits for a repair. `soon`: a date is near. `note`: good to know. */
    severity: "broken" | "soon" | "note";
    /** The number of rows in the list behind `href`; absent if the matter has no rows. */
    count?: number;
    /** The amounts due on the open invoices of these rows, by currency. */
    money: {
      /** ISO 4217 code. */
      currency: string;
      /** In minor units, as text because a sum may be too large for a JSON number. */
      amount: string;
    }[];
    /** When the matter began, or the date of the oldest row; absent if neither is known. */
    since?: string;
    /** One line, for people. */
    title: string;
    /** One or two sentences, for people. */
    detail: string;
    /** The path of the console's page that lists the rows. */
    href: string;
  }[];
}
