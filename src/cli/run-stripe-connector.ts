import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates } from "node:tls";
import { createHealth, createHealthServer, type Health } from "../../connectors/kit/health.ts";
import { createConnectorListener } from "../../connectors/kit/listener.ts";
import { startLoops } from "../../connectors/kit/loops.ts";
import { createOptOutLinks } from "../../connectors/kit/messages/opt-out.ts";
import { createMessages, type Messages, type SendMail } from "../../connectors/kit/messages/send-messages.ts";
import { loadTemplates, TemplateError, type Templates } from "../../connectors/kit/messages/templates.ts";
import { createClient } from "../../connectors/kit/sdk.ts";
import { type ConnectorStore, createConnectorStore } from "../../connectors/kit/store.ts";
import { type BackfillProgress, readBackfill } from "../../connectors/stripe/backfill.ts";
import { createStripeClient, createStripeConnector, type StripeConnector } from "../../connectors/stripe/connector.ts";
import { readMessageFacts } from "../../connectors/stripe/message-facts.ts";
import { createMailer } from "../auth/mail.ts";
import type { ConnectionSecrets, ConnectionSettings, MessageSettings } from "../domain/connection.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import { requestBacktest } from "../jobs/backtest-job.ts";
import { reportConnection } from "../tables/connections.ts";
import { type CommandContext, CommandFailure, EXIT_CODES, type OpenedDatabase, UsageError } from "./command.ts";
import { type ConnectorSocket, listen } from "./connector-socket.ts";
import { createProgressLine } from "./progress-line.ts";
import { resumeEndpoint } from "./store-connection.ts";

const MESSAGE_TEXTS = join(import.meta.dirname, "../../connectors/kit/messages/texts");
/** Below the 25 requests per second that Stripe allows in test mode, and the 100 in live mode. */
const CALLS_PER_SECOND = { test: 20, live: 80 };
const SIGNATURE_TOLERANCE_S = 300;
/** On a clock that runs faster, loops run more often. */
const PAUSES_MS = {
  real: { events: 10_000, changes: 500, charges: 500, messages: 5_000, releases: 60_000 },
  fast: { events: 250, changes: 100, charges: 50, messages: 100, releases: 2_000 },
};
const HEARTBEAT_MS = 2_000;
/** Dunlin pauses an endpoint after days without an answer, and this connector answers. */
const ENDPOINT_CHECK_MS = 10_000;
const KEPT_DAYS = 400;

export interface ConnectorRun {
  merchantId: string;
  isLive: boolean;
  secrets: ConnectionSecrets;
  settings: ConnectionSettings;
  socket: ConnectorSocket;
  metricsPort: number | undefined;
  callsPerSecond: number | undefined;
  pollSeconds?: number | undefined;
  stripeUrl: URL | undefined;
  /** Instead of the mail server of the settings. */
  sendMail?: SendMail;
}

/** The connector's rows. */
export const storeOf = ({ db }: Pick<OpenedDatabase, "db">, merchantId: string): ConnectorStore =>
  createConnectorStore(db, { merchantId, connection: "stripe" });

/** Authorities of the service's certificate: public ones, those of NODE_EXTRA_CA_CERTS, and Dunlin's own on this machine. */
export async function loadServiceCa({ settings, realNow }: CommandContext): Promise<string | undefined> {
  const { dataDir, baseUrl, tls, certificate } = settings;
  if (tls === "proxy" || certificate) return undefined;
  const { caFile } = await ensureLocalCertificate(join(dataDir, "tls"), new URL(baseUrl).hostname, realNow());
  return [...getCACertificates("default"), readFileSync(caFile, "utf8")].join("\n");
}

