import { ERROR_DOMAIN, MESSAGE_CHARS_MAX } from "../errors.ts";
import { INVOICES } from "../ingest/invoice.ts";
import { SUBSCRIPTIONS } from "../ingest/subscription.ts";
import { TRANSACTIONS } from "../ingest/transaction.ts";
import { RULES_BEYOND_SCHEMA } from "./beyond-schema.ts";
import { RESPONSES } from "./error-responses.ts";
import type { Part } from "./field-schema.ts";
import { HEADERS, REQUEST_ID, REQUEST_PARAMETERS } from "./headers.ts";
import { INGESTS, ingestOperation } from "./ingest-operations.ts";
import { listOperation, PAGE, RECOVERY_ACTION } from "./list-operation.ts";
import { OPEN_OPERATIONS } from "./open-operations.ts";
import { batchSchema, INVOICE_WORDS, recordSchema, SUBSCRIPTION_WORDS, TRANSACTION_WORDS } from "./record-schemas.ts";
import { WEBHOOK_PARAMETERS, WEBHOOK_SCHEMAS, WEBHOOK_SECURITY, WEBHOOKS_VERSION, webhooks } from "./webhooks.ts";

/** Where the service is, for a document that does not know: {base_url} of the interface. */
const ANYWHERE: Part = {
  url: "https://{host}",
  variables: {
    host: { default: "localhost:8443", description: "DUNLIN_BASE_URL of the installation, without https://" },
  },
};

const DESCRIPTION = `Dunlin decides when and how a failed subscription payment should be tried again. You push subscriptions, invoices and payment attempts; Dunlin tells your endpoint by webhook what to do and when, and lists what it did.

HTTPS only (TLS 1.2 or newer), JSON in UTF-8. Every request carries \`Authorization: Bearer <API_KEY>\`, and is authenticated before its body is read. Keys belong in no public repository, in no browser and in no request to anybody else.

Every reply carries \`X-Request-Id\`, an id of ours that finds the request in the logs for 30 days. Errors are \`{code, message, details}\`, where \`code\` is the HTTP status and the message names the place and repeats no value. After a 429, 500 or 503 send the same request again, later each time: every ingest may be repeated and reordered.

An empty text or null in an optional field of a record means that the field is absent, and so does an empty query parameter.

Fields that this document does not list are ignored in requests, and may appear in replies and events: v1 grows by additions only.`;

const TAGS = [
  { name: "Ingest", description: "Push what your billing system knows." },
  { name: "Recovery actions", description: "Read what Dunlin plans, asked for and achieved." },
  { name: "Operation", description: "For those who run the service. No key is needed." },
  {
    name: "Webhooks",
    description: `Version ${WEBHOOKS_VERSION}. What Dunlin posts to your endpoint: one HTTPS URL for all types or, if you choose so, sub-paths \`/recovery_action\`, \`/pause_collection\` and \`/complete_dunning\` of it. Answer 2xx within 30 seconds, remember the id, and act afterwards: an event may come more than once, always with the same id and the same bytes. Delays count from the end of the attempt before. Redirects are not followed.`,
  },
];

const error = (details: Part): Part => ({
  type: "object",
  description: "A refusal or a fault.",
  required: ["code", "message", "details"],
  properties: {
    code: { type: "integer", format: "int32", minimum: 400, maximum: 599, description: "The HTTP status." },
    message: {
      type: "string",
      maxLength: MESSAGE_CHARS_MAX,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      description:
        "What is wrong, for people; not for programs to take apart. Of a batch up to 20 problems, joined by semicolons, and how many more there are.",
    },
    details,
  },
});

