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

export const UNAUTHENTICATED_OPERATIONS: Readonly<Record<string, DocumentPart>> = {
  "/healthz": {
    tags: ["Operation"],
    operationId: "healthz",
    summary: "Check that the process is alive",
    description: "For a supervisor that restarts a process that no longer answers. Needs no key.",
    security: [],
    parameters: [CALLER_REQUEST_ID],
    responses: { 200: okResponse("The process is alive.", statusSchema("ok"), { status: "ok" }), ...OTHER_RESPONSES },
  },
  "/readyz": {
    tags: ["Operation"],
    operationId: "readyz",
    summary: "Check that the service is ready",
    description: "For a load balancer: 200 while the process and the database answer. Needs no key.",
    security: [],
    parameters: [CALLER_REQUEST_ID],
    responses: {
      200: okResponse("The service accepts requests.", statusSchema("ready"), { status: "ready" }),
      ...OTHER_RESPONSES,
      503: { $ref: "#/components/responses/NotReady" },
    },
  },
  "/network.json": {
    tags: ["Operation"],
    operationId: "network",
    summary: "Get the source addresses of webhooks",
    description:
      "Returns the address ranges that the operator configured, for firewalls in front of endpoints. Needs no key.",
    security: [],
    parameters: [CALLER_REQUEST_ID],
    responses: {
      200: okResponse(
        "The ranges; an empty list if the operator configured none.",
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
