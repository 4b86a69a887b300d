import type { DocumentPart } from "./field-schema.ts";
import { CALLER_REQUEST_ID, headerRefs } from "./response-headers.ts";

const okResponse = (description: string, schema: DocumentPart, example: unknown): DocumentPart => ({
  description,
  headers: headerRefs("X-Request-Id"),
  content: { "application/json": { schema, examples: { reply: { value: example } } } },
});
const statusSchema = (value: string): DocumentPart => ({
  type: "object",
  required: ["status"],
  properties: { status: { type: "string", const: value, description: "Always the same." } },
});
const OTHER_RESPONSES = {
  500: { $ref: "#/components/responses/InternalError" },
  "4XX": { $ref: "#/components/responses/Other" },
};

/** The operations that need no key, by their paths. */
export const UNAUTHENTICATED_OPERATIONS: Readonly<Record<string, DocumentPart>> = {
  "/healthz": {
    tags: ["Operation"],
    operationId: "healthz",
    summary: "Whether the process answers",
    description: "For a supervisor that restarts what no longer answers. Needs no key.",
    security: [],
    parameters: [CALLER_REQUEST_ID],
    responses: { 200: okResponse("It does.", statusSchema("ok"), { status: "ok" }), ...OTHER_RESPONSES },
  },
  "/readyz": {
    tags: ["Operation"],
    operationId: "readyz",
    summary: "Whether requests may come",
    description: "For a load balancer: 200 while the database answers too. Needs no key.",
    security: [],
    parameters: [CALLER_REQUEST_ID],
    responses: {
      200: okResponse("They may.", statusSchema("ready"), { status: "ready" }),
      ...OTHER_RESPONSES,
      503: { $ref: "#/components/responses/NotReady" },
    },
  },
  "/network.json": {
    tags: ["Operation"],
    operationId: "network",
    summary: "Where webhooks come from",
    description: "The address ranges that the operator has set, for firewalls in front of endpoints. Needs no key.",
    security: [],
    parameters: [CALLER_REQUEST_ID],
    responses: {
      200: okResponse(
        "The ranges; an empty list when the operator has set none.",
        {
          type: "object",
          required: ["egressRanges"],
          properties: {
            egressRanges: {
              type: "array",
              maxItems: 1000,
              items: { type: "string", maxLength: 64, pattern: "^[0-9A-Fa-f.:/]+$" },
              description: "Addresses or ranges (CIDR).",
            },
          },
        },
        { egressRanges: ["203.0.113.0/24"] },
      ),
      ...OTHER_RESPONSES,
    },
  },
};
