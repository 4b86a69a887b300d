import { END_REASONS } from "../../domain/case.ts";
import { END_REASON_PREFIX } from "../../domain/event.ts";
import { NEVER_IN_RECOVERY } from "../../explain/answers.ts";
import { ApiError } from "../../http/errors.ts";
import { identifier, type RecordField } from "../../ingest/record-fields.ts";
import { RECOVERY_STATES } from "../../invoices-api/explanation-route.ts";
import { POSTPONE_FIELDS, REASON_FIELDS } from "../../invoices-api/invoice-requests-routes.ts";
import { EXPLANATION_PATH, type InvoiceRequestName, requestPath } from "../../invoices-api/paths.ts";
import { readRequestBody } from "../../invoices-api/request-body.ts";
import { errorContent, type MessagesByExample, refusalResponses } from "./error-responses.ts";
import { type DocumentPart, fieldSchema, toDocumentSchema } from "./field-schema.ts";
import { timestampSchema } from "./list-operation.ts";
import { AUTHENTICATED_HEADERS, CALLER_REQUEST_ID, headerRefs, REQUEST_ID } from "./response-headers.ts";

const FIELD_DESCRIPTIONS: Readonly<Record<keyof typeof POSTPONE_FIELDS, string>> = {
  until: "No retry is requested before this time, which is ahead and within the recovery window.",
  reason: "Why, for the audit log.",
};

const bodySchema = (fields: Readonly<Record<string, RecordField>>, description: string): DocumentPart => {
  const required = Object.keys(fields).filter((name) => fields[name]!.required);
  return {
    type: "object",
    description,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [
        name,
        fieldSchema(field, FIELD_DESCRIPTIONS[name as keyof typeof POSTPONE_FIELDS]),
      ]),
    ),
  };
};

const uuidSchema = (description: string): DocumentPart => ({
  type: "string",
  format: "uuid",
  maxLength: 36,
  description,
});
const replySchema = (description: string, properties: DocumentPart, required: readonly string[]): DocumentPart => ({
  type: "object",
  description,
  required: ["requestId", ...required],
  properties: { requestId: REQUEST_ID, ...properties },
});
const sentences = (description: string): DocumentPart => ({
  type: "string",
  maxLength: 4000,
  pattern: "^[^\\x00-\\x1f\\x7f]*$",
  description,
});

export const INVOICE_OPERATION_SCHEMAS: Readonly<Record<string, DocumentPart>> = {
  ReasonBody: bodySchema(REASON_FIELDS, "An optional reason."),
  PostponeBody: bodySchema(POSTPONE_FIELDS, "The time, and an optional reason."),
  StopReply: replySchema(
    "The recovery is stopped.",
    { eventId: uuidSchema("The `complete_dunning` that is sent; absent without an endpoint.") },
    [],
  ),
  RetryNowReply: replySchema(
    "The retry is requested.",
    {
      recoveryActionId: uuidSchema(
        "The recovery action, and its event. Send it as recoveryActionId when you push the attempt.",
      ),
    },
    ["recoveryActionId"],
  ),
  PostponeReply: replySchema("The retries are postponed.", { until: timestampSchema("Until when.") }, ["until"]),
  Explanation: {
    type: "object",
    description: "The sentences of `dunlin explain` about an invoice. They are for people: their wording may change.",
    required: ["invoiceId", "recovery", "endReason", "timeZone", "headline", "summary", "answers"],
    properties: {
      invoiceId: { ...toDocumentSchema(identifier.schema), ...identifier.documentedSchema, description: "Your id." },
      recovery: {
        type: "string",
        enum: [...RECOVERY_STATES],
        description:
          "Whether Dunlin recovers the invoice now. `RECOVERY_OBSERVED`: Dunlin only observes it, in shadow mode or in the holdout. `RECOVERY_NONE`: its payment has not failed.",
      },
      endReason: {
        type: ["string", "null"],
        enum: [...END_REASONS.map((reason) => END_REASON_PREFIX + reason.toUpperCase()), null],
        description: "Why the latest recovery ended; null if it goes on, or if there was none.",
      },
      timeZone: sentences("The zone of all times in the sentences: the customer's, as far as it is known."),
      headline: sentences(
        "The state in one text: the amount and how long it is unpaid, or how the recovery ended; why the payment failed; the next step. The invoice's page begins with it.",
      ),
      summary: {
        type: "array",
        maxItems: 3,
        description: "The last step, the next one, and what the invoice waits for.",
        items: {
          type: "object",
          required: ["label", "sentence"],
          properties: {
            label: {
              type: "string",
              enum: ["Last done", "Ended", "Next", "Waiting", "Why"],
              description: "What the sentence is about.",
            },
            sentence: sentences("The sentence."),
          },
        },
      },
      answers: {
        type: "array",
        maxItems: 20,
        description: "Questions that people ask about an invoice, with their answers.",
        items: {
          type: "object",
          required: ["question", "sentences"],
          properties: {
            question: sentences("The question."),
            sentences: { type: "array", maxItems: 1000, items: sentences("A sentence."), description: "The answer." },
          },
        },
      },
    },
  },
};

