import { ATTENTION_KINDS, SEVERITIES } from "../../attention/attention-item.ts";
import { currency } from "../../ingest/record-fields.ts";
import { refusalResponses } from "./error-responses.ts";
import { type DocumentPart, fieldSchema } from "./field-schema.ts";
import { enumSchema, timestampSchema } from "./list-operation.ts";
import { AUTHENTICATED_HEADERS, CALLER_REQUEST_ID, headerRefs } from "./response-headers.ts";

const sentence = (description: string): DocumentPart => ({
  type: "string",
  maxLength: 1000,
  pattern: "^[^\\x00-\\x1f\\x7f]*$",
  description,
});

const AMOUNT_SCHEMA: DocumentPart = {
  type: "object",
  required: ["currency", "amount"],
  properties: {
    currency: fieldSchema(currency, "ISO 4217 code."),
    amount: {
      type: "string",
      maxLength: 30,
      pattern: "^[0-9]+$",
      description: "In minor units, as text because a sum may be too large for a JSON number.",
    },
  },
};

const ITEM_SCHEMA: DocumentPart = {
  type: "object",
  required: ["kind", "severity", "money", "title", "detail", "href"],
  properties: {
    kind: enumSchema("", ATTENTION_KINDS, "The kind of matter. More kinds may be added."),
    severity: enumSchema(
      "",
      SEVERITIES,
      "`broken`: money waits for a repair. `soon`: a date is near. `note`: good to know.",
    ),
    count: {
      type: "integer",
      format: "int64",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "The number of rows in the list behind `href`; absent if the matter has no rows.",
    },
    money: {
      type: "array",
      maxItems: 200,
      description: "The amounts due on the open invoices of these rows, by currency.",
      items: AMOUNT_SCHEMA,
    },
    since: timestampSchema("When the matter began, or the date of the oldest row; absent if neither is known."),
    title: sentence("One line, for people."),
    detail: sentence("One or two sentences, for people."),
    href: sentence("The path of the console's page that lists the rows."),
  },
};

export const ATTENTION_SCHEMAS: Readonly<Record<string, DocumentPart>> = {
  Attention: {
    type: "object",
    description: "Everything that needs a person, the most urgent first. The wording of the sentences may change.",
    required: ["items"],
    properties: { items: { type: "array", maxItems: 100, description: "The matters.", items: ITEM_SCHEMA } },
  },
};

const EXAMPLE: DocumentPart = {
  items: [
    {
      kind: "endpoint_failing",
      severity: "broken",
      count: 9,
      money: [{ currency: "EUR", amount: "41820" }],
      since: "2026-02-20T07:41:00.000Z",
      title: "Your endpoint fails",
      detail: "9 events wait. Every attempt has failed for 3 hours; it last answered 503.",
      href: "/deliveries?state=waiting",
    },
  ],
};

export const buildAttentionOperation = (): DocumentPart => ({
  tags: ["Attention"],
  operationId: "listAttention",
  summary: "List what needs attention",
  description:
    "An addition to the interface. Lists what the console's overview shows: a failing endpoint, events that Dunlin gave up, missing pushes, a failing connector, invoices whose window ends within 3 days, card changes without an answer for 5 days, contradictory data, unknown decline codes, and large invoices. Matters without rows are left out.\n\nNeeds the permission `read:attention`.",
  parameters: [CALLER_REQUEST_ID],
  responses: {
    200: {
      description: "The list; empty if nothing needs attention.",
      headers: headerRefs(...AUTHENTICATED_HEADERS),
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/Attention" },
          examples: { failing: { value: EXAMPLE }, quiet: { value: { items: [] } } },
        },
      },
    },
    ...refusalResponses("list", null),
  },
});
