import { END_REASONS } from "../../domain/case.ts";
import {
  buildEnvelope,
  buildFlatRetryRequest,
  END_REASON_PREFIX,
  EVENT_TYPES,
  type EventType,
  exampleCaseEvent,
  type RecoveryActionData,
} from "../../domain/event.ts";
import { ACTION_SUGGESTIONS } from "../../domain/recovery-action.ts";
import { identifier } from "../../ingest/record-fields.ts";
import { type DocumentPart, toDocumentSchema } from "./field-schema.ts";
import { enumSchema, timestampSchema } from "./list-operation.ts";

export const WEBHOOKS_VERSION = "1.0";

const SCHEMA_NAMES: Record<EventType, string> = {
  recovery_action: "RecoveryActionEvent",
  pause_collection: "PauseCollectionEvent",
  complete_dunning: "CompleteDunningEvent",
  recovery_ended: "RecoveryEndedEvent",
};
const SENT_WHEN: Record<EventType, string> = {
  recovery_action:
    "Dunlin sends this event when you should retry a payment or ask the customer for a new card; `actionSuggestion` says which. It arrives 49 minutes " +
    "before `idealRetryTime`, or later if less time is left. Push the resulting attempt with `recoveryActionId` set to the event's id.",
  pause_collection:
    "Dunlin sends this event when your system should stop its automatic retries of an invoice, because Dunlin decides when to retry it. In an experiment, it marks the invoices that Dunlin retries.",
  complete_dunning: "Dunlin sends this event when dunning of an invoice should end early.",
  recovery_ended:
    "An addition to the interface, for merchants that ask for it. Dunlin sends this event when it no longer handles an invoice, for whatever reason. If your system retries invoices itself, it may do so again.",
};
const ATTEMPT_SCHEDULES: Record<EventType, string> = {
  recovery_action: "6 attempts: immediately, then after 100 ms, 5 s, 15 s, 15 min and 30 min.",
  pause_collection: "7 attempts: immediately, then after 100 ms, 5 s, 15 s, 15 min, 30 min and 1 h.",
  complete_dunning: "7 attempts: immediately, then after 100 ms, 5 s, 15 s, 15 min, 30 min and 1 h.",
  recovery_ended: "7 attempts: immediately, then after 100 ms, 5 s, 15 s, 15 min, 30 min and 1 h.",
};

const uuidSchema = (description: string): DocumentPart => ({
  type: "string",
  format: "uuid",
  maxLength: 36,
  description,
});
const merchantIdSchema = (description: string): DocumentPart => ({
  ...toDocumentSchema(identifier.schema),
  ...identifier.documentedSchema,
  description,
});
const TEST_FLAG_SCHEMA: DocumentPart = {
  type: "boolean",
  const: true,
  description: "Only in a test event, on which you should not act.",
};

const ACTION_FIELDS: DocumentPart = {
  invoiceId: merchantIdSchema("The invoice to retry; your id."),
  subscriptionId: merchantIdSchema("The subscription of the invoice; absent for a one-off invoice."),
  actionSuggestion: enumSchema(
    "ACTION_SUGGESTION_",
    ACTION_SUGGESTIONS,
    "RETRY: charge again. CARD_CHANGE: ask for a new payment method. UNSPECIFIED: the time is good; you decide what to do.",
  ),
  idealRetryTime: timestampSchema("The best time to do it."),
};
const ACTION_REQUIRED = ["invoiceId", "actionSuggestion", "idealRetryTime"];

const eventSchema = (type: EventType): DocumentPart => ({
  type: "object",
  description: "An event's envelope.",
  required: ["id", "type", "created", "data"],
  properties: {
    id: uuidSchema("The event's id, the same on every attempt. Skip events that you have seen."),
    type: { type: "string", const: type, description: "The event's type." },
    created: timestampSchema("When the event was created."),
    data:
      type === "recovery_action"
        ? {
            type: "object",
            required: ACTION_REQUIRED,
            properties: ACTION_FIELDS,
            description: "The action, and when to take it.",
          }
        : {
            type: "object",
            required: ["invoiceId", ...(type === "recovery_ended" ? ["endReason"] : [])],
            properties: {
              invoiceId: merchantIdSchema("The event's invoice; your id."),
              ...(type === "recovery_ended" && {
                endReason: enumSchema(
                  END_REASON_PREFIX,
                  END_REASONS.map((reason) => reason.toUpperCase()),
                  "Why recovery ended.",
                ),
              }),
            },
            description: "The event's subject.",
          },
    test: TEST_FLAG_SCHEMA,
  },
});

const textSchema = (description: string): DocumentPart => ({
  type: "string",
  maxLength: 4000,
  pattern: "^[^\\x00]*$",
  description,
});