const INVOICE_ID_PARAMETER: DocumentPart = {
  name: "invoiceId",
  in: "path",
  required: true,
  description: "Your id of the invoice, percent-encoded.",
  schema: { ...toDocumentSchema(identifier.schema), ...identifier.documentedSchema },
  example: "inv_9001",
};

const UNKNOWN_INVOICE: MessagesByExample = { unknownInvoice: "there is no such invoice" };

interface InvoiceRequest {
  summary: string;
  description: string;
  body: string;
  reply: string;
  fields: Readonly<Record<string, RecordField>>;
  examples: Readonly<Record<string, DocumentPart>>;
  replyExample: DocumentPart;
  refused: Readonly<Record<string, string>>;
  conflict: string;
}

const REQUEST_ID_EXAMPLE = (REQUEST_ID.examples as readonly string[])[0]!;
const UUID_EXAMPLE = "019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77";
const REFUSED_REASON = {
  wrongReason: '{"reason":5}',
  cardNumber: '{"reason":"card 4111 1111 1111 1111"}',
  noObject: "[]",
  notJson: "{",
};

export const INVOICE_REQUEST_OPERATIONS: Readonly<Record<InvoiceRequestName, InvoiceRequest>> = {
  stop: {
    summary: "Stop the recovery of an invoice",
    description:
      "Ends the open recovery of an invoice for good. Dunlin withdraws undelivered events, requests no more retries, and sends `complete_dunning`. An instruction that was delivered may still be carried out.",
    ...{ body: "ReasonBody", reply: "StopReply", fields: REASON_FIELDS, refused: REFUSED_REASON },
    examples: { withReason: { reason: "the customer disputes the invoice" }, withoutReason: {} },
    replyExample: { requestId: REQUEST_ID_EXAMPLE, eventId: UUID_EXAMPLE },
    conflict: `There is nothing to stop. ${NEVER_IN_RECOVERY}`,
  },
  retryNow: {
    summary: "Request a retry at once",
    description:
      "Requests a retry now instead of at the planned time: Dunlin sends a `recovery_action`. The retry counts toward the budget, and ends a postponement. It is refused if nothing is owed, or if a rule forbids it, such as a network's limit; the message is the rule. Repeat it only after an error: a second one is refused while the outcome of the first is awaited.",
    ...{ body: "ReasonBody", reply: "RetryNowReply", fields: REASON_FIELDS, refused: REFUSED_REASON },
    examples: { withReason: { reason: "the customer called and has money now" }, withoutReason: {} },
    replyExample: { requestId: REQUEST_ID_EXAMPLE, recoveryActionId: UUID_EXAMPLE },
    conflict: `No retry was requested. ${NEVER_IN_RECOVERY}`,
  },
  postpone: {
    summary: "Postpone the retries of an invoice",
    description:
      "Requests no retry before a time. The recovery window stays as it is. A retry that was requested already is not taken back. A later call replaces the time.",
    ...{ body: "PostponeBody", reply: "PostponeReply", fields: POSTPONE_FIELDS },
    examples: { untilPayday: { until: "2026-02-27T08:00:00Z", reason: "the customer is paid on the 26th" } },
    replyExample: { requestId: REQUEST_ID_EXAMPLE, until: "2026-02-27T08:00:00.000Z" },
    refused: { missingTime: "{}", wrongTime: '{"until":"tomorrow"}', ...REFUSED_REASON },
    conflict: `Nothing was postponed. ${NEVER_IN_RECOVERY}`,
  },
};

