import { PAGE_SIZE_MAX, PARAMETERS, parseListQuery, STATUS_PREFIX, TYPE_PREFIX } from "../../actions-api/list-query.ts";
import { ACTION_STATUSES, ACTION_SUGGESTIONS, ACTION_TYPES } from "../../domain/recovery-action.ts";
import { ApiError, badFieldError } from "../../http/errors.ts";
import { country, currency, identifier, paymentMethodType, type RecordField } from "../../ingest/record-fields.ts";
import { type MessagesByExample, refusalResponses } from "./error-responses.ts";
import { type DocumentPart, toDocumentSchema } from "./field-schema.ts";
import { AUTHENTICATED_HEADERS, CALLER_REQUEST_ID, headerRefs } from "./response-headers.ts";

const PARAMETER_DESCRIPTIONS: Readonly<Record<keyof typeof PARAMETERS, string>> = {
  subscriptionId: "Only actions for this subscription; your id.",
  invoiceId: "Only actions for this invoice; your id.",
  customerId: "Only actions for this customer; your id.",
  transactionId: "Only the action that this payment attempt carried out; your id. An addition to the interface.",
  cardCountry: "Only actions whose card was issued in this country.",
  currency: "Only actions in this currency.",
  type: "Only actions of this type. An addition to the interface.",
  status: "Only actions in this status. An addition to the interface.",
  executedAfter: "Only actions executed at this time or later.",
  executedBefore: "Only actions executed at this time or earlier.",
  orderBy: "The field to order by; ties are ordered by id. With `executed_at`, only executed actions are listed.",
  orderDirection:
    "The direction of the order. An ascending walk by `created_at` or `executed_at` has no gaps and no duplicates.",
  pageSize: "The number of actions per page. If it is below 1, above 100 or absent, the page holds 100.",
  pageToken:
    "The `nextPageToken` of the previous page, valid for 24 hours. Omit filters and order, or send the same ones as before.",
};

const stringSchema = ({ schema, documentedSchema }: RecordField, description: string): DocumentPart => ({
  ...toDocumentSchema(schema),
  ...documentedSchema,
  description,
});
const merchantIdSchema = (description: string) => stringSchema(identifier, description);
const uuidSchema = (description: string): DocumentPart => ({
  type: "string",
  format: "uuid",
  maxLength: 36,
  description,
});
export const timestampSchema = (description: string): DocumentPart => ({
  type: "string",
  format: "date-time",
  maxLength: 24,
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}Z$",
  description,
});
export const enumSchema = (prefix: string, values: readonly string[], description: string): DocumentPart => ({
  type: "string",
  enum: values.map((value) => prefix + value),
  description,
});

export const RECOVERY_ACTION_SCHEMA: DocumentPart = {
  type: "object",
  description: "A planned, sent or settled step to recover an invoice. Unknown values are omitted.",
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
    id: uuidSchema("The id of its event too. Send it as recoveryActionId when you push the attempt."),
    subscriptionId: merchantIdSchema("Your id of the subscription; absent for a one-off invoice."),
    invoiceId: merchantIdSchema("Your id of the invoice."),
    customerId: merchantIdSchema("Your id of the customer."),
    transactionId: merchantIdSchema("Your id of the payment attempt that carried out the action."),
    paymentMethodType: stringSchema(
      paymentMethodType,
      "The type of payment method that was charged, such as `card` or `sepa_debit`.",
    ),
    cardCountry: stringSchema(country, "The country in which the card was issued: ISO 3166 alpha-2."),
    currency: stringSchema(currency, "ISO 4217 code."),
    amountDue: {
      type: "integer",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "The amount due on the invoice when the action was last planned, in minor units of the currency.",
    },
    type: enumSchema(TYPE_PREFIX, ACTION_TYPES, "The requested action."),
    status: enumSchema(STATUS_PREFIX, ACTION_STATUSES, "The current status."),
    integrationType: {
      type: "string",
      maxLength: 64,
      pattern: "^INTEGRATION_TYPE_[A-Z]+$",
      description:
        "The source of the invoice. `INTEGRATION_TYPE_CUSTOM`: a program of yours. `INTEGRATION_TYPE_STRIPE` and others: the connector whose key pushed it.",
    },
    createdAt: timestampSchema("When it was planned."),
    executedAt: timestampSchema("When its outcome was recorded. Only in status SUCCEEDED or FAILED."),
    updatedAt: timestampSchema("When it last changed."),
    actionSuggestion: enumSchema(
      "ACTION_SUGGESTION_",
      ACTION_SUGGESTIONS,
      "As in the event. An addition to the interface.",
    ),
    idealRetryTime: timestampSchema("The best time for it. An addition to the interface."),
    attemptedAt: timestampSchema("When the payment attempt was made. An addition to the interface."),
    reasons: {
      type: "array",
      maxItems: 100,
      items: { type: "string", maxLength: 1000, pattern: "^[^\\x00-\\x1f\\x7f]*$" },
      description: "The reasons, as sentences, most important first. An addition to the interface.",
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
      description: "The actions, in the requested order.",
    },
    nextPageToken: {
      ...toDocumentSchema(PARAMETERS.pageToken!),
      description: "The token for the next page; empty on the last page.",
    },
    totalSize: {
      type: "integer",
      format: "int64",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: "The number of actions on all pages, counted for the first page.",
    },
  },
};

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

export function buildListOperation(): DocumentPart {
  const badRequests: MessagesByExample = Object.fromEntries(
    Object.entries(REFUSED_QUERIES).map(([name, search]) => [name, refusalOf(search)]),
  );
  return {
    tags: ["Recovery actions"],
    operationId: "listRecoveryActions",
    summary: "List recovery actions",
    description:
      "Returns one page of the recovery actions that Dunlin planned, sent and settled. Needs the permission `read:recovery_actions`.\n\n" +
      "To keep a copy up to date, walk ascending by `created_at` or `executed_at`: the walk has no gaps and no duplicates while actions arrive. First " +
      "read everything up to a time with `executedBefore`, later the rest with `executedAfter`. After a lost connection, continue with the last " +
      "`pageToken`.\n\n" +
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
        description: "One page of actions.",
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
