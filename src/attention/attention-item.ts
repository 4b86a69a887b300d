import type { CurrencySum } from "../tables/attention.ts";

/** As they are listed. */
export const ATTENTION_KINDS = [
  "endpoint_failing",
  "instructions_given_up",
  "ingest_stopped",
  "connector_failing",
  "window_ending",
  "card_change_unanswered",
  "data_contradictory",
  "decline_code_unknown",
  "invoice_large",
] as const;
export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/** `broken`: money waits for a repair. `soon`: a date is near. `note`: good to know. */
export const SEVERITIES = ["broken", "soon", "note"] as const;
export type Severity = (typeof SEVERITIES)[number];

export const SEVERITY_BY_KIND: Readonly<Record<AttentionKind, Severity>> = {
  endpoint_failing: "broken",
  instructions_given_up: "broken",
  ingest_stopped: "broken",
  connector_failing: "broken",
  window_ending: "soon",
  card_change_unanswered: "soon",
  data_contradictory: "soon",
  decline_code_unknown: "note",
  invoice_large: "note",
};

/** One matter that a person should look at. */
export interface AttentionItem {
  kind: AttentionKind;
  severity: Severity;
  /** The rows behind the link; null if the matter has no rows. */
  count: number | null;
  /** Due on these rows' open invoices, by currency. */
  money: readonly CurrencySum[];
  /** When the matter began, or the oldest row's date. In service time. */
  since: Date | null;
  title: string;
  detail: string;
  /** A path in the console. */
  href: string;
}
