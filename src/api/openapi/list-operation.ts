import { PAGE_SIZE_MAX, PARAMETERS, parseListQuery, STATUS_PREFIX, TYPE_PREFIX } from "../../actions-api/list-query.ts";
import { ACTION_STATUSES, ACTION_SUGGESTIONS, ACTION_TYPES } from "../../domain/recovery-action.ts";
import { ApiError, badFieldError } from "../../http/errors.ts";
import { country, currency, identifier, paymentMethodType, type RecordField } from "../../ingest/record-fields.ts";
import { type MessagesByExample, refusalResponses } from "./error-responses.ts";
import { type DocumentPart, toDocumentSchema } from "./field-schema.ts";
import { AUTHENTICATED_HEADERS, CALLER_REQUEST_ID, headerRefs } from "./response-headers.ts";

const PARAMETER_DESCRIPTIONS: Readonly<Record<keyof typeof PARAMETERS, string>> = {
  subscriptionId: "Only actions of this subscription; your id.",
  invoiceId: "Only actions of this invoice; your id.",
  customerId: "Only actions of this customer; your id.",
  transactionId: "Only the action that this payment attempt carried out; your id. An addition to the interface.",
  cardCountry: "Only actions whose card was issued in this country.",
  currency: "Only actions in this currency.",
  type: "Only actions of this type. An addition to the interface.",
  status: "Only actions in this status. An addition to the interface.",
  executedAfter: "Only actions executed at this moment or later.",
  executedBefore: "Only actions executed at this moment or earlier.",
  orderBy: "What the list is ordered by; ties by id. With `executed_at` only executed actions are listed.",
  orderDirection: "The direction of the order. Ascending by `created_at` or `executed_at` misses and doubles nothing.",
  pageSize: "How many actions a page holds. Below 1, above 100 or absent: 100.",
  pageToken:
    "The `nextPageToken` of the page before; good for 24 hours. Filters and order may be left out, or must be the same.",
};

const stringSchema = ({ schema, alsoSays }: RecordField, description: string): DocumentPart => ({
  ...toDocumentSchema(schema),
  ...alsoSays,
  description,
});
const merchantIdSchema = (description: string) => stringSchema(identifier, description);
const uuidSchema = (description: string): DocumentPart => ({
  type: "string",
  format: "uuid",
  maxLength: 36,
  description,
});
/** How the service writes moments. */
export const timestampSchema = (description: string): DocumentPart => ({
  type: "string",
  format: "date-time",
  maxLength: 24,
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$",
  description,
});
/** One of `values`, each with `prefix`. */
export const enumSchema = (prefix: string, values: readonly string[], description: string): DocumentPart => ({
  type: "string",
  enum: values.map((value) => prefix + value),
  description,
});

export const RECOVERY_ACTION_SCHEMA: DocumentPart = {
  type: "object",
  description: "One planned, sent or settled step to recover an invoice. What is not known is left out.",
  required: [
    "id",
    "invoiceId",
    "customerId",
    "currency",
    "type",
    "status",
    "integrationType",
    "createdAt",
    "updatedAt",
  ],
  properties: {
    id: uuidSchema("The same as the id of its event; name it as recoveryActionId when you push the attempt."),
    subscriptionId: merchantIdSchema("Your id of the subscription; absent for a one-off invoice."),
    invoiceId: merchantIdSchema("Your id of the invoice."),
    customerId: merchantIdSchema("Your id of the customer."),
    transactionId: merchantIdSchema("Your id of the payment attempt that carried the action out."),
    paymentMethodType: stringSchema(paymentMethodType, "What was charged: `card`, `sepa_debit` and so on."),
    cardCountry: stringSchema(country, "Where the card was issued: ISO 3166 alpha-2."),
    currency: stringSchema(currency, "ISO 4217 code."),
    amountDue: {
      type: "integer",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "What was owed on the invoice when the action was planned last, in minor units of the currency.",
    },
    type: enumSchema(TYPE_PREFIX, ACTION_TYPES, "What is asked for."),
    status: enumSchema(STATUS_PREFIX, ACTION_STATUSES, "How it stands."),
    integrationType: {
      type: "string",
      maxLength: 64,
      pattern: "^INTEGRATION_TYPE_[A-Z]+$",
      description: "Where the invoice came from. `INTEGRATION_TYPE_CUSTOM`: by this API.",
    },
    createdAt: timestampSchema("When it was planned."),
    executedAt: timestampSchema("When its outcome was recorded; of SUCCEEDED and FAILED."),
    updatedAt: timestampSchema("When it last changed."),
    actionSuggestion: enumSchema(
      "ACTION_SUGGESTION_",
      ACTION_SUGGESTIONS,
      "As in the event. An addition to the interface.",
    ),
    idealRetryTime: timestampSchema("The best time for it. An addition to the interface."),
    attemptedAt: timestampSchema("The moment of the attempt itself. An addition to the interface."),
    reasons: {
      type: "array",
      maxItems: 100,
      items: { type: "string", maxLength: 1000, pattern: "^[^\\x00-\\x1f\\x7f]*$" },
      description: "Why, in sentences, most important first. An addition to the interface.",
    },
  },
};

