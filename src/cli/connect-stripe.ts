import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnectorTables } from "../../connectors/kit/database.ts";
import { startLoops } from "../../connectors/kit/loops.ts";
import { createClient, nodeListener } from "../../connectors/kit/sdk.ts";
import { type ConnectorStore, createConnectorStore } from "../../connectors/kit/store.ts";
import { checkConnection, formatCheck } from "../../connectors/stripe/check-connection.ts";
import { createStripeClient, createStripeConnector, type StripeConnector } from "../../connectors/stripe/connector.ts";
import type { CompleteDunning } from "../../connectors/stripe/follow-dunlin.ts";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  type CommandContext,
  CommandFailure,
  EXIT_CODES,
  integerOption,
  type OpenedDatabase,
  type OptionValues,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

const DEFAULT_PORT = 8444;
const CHOICES: readonly CompleteDunning[] = ["give_back", "mark_uncollectible", "cancel_subscription"];
/** Below the 25 requests per second that Stripe allows in test mode, and the 100 of live mode. */
const CALLS_PER_SECOND = { test: 20, live: 80 };
const MONTHS = 13;

export const connectStripe: Command = {
  name: "connect stripe",
  usage: `--stripe-key-file F --api-key-file F --token-file F [--webhook-secret-file F] [--merchant M]
  --stripe-key-file F      a restricted key of Stripe; - is standard input
  --api-key-file F         Dunlin's API key for the connector: dunlin key create --integration stripe
  --token-file F           the bearer token with which Dunlin calls the connector
  --webhook-secret-file F  the signing secret of Stripe's webhook; two lines during a rotation
  --merchant M             not needed if there is only one merchant
  --live                   for a key of live mode
  --when-over A            ${CHOICES.join(" | ")}: an invoice that is still open when its recovery ends (give_back)
  --months N               how much history to read at first (${MONTHS})
  --port N                 where to listen for webhooks: /stripe and /dunlin (${DEFAULT_PORT})
  --stripe-url U           another address than Stripe's, for tests
  --check                  ask both sides for everything that is needed, and change nothing`,
  summary: "Connect a Stripe account: read its invoices, retry failed ones when Dunlin says, and report back",
  options: {
    ...secretOptions("stripe-key", "api-key", "token", "webhook-secret"),
    merchant: { type: "string" },
    live: { type: "boolean" },
    "when-over": { type: "string" },
    months: { type: "string" },
    port: { type: "string" },
    "stripe-url": { type: "string" },
    check: { type: "boolean" },
  },
  positionals: [],
  examples: [
    "npx dunlin connect stripe --stripe-key-file stripe-key --api-key-file api-key --token-file token --check",
  ],
  logsTo: "stderr",
  async run(context, values) {
    const settings = await readConnection(context, values);
    return withDatabase(context, async (opened) => {
      const merchantId = await resolveMerchant(opened.db, values);
      await createConnectorTables(opened.owner);
      const store = createConnectorStore(
        opened.owner,
        `${settings.isLive ? "stripe-live" : "stripe-test"}-${merchantId}`,
      );
      return values.check
        ? await check(context, opened, merchantId, settings, store)
        : await serve(context, opened, merchantId, settings, store);
    });
  },
};

interface ConnectionSettings {
  stripeKey: string;
  apiKey: string;
  token: string;
  webhookSecrets: string[];
  isLive: boolean;
  whenOver: CompleteDunning;
  months: number;
  port: number;
  stripeUrl: URL | undefined;
}

async function readConnection(context: CommandContext, values: OptionValues): Promise<ConnectionSettings> {
  const secret = async (name: string) => {
    const value = await readSecretOption(context, values, name);
    if (value === undefined) throw new UsageError(`--${name}-file is missing.`);
    return value;
  };
  const whenOver = textOption(values, "when-over") ?? "give_back";
  const choice = CHOICES.find((each) => each === whenOver);
  if (!choice) throw new UsageError(`--when-over takes ${CHOICES.join(", ")}, not "${whenOver}".`);
  const url = textOption(values, "stripe-url");
  if (url !== undefined && !URL.canParse(url)) throw new UsageError("--stripe-url takes a URL.");
  const webhookSecret = await readSecretOption(context, values, "webhook-secret");
  return {
    stripeKey: await secret("stripe-key"),
    apiKey: await secret("api-key"),
    token: await secret("token"),
    webhookSecrets: webhookSecret?.split(/\s+/).filter(Boolean) ?? [],
    isLive: values.live === true,
    whenOver: choice,
    months: integerOption(values, "months", 0, 120) ?? MONTHS,
    port: integerOption(values, "port", 0, 65_535) ?? DEFAULT_PORT,
    stripeUrl: url === undefined ? undefined : new URL(url),
  };
}

async function certificateOf({ settings: { dataDir, baseUrl }, realNow }: CommandContext) {
  const made = await ensureLocalCertificate(join(dataDir, "tls"), new URL(baseUrl).hostname, realNow());
  return { ...made, ca: readFileSync(made.caFile, "utf8") };
}

