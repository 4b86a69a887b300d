import type { Readable } from "node:stream";
import { McpServer, type ServerContext } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { type Client, createClient, DunlinError, type ReadOptions } from "#sdk";
import { BREAKDOWN_DIMENSIONS } from "../analytics/dimension-labels.ts";
import { readVersion } from "../process/version.ts";
import { type Command, type CommandContext, EXIT_CODES, UsageError } from "./command.ts";
import { createMcpTransport } from "./mcp-transport.ts";
import { loadServiceCa } from "./run-stripe-connector.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

/** Answers questions of assistants by the API, so that a key's permissions hold. Nothing can be changed. */
export const mcp: Command = {
  name: "mcp",
  usage: `--api-key-file F
  --api-key-file F   an API key; explain_invoice needs the permission read:explanations, list_attention
                     read:attention, recovery_analytics read:analytics, and list_recovery_actions
                     read:recovery_actions`,
  summary: "Serve the console's questions to assistants by the Model Context Protocol, on standard input and output",
  options: secretOptions("api-key"),
  positionals: [],
  examples: ["npx dunlin mcp --api-key-file reader.key"],
  async run(context, values) {
    const apiKey = await readSecretOption(context, values, "api-key");
    if (apiKey === undefined) throw new UsageError("mcp needs --api-key-file.");
    const ca = await loadServiceCa(context);
    const { baseUrl } = context.settings;
    const client = createClient({ baseUrl, apiKey, retryForMs: RETRY_FOR_MS, ...(ca && { ca }) });
    const input = context.input();
    const serving = serveMcp({ client, baseUrl }, input, context);
    await Promise.race([context.stopped, serving.answered]);
    await serving.close();
    client.close();
    input.destroy();
    return EXIT_CODES.ok;
  },
};

/** A person waits for the assistant's answer. */
const ANSWER_WITHIN_MS = 10_000;
/** For a short fault of the connection. The assistant itself can call again. */
const RETRY_FOR_MS = 4_000;

/** The API that answers, and how to call it in messages. */
interface Service {
  client: Client;
  baseUrl: string;
}

/** `close` aborts calls in flight. `answered` resolves when the input has ended and all its requests are answered. */
export function serveMcp(
  service: Service,
  input: Readable,
  { output, stderr }: Pick<CommandContext, "output" | "stderr">,
) {
  const { transport, answered } = createMcpTransport(input, output, stderr);
  const serving = serveStdio(() => createMcpServer(service), {
    transport,
    onerror: ({ message }) => stderr.print(`mcp: ${message}`),
  });
  return { answered, close: () => serving.close() };
}

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const time = z.string().describe("ISO 8601 with a zone, such as 2027-01-31T12:00:00Z").optional();

function createMcpServer({ client, baseUrl }: Service): McpServer {
  const answer = (ask: (options: ReadOptions) => Promise<object>, { mcpReq }: ServerContext) =>
    answerWithin(ANSWER_WITHIN_MS, baseUrl, ask, mcpReq.signal);
  const server = new McpServer(
    { name: "dunlin", version: readVersion() },
    {
      instructions:
        "Dunlin recovers failed payments. Amounts are in minor units; amounts of different currencies are never added. Nothing can be changed here.",
    },
  );
  server.registerTool(
    "explain_invoice",
    {
      title: "Explain an invoice",
      description: "Says what happened to a failed invoice, what comes next and why: dates, decline codes, limits.",
      inputSchema: z.strictObject({ invoiceId: z.string().min(1).max(255) }),
      annotations: READ_ONLY,
    },
    ({ invoiceId }, context) => answer((options) => client.invoices.explain(invoiceId, options), context),
  );
  server.registerTool(
    "list_attention",
    {
      title: "List what needs attention",
      description: "Lists everything that needs a person: failing endpoint, missing pushes, recoveries that end soon.",
      inputSchema: z.strictObject({}),
      annotations: READ_ONLY,
    },
    (_, context) => answer((options) => client.attention.list(options), context),
  );
  server.registerTool(
    "recovery_analytics",
    {
      title: "Sum up recovery",
      description:
        "Sums failed and recovered invoices by one dimension, with 95% intervals. Invoices that may still be paid are left out.",
      inputSchema: z.strictObject({
        by: z.enum(BREAKDOWN_DIMENSIONS).optional(),
        ...{ from: time, to: time },
        currency: z
          .string()
          .regex(/^[A-Z]{3}$/, "must be three capital letters, such as EUR")
          .optional(),
        ...{ reason: z.string().optional(), country: z.string().optional(), plan: z.string().optional() },
      }),
      annotations: READ_ONLY,
    },
    (filter, context) => answer((options) => client.analytics.recovery(withoutUndefined(filter), options), context),
  );
  server.registerTool(
    "list_recovery_actions",
    {
      title: "List recovery actions",
      description: "Lists retries and card changes, the latest first, filtered by invoice, customer or subscription.",
      inputSchema: z.strictObject({
        ...{
          invoiceId: z.string().optional(),
          customerId: z.string().optional(),
          subscriptionId: z.string().optional(),
        },
        pageSize: z.number().int().min(1).max(100).optional(),
        pageToken: z.string().optional(),
      }),
      annotations: READ_ONLY,
    },
    (filter, context) => answer((options) => client.recoveryActions.page(withoutUndefined(filter), options), context),
  );
  return server;
}

const withoutUndefined = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: NonNullable<T[Name]>;
  };

/** A refusal of the API, such as a missing permission, is an answer that the assistant can read; so is a service that is down. */
async function answerWithin(
  limitMs: number,
  baseUrl: string,
  ask: (options: ReadOptions) => Promise<object>,
  canceled: AbortSignal,
) {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const answered = await ask({ signal: AbortSignal.any([limit, canceled]) });
    return { content: [{ type: "text" as const, text: JSON.stringify(answered) }] };
  } catch (error) {
    const refusal = error instanceof DunlinError ? error : null;
    if (!refusal && !limit.aborted) throw error;
    const isAnswer = refusal !== null && refusal.kind !== "no_answer";
    const reason = refusal === null ? `no answer within ${limitMs / 1_000} s` : causeOf(refusal);
    const text = isAnswer ? refusal.message : `The service at ${baseUrl} does not answer: ${reason}. ${DOWN_ADVICE}`;
    return { content: [{ type: "text" as const, text }], isError: true };
  }
}

/** The error of several addresses has a code but no message. */
function causeOf({ cause, message }: DunlinError): string {
  const { message: text, code } = (cause ?? {}) as { message?: string; code?: string };
  return text || code || message;
}

const DOWN_ADVICE = "Start it with npx dunlin serve, or set DUNLIN_BASE_URL to its address.";