function refusalOf(fields: Readonly<Record<string, RecordField>>, body: string) {
  try {
    readRequestBody(fields, Buffer.from(body));
  } catch (error) {
    if (error instanceof ApiError) return { message: error.message, problems: error.problems };
    throw error;
  }
  throw new Error(`an example of a refused body was accepted: ${body}`);
}

const errorResponse = (description: string, status: number, messages: MessagesByExample): DocumentPart => ({
  description,
  headers: headerRefs(...AUTHENTICATED_HEADERS),
  content: errorContent("list", status, messages),
});
const UNKNOWN_RESPONSE = errorResponse("There is no such invoice.", 404, UNKNOWN_INVOICE);

const jsonContent = (schema: string, examples: Readonly<Record<string, unknown>>): DocumentPart => ({
  "application/json": {
    schema: { $ref: `#/components/schemas/${schema}` },
    examples: Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }])),
  },
});

function buildRequestOperation(name: InvoiceRequestName): DocumentPart {
  const { summary, description, body, reply, fields, examples, replyExample, refused, conflict } =
    INVOICE_REQUEST_OPERATIONS[name];
  const isBodyRequired = Object.values(fields).some(({ required }) => required);
  const badRequests = Object.fromEntries(
    Object.entries(refused).map(([example, text]) => [example, refusalOf(fields, text)]),
  );
  return {
    tags: ["Invoices"],
    operationId: `${name}Invoice`,
    summary,
    description: `An addition to the interface. ${description}\n\nNeeds the permission \`manage:recovery\`.`,
    parameters: [INVOICE_ID_PARAMETER, CALLER_REQUEST_ID],
    requestBody: { required: isBodyRequired, content: jsonContent(body, examples) },
    responses: {
      200: {
        description: "Done, durably.",
        headers: headerRefs(...AUTHENTICATED_HEADERS),
        content: jsonContent(reply, { done: replyExample }),
      },
      ...refusalResponses("list", badRequests, true),
      404: UNKNOWN_RESPONSE,
      409: errorResponse("Not possible now: the message says why. Nothing changed.", 409, { conflict }),
    },
  };
}

const EXPLANATION_EXAMPLE: DocumentPart = {
  invoiceId: "inv_9001",
  recovery: "RECOVERY_OPEN",
  endReason: null,
  timeZone: "Europe/Berlin",
  headline:
    "EUR 49.00 has been unpaid for 2 days. Both attempts failed: there was not enough money (code 51). The next attempt is planned for Fri 20 February, 07:10.",
  summary: [
    { label: "Next", sentence: "A retry is planned for Fri 20 February, 07:10 and may still change." },
    { label: "Waiting", sentence: "for its time. New facts may change it until then." },
  ],
  answers: [
    { question: "Next step", sentences: ["A retry is planned for Fri 20 February, 07:10 and may still change."] },
  ],
};

const buildExplanationOperation = (): DocumentPart => ({
  tags: ["Invoices"],
  operationId: "explainInvoice",
  summary: "Explain an invoice",
  description:
    "An addition to the interface. Returns what `dunlin explain` prints about an invoice: its state, its history, the reasons and the limits, as sentences.\n\nNeeds the permission `read:explanations`.",
  parameters: [INVOICE_ID_PARAMETER, CALLER_REQUEST_ID],
  responses: {
    200: {
      description: "The explanation.",
      headers: headerRefs(...AUTHENTICATED_HEADERS),
      content: jsonContent("Explanation", { planned: EXPLANATION_EXAMPLE }),
    },
    ...refusalResponses("list", null),
    404: UNKNOWN_RESPONSE,
  },
});

export const buildInvoicePaths = (): DocumentPart => ({
  ...Object.fromEntries(
    (Object.keys(INVOICE_REQUEST_OPERATIONS) as InvoiceRequestName[]).map((name) => [
      requestPath(name),
      { post: buildRequestOperation(name) },
    ]),
  ),
  [EXPLANATION_PATH]: { get: buildExplanationOperation() },
});
