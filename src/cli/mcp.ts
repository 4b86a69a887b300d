import type { Readable } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { type Client, createClient, DunlinError } from "#sdk";
import { BREAKDOWN_DIMENSIONS } from "../analytics/dimension-labels.ts";
import { type Command, type CommandContext, EXIT_CODES, UsageError } from "./command.ts";
import { loadServiceCa } from "./run-stripe-connector.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

/** Answers questions of assistants by the API, so that a key's permissions hold. Nothing can be changed. */
export const mcp: Command = {
  name: "mcp",
  usage: `--api-key-file F
  --api-key-file F   an API key; it needs read:explanations, read:attention, read:analytics or
                     read:recovery_actions for the tools of the same name`,
  summary: "Serve the console's questions to assistants by the Model Context Protocol, on standard input and output",
  options: secretOptions("api-key"),
  positionals: [],
  examples: ["npx dunlin mcp --api-key-file reader.key"],
  async run(context, values) {
    const apiKey = await readSecretOption(context, values, "api-key");
    if (apiKey === undefined) throw new UsageError("mcp needs --api-key-file.");
    const ca = await loadServiceCa(context);
    const client = createClient({ baseUrl: context.settings.baseUrl, apiKey, ...(ca && { ca }) });
    const input = context.input();
    const ended = new Promise<void>((resolve) => input.once("end", resolve).once("close", resolve));
    const serving = serveMcp(client, input, context);
    await Promise.race([context.stopped, ended]);
    await serving.close();
    client.close();
    return EXIT_CODES.ok;
  },
};

export const serveMcp = (client: Client, input: Readable, { output }: Pick<CommandContext, "output">) =>
  serveStdio(() => createMcpServer(client), { transport: new StdioServerTransport(input, output) });

const READ_ONLY = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const time = z.string().describe("ISO 8601 with a zone, such as 2027-01-31T12:00:00Z").optional();

function createMcpServer(client: Client): McpServer {
  const server = new McpServer(
    { name: "dunlin", version: "1" },
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
      inputSchema: z.object({ invoiceId: z.string().min(1).max(255) }),
      annotations: READ_ONLY,
    },
    ({ invoiceId }) => answer(() => client.invoices.explain(invoiceId)),
  );
  server.registerTool(
    "list_attention",
    {
      title: "List what needs attention",
      description: "Lists everything that needs a person: failing endpoint, missing pushes, recoveries that end soon.",
      inputSchema: z.object({}),
      annotations: READ_ONLY,
    },
    () => answer(() => client.attention.list()),
  );
  server.registerTool(
    "recovery_analytics",
    {
      title: "Sum up recovery",
      description:
        "Sums failed and recovered invoices by one dimension, with 95% intervals. Invoices that may still be paid are left out.",
      inputSchema: z.object({
        by: z.enum(BREAKDOWN_DIMENSIONS).optional(),
        ...{ from: time, to: time },
        currency: z.string().length(3).optional(),
        ...{ reason: z.string().optional(), country: z.string().optional(), plan: z.string().optional() },
      }),
      annotations: READ_ONLY,
    },
    (filter) => answer(() => client.analytics.recovery(withoutUndefined(filter))),
  );
  server.registerTool(
    "list_recovery_actions",
    {
      title: "List recovery actions",
      description: "Lists retries and card changes, the latest first, filtered by invoice, customer or subscription.",
      inputSchema: z.object({
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
    (filter) => answer(() => client.recoveryActions.page(withoutUndefined(filter))),
  );
  return server;
}

const withoutUndefined = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: NonNullable<T[Name]>;
  };

/** A refusal of the API, such as a missing permission, is an answer that the assistant can read. */
async function answer(ask: () => Promise<object>) {
  try {
    return { content: [{ type: "text" as const, text: JSON.stringify(await ask()) }] };
  } catch (error) {
    if (!(error instanceof DunlinError)) throw error;
    return { content: [{ type: "text" as const, text: error.message }], isError: true };
  }
}