async function check(
  context: CommandContext,
  { db }: OpenedDatabase,
  merchantId: string,
  settings: ConnectionSettings,
  store: ConnectorStore,
) {
  const { ca } = await certificateOf(context);
  const dunlin = createClient({ baseUrl: context.settings.baseUrl, apiKey: settings.apiKey, ca, retryForMs: 2_000 });
  const { webhookUrl, sendsRecoveryEnded } = (await findMerchant(db, merchantId))!;
  const [accepted, refused] = [await store.readCursor("webhook-accepted"), await store.readCursor("webhook-refused")];
  const lines = await checkConnection({
    ...settings,
    stripe: createStripeClient(settings.stripeKey, settings.stripeUrl),
    dunlin,
    merchant: { webhookUrl, sendsRecoveryEnded },
    lastWebhook: {
      acceptedAt: accepted === null ? null : new Date(accepted),
      refusedAt: refused === null ? null : new Date(refused),
    },
  });
  dunlin.close();
  for (const line of lines) context.print(formatCheck(line));
  return lines.every(({ isOk }) => isOk) ? EXIT_CODES.ok : EXIT_CODES.failed;
}

async function serve(
  context: CommandContext,
  { ports }: OpenedDatabase,
  merchantId: string,
  settings: ConnectionSettings,
  store: ConnectorStore,
) {
  const { cert, key, ca } = await certificateOf(context);
  const dunlin = createClient({ baseUrl: context.settings.baseUrl, apiKey: settings.apiKey, ca });
  const { log } = context;
  const connector = createStripeConnector({
    stripe: createStripeClient(settings.stripeKey, settings.stripeUrl),
    isLive: settings.isLive,
    webhookSecrets: settings.webhookSecrets,
    dunlin,
    dunlinToken: settings.token,
    store,
    connection: `dunlin-${merchantId}`,
    completeDunning: settings.whenOver,
    callsPerSecond: settings.isLive ? CALLS_PER_SECOND.live : CALLS_PER_SECOND.test,
    signatureToleranceS: 300 * ports.clockRate,
    now: ports.now,
    nowMs: context.monotonicMs,
    sleep,
    log: (level, message, fields) => log[level](fields ?? {}, message),
  });
  const server = createServer({ cert, key }, createListener(connector, store));
  server.listen(settings.port, "127.0.0.1");
  await once(server, "listening").catch((error: Error) => {
    throw new CommandFailure(`--port: ${error.message}`);
  });
  const { port } = server.address() as AddressInfo;
  context.print(`Connected to Stripe in ${settings.isLive ? "live" : "test"} mode.   Ctrl-C stops it`);
  context.print(`  Stripe's webhooks:  https://127.0.0.1:${port}/stripe, through a proxy with a public address`);
  context.print(`  Dunlin's webhooks:  https://127.0.0.1:${port}/dunlin`);
  const loops = startLoops(
    [
      { name: "events", everyMs: 10_000, run: () => connector.pollEvents().then(() => 0) },
      { name: "changes", everyMs: 500, run: connector.drainHints },
      { name: "charges", everyMs: 500, run: connector.executeDue },
      { name: "history", everyMs: 60_000, run: () => backfill(context, connector, settings.months) },
    ],
    {
      sleep: (ms, signal) => sleep(ms, undefined, { signal }),
      onError: (name, error) => log.warn({ problem: String(error) }, `connector.${name}-failed`),
    },
  );
  await context.stopped;
  server.closeAllConnections();
  server.close();
  await loops.stop();
  await connector.stop();
  dunlin.close();
  return EXIT_CODES.ok;
}

/** Returns 0 when all history is read. */
async function backfill(context: CommandContext, connector: StripeConnector, months: number): Promise<number> {
  const { invoices, isDone } = await connector.backfillPage(months);
  if (!isDone || invoices > 0) context.log.info({ invoices, isDone }, "connector.history-read");
  return isDone ? 0 : 1;
}

function createListener(connector: StripeConnector, store: ConnectorStore) {
  const toDunlinReceiver = nodeListener(connector.dunlinReceiver);
  return (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url?.split("?", 1)[0];
    if (path === "/dunlin" || path?.startsWith("/dunlin/")) return toDunlinReceiver(request, response);
    if (path === "/stripe" && request.method === "POST") return void receiveStripe(connector, request, response);
    if (path === "/healthz") return void answerHealth(store, response);
    response.writeHead(404).end();
  };
}

const BODY_BYTES_MAX = 1024 * 1024;

async function receiveStripe(connector: StripeConnector, request: IncomingMessage, response: ServerResponse) {
  try {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > BODY_BYTES_MAX) return void response.writeHead(413).end();
      chunks.push(chunk);
    }
    const signature = request.headers["stripe-signature"];
    const body = Buffer.concat(chunks).toString("utf8");
    const status = await connector.receive(body, typeof signature === "string" ? signature : undefined);
    response.writeHead(status).end();
  } catch {
    // Stripe sends it again, and the next poll finds the event anyway.
    response.writeHead(500).end();
  }
}

async function answerHealth(store: ConnectorStore, response: ServerResponse) {
  const { waiting, failing } = await store.countHints().catch(() => ({ waiting: -1, failing: -1 }));
  const body = JSON.stringify({ waiting, failing });
  response.writeHead(waiting < 0 ? 503 : 200, { "content-type": "application/json" }).end(body);
}