const RECOVERY_ACTION_EXAMPLE: DocumentPart = {
  id: "019c7a11-9e20-7b3c-8a54-6f0e2d9b1c77",
  subscriptionId: "sub_1042",
  invoiceId: "inv_9001",
  customerId: "cus_77",
  transactionId: "tx_32",
  paymentMethodType: "card",
  cardCountry: "DE",
  currency: "EUR",
  amountDue: 4900,
  type: "RECOVERY_ACTION_TYPE_RETRY",
  status: "RECOVERY_ACTION_STATUS_SUCCEEDED",
  integrationType: "INTEGRATION_TYPE_CUSTOM",
  createdAt: "2026-02-15T09:00:08.120Z",
  executedAt: "2026-02-20T06:12:45.310Z",
  updatedAt: "2026-02-20T06:12:45.310Z",
  actionSuggestion: "ACTION_SUGGESTION_RETRY",
  idealRetryTime: "2026-02-20T06:10:00.000Z",
  attemptedAt: "2026-02-20T06:12:40.000Z",
  reasons: ["Payday is near."],
};

export const PAGE_SCHEMA: DocumentPart = {
  type: "object",
  required: ["recoveryActions", "nextPageToken", "totalSize"],
  properties: {
    recoveryActions: {
      type: "array",
      maxItems: PAGE_SIZE_MAX,
      items: { $ref: "#/components/schemas/RecoveryAction" },
      description: "In the order that was asked for.",
    },
    nextPageToken: {
      ...toDocumentSchema(PARAMETERS.pageToken!),
      description: "For the page after this one; empty on the last.",
    },
    totalSize: {
      type: "integer",
      format: "int64",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "How many actions there are on all pages, counted on the first.",
    },
  },
};

/** Queries that are refused, by the name of the example that shows the refusal. */
export const REFUSED_QUERIES: Readonly<Record<string, string>> = {
  wrongFilter: "cardCountry=germany",
  wrongOrder: "orderBy=id",
  wrongMoment: "executedAfter=yesterday",
  wrongPageSize: "pageSize=ten",
  unknownParameter: "invoice_id=inv_9001",
  givenTwice: "invoiceId=inv_9001&invoiceId=inv_9002",
  wrongPageToken: "pageToken=abc",
};

const EXPIRED_TOKEN_ERROR = badFieldError("pageToken", "is not valid or has expired: start again without it");

function refusalOf(search: string) {
  try {
    parseListQuery(search);
  } catch (error) {
    if (error instanceof ApiError) return { message: error.message, problems: error.problems };
    throw error;
  }
  return { message: EXPIRED_TOKEN_ERROR.message, problems: EXPIRED_TOKEN_ERROR.problems };
}

/** GET /v1/recovery_actions */
export function buildListOperation(): DocumentPart {
  const badRequests: MessagesByExample = Object.fromEntries(
    Object.entries(REFUSED_QUERIES).map(([name, search]) => [name, refusalOf(search)]),
  );
  return {
    tags: ["Recovery actions"],
    operationId: "listRecoveryActions",
    summary: "List recovery actions",
    description:
      "One page of what Dunlin plans, asked for and achieved. Needs the permission `read:recovery_actions`.\n\n" +
      "To follow along, walk ascending by `created_at` or `executed_at`: nothing is missed or doubled while actions arrive. First everything up to " +
      "some moment with `executedBefore`, later the rest with `executedAfter`. After a broken connection go on from the last `pageToken`.\n\n" +
      "An empty parameter, such as `customerId=`, means the same as an absent one.",
    parameters: [
      ...Object.entries(PARAMETERS).map(([name, schema]) => ({
        name,
        in: "query",
        required: false,
        description: PARAMETER_DESCRIPTIONS[name],
        allowEmptyValue: true,
        schema: toDocumentSchema(schema),
      })),
      CALLER_REQUEST_ID,
    ],
    responses: {
      200: {
        description: "A page.",
        headers: headerRefs(...AUTHENTICATED_HEADERS),
        content: {
          "application/json": {
            schema: { $ref: "#/components/schemas/RecoveryActionPage" },
            examples: {
              onePage: { value: { recoveryActions: [RECOVERY_ACTION_EXAMPLE], nextPageToken: "", totalSize: 1 } },
              nothing: { value: { recoveryActions: [], nextPageToken: "", totalSize: 0 } },
            },
          },
        },
      },
      ...refusalResponses("list", badRequests),
    },
  };
}