/** Serves one Stripe account until the process is asked to stop. */
export async function runStripeConnector(context: CommandContext, opened: OpenedDatabase, run: ConnectorRun) {
  const { ports } = opened;
  const { log } = context;
  const { merchantId, secrets, settings } = run;
  const store = storeOf(opened, merchantId);
  await store.releaseEventClaims(ports.realNow());
  const mode = run.isLive ? "live" : "test";
  const { now, clockRate } = ports;
  const health = createHealth({ store, name: `stripe, ${mode} mode`, now, clockRate });
  const ca = await loadServiceCa(context);
  const dunlin = createClient({ baseUrl: context.settings.baseUrl, apiKey: secrets.apiKey, ca });
  const stripe = createStripeClient(secrets.providerKey, run.stripeUrl);
  const links =
    settings.publicUrl === null
      ? null
      : createOptOutLinks(settings.publicUrl, [await readOptOutSecret(store, ports.randomBytes), secrets.token]);
  let messages: Messages | null = null;
  const connector = createStripeConnector({
    stripe,
    isLive: run.isLive,
    webhookSecrets: secrets.webhookSecrets,
    dunlin,
    dunlinToken: secrets.token,
    store,
    mark: markOf(merchantId),
    completeDunning: settings.whenOver,
    callsPerSecond: run.callsPerSecond ?? CALLS_PER_SECOND[mode],
    signatureToleranceS: SIGNATURE_TOLERANCE_S * ports.clockRate,
    askForCard: async (action, customerId) =>
      messages ? messages.askForCard(action, customerId) : "The customer has to change the card; messages are off.",
    onCall: health.onCall,
    now: ports.now,
    clockRate: ports.clockRate,
    realNow: ports.realNow,
    nowMs: context.monotonicMs,
    sleep,
    log: (level, message, fields) => log[level](fields ?? {}, message),
  });
  messages = createMessaging(context, opened, run, store, connector, links);
  const listener = createConnectorListener({
    dunlinReceiver: connector.dunlinReceiver,
    providerPath: "/stripe",
    receiveFromProvider: (body, { "stripe-signature": signature }) =>
      connector.receive(body, typeof signature === "string" ? signature : undefined),
    optOut: links && {
      links,
      record: (customerId) => store.messages.optOut(customerId, ports.now()),
    },
    onError: (error) => health.onError("webhooks", error),
  });
  run.socket.serve(listener);
  const healthServer = run.metricsPort === undefined ? null : createHealthServer(health);
  const metricsPort = healthServer && (await listen(healthServer, run.metricsPort!, "127.0.0.1", "--metrics-port"));
  printStart(context, run, metricsPort);
  const gone = Promise.withResolvers<void>();
  const loops = startLoops(
    createSteps({ context, opened, run, store, connector, messages, health, onGone: gone.resolve }),
    {
      sleep: (ms, signal) => sleep(ms, undefined, { signal }),
      onSuccess: (name) => health.onRound(name, null),
      onError(name, error) {
        health.onRound(name, error);
        log.warn({ problem: String(error) }, `connector.${name}-failed`);
      },
    },
  );
  const wasRemoved = await Promise.race([context.stopped.then(() => false), gone.promise.then(() => true)]);
  run.socket.close();
  healthServer?.closeAllConnections();
  healthServer?.close();
  await loops.stop();
  await connector.stop();
  dunlin.close();
  if (wasRemoved) throw new CommandFailure("The connection was removed, so the connector ended.", EXIT_CODES.config);
  return EXIT_CODES.ok;
}

const OPT_OUT_SECRET_BYTES = 32;

/**
 * Returns the secret that signs the links by which customers end mails. Its row outlasts the connection, so links of old mails work
 * after the account was disconnected and connected again.
 */
async function readOptOutSecret(store: ConnectorStore, randomBytes: (size: number) => Buffer): Promise<string> {
  const stored = await store.readCursor("opt-out-secret");
  if (stored !== null) return stored;
  const secret = randomBytes(OPT_OUT_SECRET_BYTES).toString("base64url");
  await store.writeCursor("opt-out-secret", secret);
  return secret;
}

/** On invoices that Dunlin handles for a merchant. */
export const markOf = (merchantId: string) => `dunlin-${merchantId}`;

/** @throws UsageError if mails are on and something for them is missing */
export function assertMessagesPossible(
  { settings: { mail } }: CommandContext,
  { messages, publicUrl }: ConnectionSettings,
) {
  if (messages === null) return;
  if (mail === null)
    throw new UsageError("--messages on needs a mail server: set DUNLIN_SMTP_URL and DUNLIN_MAIL_FROM.");
  if (publicUrl === null)
    throw new UsageError(
      "--messages on needs --public-url: each mail has a link by which the customer ends the mails.",
    );
  loadMessageTemplates(messages);
}

function loadMessageTemplates({ templates }: MessageSettings): Templates {
  try {
    return loadTemplates([MESSAGE_TEXTS, ...(templates === null ? [] : [templates])]);
  } catch (error) {
    if (error instanceof TemplateError) throw new UsageError(`--templates: ${error.message}.`);
    throw error;
  }
}

function createMessaging(
  { settings: { mail } }: CommandContext,
  { ports }: OpenedDatabase,
  { settings: { messages: policy }, sendMail }: ConnectorRun,
  store: ConnectorStore,
  { account }: StripeConnector,
  links: ReturnType<typeof createOptOutLinks> | null,
): Messages | null {
  if (policy === null || links === null) return null;
  return createMessages({
    store,
    links,
    templates: loadMessageTemplates(policy),
    policy: {
      quietHours: { zone: policy.zone, from: policy.quietFrom, to: policy.quietTo },
      most: policy.most,
      everyDays: policy.everyDays,
    },
    readFacts: (invoiceId) => readMessageFacts(account, invoiceId),
    sendMail: sendMail ?? createMailer(mail!, { shownAnswer: "codes" }).send,
    now: ports.now,
  });
}