export const WEBHOOK_SCHEMAS: Readonly<Record<string, DocumentPart>> = {
  ...Object.fromEntries(EVENT_TYPES.map((type) => [SCHEMA_NAMES[type], eventSchema(type)])),
  FlatRetryRequest: {
    type: "object",
    description: "The alternative body of a recovery action, for merchants that choose it.",
    required: ["requestId", ...ACTION_REQUIRED],
    properties: {
      requestId: uuidSchema("The event's id. Skip events that you have seen."),
      ...ACTION_FIELDS,
      test: TEST_FLAG_SCHEMA,
    },
  },
  WebhookReply: {
    type: "object",
    description: "The optional body of an endpoint's answer.",
    properties: {
      success: { type: "boolean", description: "Whether the endpoint accepted the event." },
      message: textSchema("For people."),
    },
  },
  WebhookErrorReply: {
    type: "object",
    description: "The answer of an endpoint that refuses an event.",
    required: ["success", "error_code", "message"],
    properties: {
      success: { type: "boolean", const: false, description: "Always false." },
      error_code: {
        type: "string",
        enum: ["invalid_request", "unauthorized", "rate_limit_exceeded", "server_error"],
        description: "The kind of error.",
      },
      message: textSchema("For people. Shown in the delivery log."),
    },
  },
};

export const WEBHOOK_SECURITY: Readonly<Record<string, DocumentPart>> = {
  webhookBearer: {
    type: "http",
    scheme: "bearer",
    description: "The token that you set for your endpoint: `Authorization: Bearer <WEBHOOK_TOKEN>`.",
  },
  webhookBasic: {
    type: "http",
    scheme: "basic",
    description: "Or the user name and password that you set: `Authorization: Basic <base64(username:password)>`.",
  },
};

const signatureField = (name: string, description: string, pattern: string, example: string): DocumentPart => ({
  name,
  in: "header",
  required: false,
  description,
  schema: { type: "string", maxLength: 512, pattern },
  example,
});

export const WEBHOOK_PARAMETERS: Readonly<Record<string, DocumentPart>> = {
  WebhookId: signatureField(
    "webhook-id",
    "The event's id. Dunlin sends this header and the next two if the merchant has a signing secret (Standard Webhooks).",
    "^[0-9a-f-]{36}$",
    "019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77",
  ),
  WebhookTimestamp: signatureField(
    "webhook-timestamp",
    "The time of this attempt, in seconds since 1970.",
    "^[0-9]+$",
    "1771565460",
  ),
  WebhookSignature: signatureField(
    "webhook-signature",
    "`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`; two signatures during a rotation.",
    "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)?$",
    "v1,47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
  ),
};

const ERROR_RESPONSES = [
  [400, "invalid_request", "A required field is missing, or has an invalid format.", "idealRetryTime is missing"],
  [401, "unauthorized", "The credentials are missing or not valid.", "credentials missing or invalid"],
  [429, "rate_limit_exceeded", "Too many requests. Retry-After can delay the next attempt.", "try again later"],
  [500, "server_error", "An unexpected error.", "the event could not be stored"],
] as const;

const ACTION_EXAMPLE: RecoveryActionData = {
  invoiceId: "inv_9001",
  subscriptionId: "sub_1042",
  actionSuggestion: "RETRY",
  idealRetryTime: new Date("2026-02-20T06:10:00Z"),
};
const ID_EXAMPLE = "019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77";
const CREATED_EXAMPLE = new Date("2026-02-20T05:21:00Z");

function exampleBodyOf(type: EventType): DocumentPart {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const isAction = type === "recovery_action";
  const data = isAction ? ACTION_EXAMPLE : exampleCaseEvent(type, "inv_9001");
  return {
    schema: isAction ? { oneOf: [ref(SCHEMA_NAMES[type]), ref("FlatRetryRequest")] } : ref(SCHEMA_NAMES[type]),
    examples: {
      envelope: { value: JSON.parse(buildEnvelope(ID_EXAMPLE, type, CREATED_EXAMPLE, data)) },
      ...(isAction && { flat: { value: JSON.parse(buildFlatRetryRequest(ID_EXAMPLE, ACTION_EXAMPLE)) } }),
    },
  };
}

export const buildWebhooks = (): DocumentPart =>
  Object.fromEntries(
    EVENT_TYPES.map((type) => [
      type,
      {
        "x-version": WEBHOOKS_VERSION,
        post: {
          tags: ["Webhooks"],
          operationId: `receive${SCHEMA_NAMES[type]}`,
          summary: `Event ${type}`,
          description: `${SENT_WHEN[type]}\n\n${ATTEMPT_SCHEDULES[type]}\n\nDunlin posts it to the endpoint's URL or, if the merchant chose sub-paths, to \`{webhook_url}/${type}\`.`,
          security: [{ webhookBearer: [] }, { webhookBasic: [] }],
          parameters: Object.keys(WEBHOOK_PARAMETERS).map((name) => ({ $ref: `#/components/parameters/${name}` })),
          requestBody: { required: true, content: { "application/json": exampleBodyOf(type) } },
          responses: {
            200: {
              description: "Accepted, like every other 2xx within 30 seconds. The body is optional.",
              content: {
                "application/json": {
                  schema: { $ref: "#/components/schemas/WebhookReply" },
                  examples: { taken: { value: { success: true, message: "accepted" } } },
                },
              },
            },
            ...Object.fromEntries(
              ERROR_RESPONSES.map(([status, code, description, message]) => [
                status,
                {
                  description: `${description} The attempt failed, and Dunlin sends the event again on its schedule.`,
                  content: {
                    "application/json": {
                      schema: { $ref: "#/components/schemas/WebhookErrorReply" },
                      examples: { [code]: { value: { success: false, error_code: code, message } } },
                    },
                  },
                },
              ]),
            ),
          },
        },
      },
    ]),
  );
