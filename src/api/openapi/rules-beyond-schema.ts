import { BODY_BYTES_MAX } from "../../http/framing.ts";
import { STRUCTURAL_CHARS_MAX } from "../../ingest/refuse-excessive-json.ts";
import { DEPTH_MAX } from "../../ingest/scan-json.ts";

/** A rule of the service that no schema in the document can say. */
export interface DocumentedRule {
  /** A name to refer to it by. */
  id: string;
  /** What it is about. */
  where: "body" | "field" | "query";
  rule: string;
  /** What is answered to a request that fits the schemas and breaks the rule; 200: it is taken although it does not fit. */
  status: number;
}

/** All of them: on everything else a validator made from the document agrees with the service. */
export const RULES_BEYOND_SCHEMA: readonly DocumentedRule[] = [
  {
    id: "real-moment",
    where: "field",
    rule: "A moment lies on a day that the calendar has, and from 1970 to 2199 in UTC, canceledAt and expiresAt to 9999. There are no leap seconds.",
    status: 400,
  },
  {
    id: "no-future",
    where: "field",
    rule: "createdAt and updatedAt are at most five minutes ahead of the service's clock.",
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
    rule: "customerTimezone names a zone of the IANA database.",
    status: 400,
  },
  {
    id: "well-formed-text",
    where: "field",
    rule: "No text of a known field holds half of a surrogate pair, such as \\ud83d alone.",
    status: 400,
  },
  {
    id: "no-card-number",
    where: "field",
    rule:
      "No free text, no unknown field and no unknown field's name holds a card number: 13 to 19 digits, also in groups set apart by spaces or " +
      "hyphens, that are in a card range and pass Luhn. An identifier may hold such digits, but not in groups.",
    status: 400,
  },
  { id: "no-double-key", where: "body", rule: "No key stands twice in the same object.", status: 400 },
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
    rule: "A parameter that is unknown, or given twice, is refused: a misspelt filter must not list everything.",
    status: 400,
  },
  {
    id: "page-token",
    where: "query",
    rule:
      "A pageToken is one that this merchant was given within the last 24 hours. What is given beside it is as it was when the walk began, but for " +
      "pageSize. An empty one is the same as none.",
    status: 400,
  },
  {
    id: "any-page-size",
    where: "query",
    rule: "A pageSize below 1 or above 100 is taken, and means 100; so does an empty one.",
    status: 200,
  },
];