const BAD_REQUEST: Part = {
  type: "object",
  required: ["@type", "fieldViolations"],
  properties: {
    "@type": { type: "string", const: "type.googleapis.com/google.rpc.BadRequest", description: "The kind of detail." },
    fieldViolations: {
      type: "array",
      maxItems: 1,
      description: "The parameter at fault; empty when it is not one of them.",
      items: {
        type: "object",
        required: ["field", "description"],
        properties: {
          field: { type: "string", maxLength: 64, pattern: "^[A-Za-z_]+$", description: "The parameter." },
          description: {
            type: "string",
            maxLength: 4000,
            pattern: "^[^\\x00-\\x1f\\x7f]*$",
            description: "What is wrong.",
          },
        },
      },
    },
  },
};

const ERROR_INFO: Part = {
  type: "object",
  required: ["@type", "reason", "domain"],
  properties: {
    "@type": { type: "string", const: "type.googleapis.com/google.rpc.ErrorInfo", description: "The kind of detail." },
    reason: { type: "string", maxLength: 63, pattern: "^[A-Z_]+$", description: "Why, for programs." },
    domain: { type: "string", const: ERROR_DOMAIN, description: "Whose reasons they are." },
  },
};

const SCHEMAS = (): Record<string, Part> => ({
  Subscription: recordSchema(SUBSCRIPTIONS, "A subscription, as your billing system knows it.", SUBSCRIPTION_WORDS),
  Invoice: recordSchema(INVOICES, "An invoice, as your billing system knows it.", INVOICE_WORDS),
  Transaction: recordSchema(TRANSACTIONS, "One payment attempt, whoever made it.", TRANSACTION_WORDS),
  ...Object.fromEntries(INGESTS.map(({ kind, record }) => [`${record}Batch`, batchSchema(kind, record)])),
  IngestReply: {
    type: "object",
    required: ["requestId"],
    properties: { requestId: REQUEST_ID },
  },
  RecoveryAction: RECOVERY_ACTION,
  RecoveryActionPage: PAGE,
  Error: error({ type: "array", maxItems: 0, items: { type: "object" }, description: "Empty." }),
  ListError: error({ type: "array", minItems: 1, maxItems: 1, items: BAD_REQUEST, description: "What is at fault." }),
  ListOtherError: error({ type: "array", minItems: 1, maxItems: 1, items: ERROR_INFO, description: "Why." }),
  ...WEBHOOK_SCHEMAS,
});

/**
 * The OpenAPI 3.1 document, from the very schemas that requests are checked with.
 *
 * @param baseUrl  where the API is reached, without a slash in the end; null: it is left open
 */
export function openApiDocument(baseUrl: string | null): Part {
  const server = baseUrl === null ? ANYWHERE : { url: baseUrl };
  return {
    openapi: "3.1.0",
    info: {
      title: "Dunlin",
      version: "1.0",
      summary: "Payment recovery: the inbound API and the webhooks.",
      description: DESCRIPTION,
      contact: { name: "The operator of this installation" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [
      { ...server, description: "The installation: local, or where its operator has put it.", "x-internal": false },
    ],
    security: [{ apiKey: [] }],
    tags: TAGS,
    paths: {
      ...Object.fromEntries(INGESTS.map((each) => [`/ingest/v1/${each.kind.name}`, { post: ingestOperation(each) }])),
      "/v1/recovery_actions": { get: listOperation() },
      ...Object.fromEntries(Object.entries(OPEN_OPERATIONS).map(([path, get]) => [path, { get }])),
    },
    webhooks: webhooks(),
    components: {
      schemas: SCHEMAS(),
      responses: RESPONSES,
      headers: HEADERS,
      parameters: { ...REQUEST_PARAMETERS, ...WEBHOOK_PARAMETERS },
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key: `dln_live_` and 36 letters and digits." },
        ...WEBHOOK_SECURITY,
      },
    },
    "x-rules-beyond-schema": RULES_BEYOND_SCHEMA,
  };
}

/** The document as text, as it is served and committed. */
export const openApiText = (baseUrl: string | null) => `${JSON.stringify(openApiDocument(baseUrl), null, 2)}\n`;
