import { ERROR_DOMAIN, MESSAGE_CHARS_MAX } from "../../http/errors.ts";
import { INVOICE_KIND } from "../../ingest/invoice-record.ts";
import { SUBSCRIPTION_KIND } from "../../ingest/subscription-record.ts";
import { TRANSACTION_KIND } from "../../ingest/transaction-record.ts";
import { RESPONSES } from "./error-responses.ts";
import type { DocumentPart } from "./field-schema.ts";
import { buildIngestOperation, INGEST_OPERATIONS } from "./ingest-operations.ts";
import { buildListOperation, PAGE_SCHEMA, RECOVERY_ACTION_SCHEMA } from "./list-operation.ts";
import {
  batchSchema,
  INVOICE_DESCRIPTIONS,
  recordSchema,
  SUBSCRIPTION_DESCRIPTIONS,
  TRANSACTION_DESCRIPTIONS,
} from "./record-schemas.ts";
import { HEADERS, REQUEST_ID, REQUEST_PARAMETERS } from "./response-headers.ts";
import { RULES_BEYOND_SCHEMA } from "./rules-beyond-schema.ts";
import { UNAUTHENTICATED_OPERATIONS } from "./unauthenticated-operations.ts";
import { buildWebhooks, WEBHOOK_PARAMETERS, WEBHOOK_SCHEMAS, WEBHOOK_SECURITY, WEBHOOKS_VERSION } from "./webhooks.ts";

/** Where the service is, for a document that does not know: {base_url} of the interface. */
const ANY_SERVER: DocumentPart = {
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

const errorSchema = (details: DocumentPart): DocumentPart => ({
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

const BAD_REQUEST: DocumentPart = {
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

const ERROR_INFO: DocumentPart = {
  type: "object",
  required: ["@type", "reason", "domain"],
  properties: {
    "@type": { type: "string", const: "type.googleapis.com/google.rpc.ErrorInfo", description: "The kind of detail." },
    reason: { type: "string", maxLength: 63, pattern: "^[A-Z_]+$", description: "Why, for programs." },
    domain: { type: "string", const: ERROR_DOMAIN, description: "Whose reasons they are." },
  },
};

const SCHEMAS = (): Record<string, DocumentPart> => ({
  Subscription: recordSchema(
    SUBSCRIPTION_KIND,
    "A subscription, as your billing system knows it.",
    SUBSCRIPTION_DESCRIPTIONS,
  ),
  Invoice: recordSchema(INVOICE_KIND, "An invoice, as your billing system knows it.", INVOICE_DESCRIPTIONS),
  Transaction: recordSchema(TRANSACTION_KIND, "One payment attempt, whoever made it.", TRANSACTION_DESCRIPTIONS),
  ...Object.fromEntries(INGEST_OPERATIONS.map(({ kind, record }) => [`${record}Batch`, batchSchema(kind, record)])),
  IngestReply: {
    type: "object",
    required: ["requestId"],
    properties: { requestId: REQUEST_ID },
  },
  RecoveryAction: RECOVERY_ACTION_SCHEMA,
  RecoveryActionPage: PAGE_SCHEMA,
  Error: errorSchema({ type: "array", maxItems: 0, items: { type: "object" }, description: "Empty." }),
  ListError: errorSchema({
    type: "array",
    minItems: 1,
    maxItems: 1,
    items: BAD_REQUEST,
    description: "What is at fault.",
  }),
  ListOtherError: errorSchema({ type: "array", minItems: 1, maxItems: 1, items: ERROR_INFO, description: "Why." }),
  ...WEBHOOK_SCHEMAS,
});

/**
 * The OpenAPI 3.1 document, from the very schemas that requests are checked with.
 *
 * @param baseUrl  where the API is reached, without a slash in the end; null: it is left open
 */
export function buildOpenApiDocument(baseUrl: string | null): DocumentPart {
  const server = baseUrl === null ? ANY_SERVER : { url: baseUrl };
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
      ...Object.fromEntries(
        INGEST_OPERATIONS.map((each) => [`/ingest/v1/${each.kind.name}`, { post: buildIngestOperation(each) }]),
      ),
      "/v1/recovery_actions": { get: buildListOperation() },
      ...Object.fromEntries(Object.entries(UNAUTHENTICATED_OPERATIONS).map(([path, get]) => [path, { get }])),
    },
    webhooks: buildWebhooks(),
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
export const buildOpenApiText = (baseUrl: string | null) =>
  `${JSON.stringify(buildOpenApiDocument(baseUrl), null, 2)}\n`;
