import { ANALYTICS_PATH } from "../../analytics/analytics-route.ts";
import { ATTENTION_PATH } from "../../attention/attention-route.ts";
import { ERROR_DOMAIN, MESSAGE_CHARS_MAX } from "../../http/errors.ts";
import { INVOICE_KIND } from "../../ingest/invoice-record.ts";
import { SUBSCRIPTION_KIND } from "../../ingest/subscription-record.ts";
import { TRANSACTION_KIND } from "../../ingest/transaction-record.ts";
import { ANALYTICS_SCHEMAS, buildAnalyticsOperation } from "./analytics-operation.ts";
import { ATTENTION_SCHEMAS, buildAttentionOperation } from "./attention-operation.ts";
import { RESPONSES } from "./error-responses.ts";
import type { DocumentPart } from "./field-schema.ts";
import { buildIngestOperation, INGEST_OPERATIONS } from "./ingest-operations.ts";
import { buildInvoicePaths, INVOICE_OPERATION_SCHEMAS } from "./invoice-operations.ts";
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
import { buildRulesPaths, RULES_SCHEMAS } from "./rules-operations.ts";
import { UNAUTHENTICATED_OPERATIONS } from "./unauthenticated-operations.ts";
import { buildWebhooks, WEBHOOK_PARAMETERS, WEBHOOK_SCHEMAS, WEBHOOK_SECURITY, WEBHOOKS_VERSION } from "./webhooks.ts";

/** For a document without a base URL. */
const ANY_SERVER: DocumentPart = {
  url: "https://{host}",
  variables: {
    host: { default: "localhost:8443", description: "DUNLIN_BASE_URL of the installation, without https://" },
  },
};

const DESCRIPTION = `Dunlin decides when and how to retry failed subscription payments. You push subscriptions, invoices and payment attempts. Dunlin sends webhooks that tell your endpoint what to do and when, and lists its recovery actions.

HTTPS only (TLS 1.2 or newer), JSON in UTF-8. Every request carries \`Authorization: Bearer <API_KEY>\`, and is authenticated before its body is read. Keep keys out of public repositories and browsers, and send them only to Dunlin.

Every reply carries \`X-Request-Id\`, Dunlin's id of the request. It finds the request in the logs for 30 days. Errors are \`{code, message, details}\`: \`code\` is the HTTP status, and the message names the field at fault and repeats no value. After a 429, 500 or 503, send the same request again, with growing delays. You can repeat and reorder ingest requests.

An empty string or null in an optional field of a record means that the field is absent. So does an empty query parameter.

Dunlin ignores request fields that this document does not list. Replies and events may have additional fields: v1 grows by additions only.`;

const TAGS = [
  { name: "Ingest", description: "Push what your billing system knows." },
  { name: "Recovery actions", description: "Read the actions that Dunlin planned, sent and settled." },
  { name: "Invoices", description: "Ask about an invoice in recovery, and change what happens next." },
  { name: "Recovery rules", description: "Treat segments of your invoices differently." },
  { name: "Attention", description: "Read what a person should look at." },
  { name: "Analytics", description: "Read sums of recovery." },
  { name: "Operation", description: "For operators of the service. No key is needed." },
  {
    name: "Webhooks",
    description: `Version ${WEBHOOKS_VERSION}. Dunlin posts events to your endpoint: to one HTTPS URL, or to its sub-paths \`/recovery_action\`, \`/pause_collection\` and \`/complete_dunning\` if you choose so. Answer 2xx within 30 seconds, remember the id, and act afterwards. An event may arrive more than once, always with the same id and the same bytes. Delays count from the end of the previous attempt. Dunlin does not follow redirects.`,
  },
];

const errorSchema = (details: DocumentPart): DocumentPart => ({
  type: "object",
  description: "An error.",
  required: ["code", "message", "details"],
  properties: {
    code: { type: "integer", format: "int32", minimum: 400, maximum: 599, description: "The HTTP status." },
    message: {
      type: "string",
      maxLength: MESSAGE_CHARS_MAX,
      pattern: "^[^\\x00-\\x1f\\x7f]*$",
      description:
        "The problem, for people. Programs should not parse it. For a batch, it lists up to 20 problems, joined by semicolons, and the number of further ones.",
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
      description: "The parameter at fault; empty if no parameter is.",
      items: {
        type: "object",
        required: ["field", "description"],
        properties: {
          field: { type: "string", maxLength: 64, pattern: "^[A-Za-z_]+$", description: "The parameter." },
          description: {
            type: "string",
            maxLength: 4000,
            pattern: "^[^\\x00-\\x1f\\x7f]*$",
            description: "The problem.",
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
    reason: { type: "string", maxLength: 63, pattern: "^[A-Z_]+$", description: "The reason, for programs." },
    domain: { type: "string", const: ERROR_DOMAIN, description: "The domain of the reason." },
  },
};

const SCHEMAS = (): Record<string, DocumentPart> => ({
  Subscription: recordSchema(SUBSCRIPTION_KIND, "A subscription in your billing system.", SUBSCRIPTION_DESCRIPTIONS),
  Invoice: recordSchema(INVOICE_KIND, "An invoice in your billing system.", INVOICE_DESCRIPTIONS),
  Transaction: recordSchema(TRANSACTION_KIND, "One payment attempt, by any initiator.", TRANSACTION_DESCRIPTIONS),
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
    description: "The parameter at fault.",
  }),
  ListOtherError: errorSchema({
    type: "array",
    minItems: 1,
    maxItems: 1,
    items: ERROR_INFO,
    description: "The reason.",
  }),
  ...INVOICE_OPERATION_SCHEMAS,
  ...RULES_SCHEMAS,
  ...ATTENTION_SCHEMAS,
  ...ANALYTICS_SCHEMAS,
  ...WEBHOOK_SCHEMAS,
});

/**
 * From the schemas that validate requests.
 *
 * @param baseUrl  without a trailing slash; null for any installation
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
    servers: [{ ...server, description: "The installation: local, or the operator's URL.", "x-internal": false }],
    security: [{ apiKey: [] }],
    tags: TAGS,
    paths: {
      ...Object.fromEntries(
        INGEST_OPERATIONS.map((each) => [`/ingest/v1/${each.kind.name}`, { post: buildIngestOperation(each) }]),
      ),
      "/v1/recovery_actions": { get: buildListOperation() },
      ...buildInvoicePaths(),
      ...buildRulesPaths(),
      [ATTENTION_PATH]: { get: buildAttentionOperation() },
      [ANALYTICS_PATH]: { get: buildAnalyticsOperation() },
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

export const buildOpenApiText = (baseUrl: string | null) =>
  `${JSON.stringify(buildOpenApiDocument(baseUrl), null, 2)}\n`;