function printStart(
  { print }: CommandContext,
  { isLive, socket: { port, caFile }, settings }: ConnectorRun,
  metricsPort: number | null,
) {
  const { host, endpointUrl } = settings;
  print(`Connected to Stripe in ${isLive ? "live" : "test"} mode.   Ctrl-C stops it`);
  print(`  Stripe's webhooks   ${settings.publicUrl ?? `https://${host}:${port}`}/stripe`);
  if (settings.publicUrl !== null) print(`  Your proxy's target https://${host}:${port}`);
  if (endpointUrl !== null) {
    print(`  Dunlin's events     ${endpointUrl}`);
    print(`  Authority of its certificate ${caFile}`);
  }
  print(`  Mails to customers  ${settings.messages ? "on" : "off"}`);
  if (metricsPort !== null) print(`  Health, metrics     http://127.0.0.1:${metricsPort}/`);
}

interface Steps {
  context: CommandContext;
  opened: OpenedDatabase;
  run: ConnectorRun;
  store: ConnectorStore;
  connector: StripeConnector;
  messages: Messages | null;
  health: Health;
  /** Called when the connection was removed. */
  onGone(): void;
}

function createSteps({ context, opened, run, store, connector, messages, health, onGone }: Steps) {
  const { db, ports } = opened;
  const pauseMs = PAUSES_MS[ports.clockRate > 1 ? "fast" : "real"];
  let isPaused = true;
  const unlessPaused = (work: () => Promise<number>) => async () => (isPaused ? 0 : work());
  const showProgress = createProgressLine(context);
  return [
    {
      name: "heartbeat",
      everyMs: HEARTBEAT_MS,
      async run() {
        const pausedAt = await reportConnection(db, run.merchantId, "stripe", ports.now());
        if (pausedAt === undefined) onGone();
        isPaused = pausedAt !== null;
        health.setPaused(isPaused);
        return 0;
      },
    },
    {
      name: "endpoint",
      everyMs: ENDPOINT_CHECK_MS,
      async run() {
        if (await resumeEndpoint(opened, run.merchantId)) context.log.warn({}, "connector.endpoint-resumed");
        return 0;
      },
    },
    {
      name: "events",
      everyMs: run.pollSeconds === undefined ? pauseMs.events : run.pollSeconds * 1_000,
      run: () => connector.pollEvents().then(() => 0),
    },
    { name: "changes", everyMs: pauseMs.changes, run: connector.drainHints },
    { name: "charges", everyMs: pauseMs.charges, run: unlessPaused(connector.executeDue) },
    { name: "messages", everyMs: pauseMs.messages, run: unlessPaused(async () => messages?.sendDue() ?? 0) },
    { name: "releases", everyMs: pauseMs.releases, run: connector.releaseEnded },
    {
      name: "history",
      everyMs: 60_000,
      async run() {
        if ((await readBackfill({ store }))?.phase === "done") return 0;
        const progress = await connector.backfillPage(run.settings.historyDays);
        showProgress(formatBackfill(progress));
        if (progress.phase !== "done") return 1;
        context.log.info(progress.counts, "connector.history-read");
        // The console shows it beside the figures of shadow mode.
        await requestBacktest(db, run.merchantId, COMMAND_LINE_ACTOR, ports);
        return 0;
      },
    },
    {
      name: "pruning",
      everyMs: HOUR_MS,
      run: () => store.prune(new Date(ports.now().getTime() - KEPT_DAYS * DAY_MS)).then(() => 0),
    },
  ];
}

const BAR_WIDTH = 20;
const PHASES = ["subscriptions", "invoices", "charges"] as const;

/** Such as `History [██████··············] invoices 31 %   400 subscriptions, 1,200 invoices, 0 charges`. */
function formatBackfill({ phase, share, counts }: BackfillProgress): string {
  const count = PHASES.map((each) => `${counts[each].toLocaleString("en")} ${each}`).join(", ");
  if (phase === "done") return `History read: ${count}`;
  const filled = Math.round(share * BAR_WIDTH);
  const bar = "█".repeat(filled) + "·".repeat(BAR_WIDTH - filled);
  return `History [${bar}] ${phase} ${Math.round(share * 100)} %   ${count}`;
}
