import { BODY_BYTES_MAX } from "../../http/framing.ts";
import { STRUCTURAL_CHARS_MAX } from "../../ingest/refuse-excessive-json.ts";
import { DEPTH_MAX } from "../../ingest/scan-json.ts";

/** A rule that no schema can express. */
export interface DocumentedRule {
  id: string;
  where: "body" | "field" | "query";
  rule: string;
  /** The answer to a request that fits the schema and breaks the rule. 200: the schema refuses it, and Dunlin accepts it. */
  status: number;
}

/** On everything else, a validator built from the document agrees with the service. */
export const RULES_BEYOND_SCHEMA: readonly DocumentedRule[] = [
  {
    id: "real-moment",
    where: "field",
    rule: "A timestamp is on a day that exists, and from 1970 to 2199 in UTC. canceledAt and expiresAt can be up to the year 9999. Leap seconds are refused.",
    status: 400,
  },
  {
    id: "no-future",
    where: "field",
    rule: "createdAt and updatedAt are at most five minutes ahead of the service's clock, or as long as `DUNLIN_CLOCK_SKEW` says.",
    status: 400,
  },
  {
    id: "due-within-amount",
    where: "field",
    rule: "amountDue of an invoice is at most its amount.",
    status: 400,
  },
  {
    id: "digits-only",
    where: "field",
    rule: "An integer is written with digits only: 5.0, 5e0 and -0 are refused.",
    status: 400,
  },
  {
    id: "known-time-zone",
    where: "field",
    rule: "customerTimezone is a zone of the IANA database.",
    status: 400,
  },
  {
    id: "well-formed-text",
    where: "field",
    rule: "No text of a known field holds a lone surrogate, such as \\ud83d.",
    status: 400,
  },
  {
    id: "no-card-number",
    where: "field",
    rule:
      "No free text, unknown field or name of an unknown field holds a card number: 13 to 19 digits in a card range that pass Luhn, also in groups " +
      "separated by spaces or hyphens. An identifier can hold such digits, but not in groups.",
    status: 400,
  },
  { id: "no-double-key", where: "body", rule: "No key appears twice in the same object.", status: 400 },
  {
    id: "depth",
    where: "body",
    rule: `The body is nested at most ${DEPTH_MAX} levels deep, unknown fields included.`,
    status: 400,
  },
  {
    id: "not-a-heap",
    where: "body",
    rule: `The body holds at most ${STRUCTURAL_CHARS_MAX} commas and opening brackets outside of strings, unknown fields included.`,
    status: 400,
  },
  { id: "utf-8", where: "body", rule: "The body is UTF-8, without a byte order mark.", status: 400 },
  { id: "body-size", where: "body", rule: `The body has at most ${BODY_BYTES_MAX} bytes.`, status: 413 },
  {
    id: "known-parameters",
    where: "query",
    rule: "An unknown or repeated parameter is refused, because ignoring a misspelled filter would list everything.",
    status: 400,
  },
  {
    id: "page-token",
    where: "query",
    rule:
      "A pageToken was issued to this merchant within the last 24 hours. Other parameters are omitted, or the same as in the request for the first " +
      "page; only pageSize can differ. An empty token means none.",
    status: 400,
  },
  {
    id: "any-page-size",
    where: "query",
    rule: "A pageSize below 1 or above 100 is accepted, and means 100. So does an empty one.",
    status: 200,
  },
];
