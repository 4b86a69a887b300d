import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import type { Logger as Log } from "pino";
import { pageTokenKeys } from "./actions-api/page-token.ts";
import { createApi } from "./api/server.ts";
import { createMailer } from "./auth/mail.ts";
import { createOidc } from "./auth/oidc.ts";
import { createPasswords } from "./auth/password.ts";
import type { Settings } from "./config/config.ts";
import { loadTlsIdentity } from "./config/tls-identity.ts";
import { createConsolePages } from "./console/console-pages.ts";
import { createDeliverer, type Deliverer } from "./delivery/deliverer.ts";
import { createSender } from "./delivery/https/https-sender.ts";
import { createTestEventSender } from "./delivery/test-event.ts";
import { DAY_MS, HOUR_MS } from "./domain/durations.ts";
import type { OnWithdrawn } from "./domain/event.ts";
import type { Ports } from "./domain/ports.ts";
import type { PretrainedModel } from "./engine/learned/pretrained-model.ts";
import { countMatureInvoices } from "./experiments/count-mature-invoices.ts";
import type { ApiOptions } from "./http/api.ts";
import { checkPortIsFree, type Tls } from "./http/listener.ts";
import { ensureLocalCertificate } from "./http/local-certificate.ts";
import { createGroupCommit } from "./ingest/group-commit.ts";
import { ingestSubscriptions, ingestTransactions } from "./ingest/ingest.ts";
import { ingestInvoices } from "./ingest/ingest-invoices.ts";
import { createLearner } from "./learning/learn-due.ts";
import { createModelCache } from "./learning/model-cache.ts";
import { createMetrics, type Metrics, startMetricsServer } from "./metrics/metrics.ts";
import { addStoreMetrics, startProcessHeartbeat } from "./metrics/store-metrics.ts";
import { createChatPoster } from "./notices/chat.ts";
import { notifyDue } from "./notices/notify-due.ts";
import { assertSchemaIsNewest, UnknownMigration } from "./postgres/migrate.ts";
import { checkReadiness } from "./postgres/readiness.ts";
import { startClockSync } from "./process/clock-sync.ts";
import { startJobLoops } from "./process/job-loops.ts";
import type { LoggedProblems } from "./process/logged-problems.ts";
import { type Loop, startLoop } from "./process/loop.ts";
import { type Notifications, startNotifications } from "./process/notifications.ts";
import { openStore, type Store } from "./process/open-store.ts";
import { readPretrainedModel } from "./process/pretrained-model-file.ts";
import { startRetention } from "./process/retention-loop.ts";
import { loadWebhookNetwork, updateAllowed, type WebhookNetwork } from "./process/webhook-network.ts";
import { processDueCases } from "./recovery/process-due-cases.ts";
import { maintainDecisionPartitions } from "./tables/decisions.ts";
import { maintainDeliveryLogPartitions } from "./tables/delivery-log.ts";

type TlsIdentity = Awaited<ReturnType<typeof loadTlsIdentity>>;

/**
 * How far the heap may grow, in percent, before a full garbage collection. After a rest V8 would lower its own limit for good,
 * and then collect several times a second under load.
 */
const HEAP_GROWTH_PERCENT = 100;

/** Serve the inbound API, decide due cases, deliver webhooks, train the model, serve the console. */
export const ROLES = ["api", "decide", "deliver", "learn", "console"] as const;
export type Role = (typeof ROLES)[number];

export interface RunningService {
  store: Store;
  /** PEM file of the authority to trust; null if Dunlin did not make the certificate. */
  caPath: string | null;
  /** Stops accepting requests, finishes or releases work in progress, and stops an embedded database. */
  stop(): Promise<void>;
}

export interface StartOptions {
  settings: Settings;
  roles: ReadonlySet<Role>;
  log: Log;
  /** Warnings and errors of the log, for metrics and `doctor`. */
  loggedProblems?: LoggedProblems | undefined;
  /** Called if the service cannot continue. */
  onFatal(error: Error): void;
  /** For tests: accepts a database server that may lose acknowledged records. */
  allowDataLoss?: boolean;
}

/** Merchants decided at once: one is computed while others wait for the database. */
const CONCURRENT_MERCHANT_COUNT = 4;
/** Finds cases that another process changed. */
const CASE_POLL_MS = 1_000;
const BUSY_POLL_MS = 50;
/** Finds an experiment that another process started. */
const EXPERIMENT_POLL_MS = 60_000;
/** Finds a connector that was started on this machine. */
const CONNECTOR_POLL_MS = 1_000;
/** Finds the schema of a newer version. */
const SCHEMA_CHECK_MS = 5_000;
const LEARNING_POLL_MS = 2_000;
/** An alert may be this late, besides the time between two checks of a merchant. */
const NOTICE_POLL_MS = 5_000;
/** Partitions are created a month ahead, which is soon on a fast clock. */
const PARTITION_CHECK_MS = HOUR_MS;
const PARTITION_CHECK_DAYS = 5;

/** The parts that the starting steps share. */
interface Service {
  options: StartOptions;
  store: Store;
  metrics: Metrics;
  network: WebhookNetwork;
  models: ReturnType<typeof createModelCache>;
  pretrainedModel: PretrainedModel | null;
  /** Called together when the service stops. */
  stops: (() => Promise<void>)[];
  /** Parts that wake each other; null before they start, or without their role. */
  running: { deliverer: Deliverer | null; deciding: Loop | null; notifications: Notifications | null };
}

/** Wakes the loop that has work to do, in this process or in others. */
interface Signals {
  onEvents(merchantId: string): void;
  onWithdrawn: OnWithdrawn;
  onCases(): void;
}

/** Starts the database and the given roles. */
export async function start(options: StartOptions): Promise<RunningService> {
  const { settings, roles, log, onFatal, allowDataLoss } = options;
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const servesHttp = roles.has("api") || roles.has("console");
  const store = await openStore(settings, "own", settings.databaseConnections, log, onFatal, {
    beforeMigrated: () => checkPortsAreFree(settings, servesHttp),
    allowDataLoss,
  });
  const stops: Service["stops"] = [];
  const stop = async () => {
    // All at once, because each may need time to finish its work.
    await Promise.allSettled(stops.splice(0).map((each) => each()));
    await store.close();
  };
  try {
    const { db, ports } = store;
    const metrics = createMetrics(db, ports);
    const identity = servesHttp ? await loadTlsIdentity(settings, ports.realNow()) : null;
    const network = await startNetwork(store, options, stops);
    const ready = () => checkReadiness(db);
    await startObserving({ options, store, metrics, stops }, identity?.tls ?? null, ready);
    stops.push(startVersionCheck(store, log, onFatal).stop);
    const pretrainedModel = readPretrainedModel(log);
    const models = createModelCache({ db, ports, log, prior: pretrainedModel });
    const running: Service["running"] = { deliverer: null, deciding: null, notifications: null };
    const service: Service = { options, store, metrics, network, models, pretrainedModel, stops, running };
    const signals = createSignals(running);
    if (roles.has("deliver")) await startDelivering(service, signals);
    if (roles.has("deliver")) startNotifying(service);
    startListening(service);
    if (roles.has("decide")) startDeciding(service, signals);
    if (running.deciding || running.deliverer) startClock(service);
    if (roles.has("learn") && pretrainedModel) startLearning(service, pretrainedModel);
    const jobs = roles.has("console") ? startJobs(service, signals) : null;
    if (identity) await startHttp(service, signals, identity, jobs, ready);
    return { store, caPath: identity?.caFile ?? null, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Called before migrating: a new version must not migrate the database of an older one that still has the port. */
async function checkPortsAreFree({ host, port, metricsHost, metricsPort }: Settings, servesHttp: boolean) {
  if (metricsPort !== null) await checkPortIsFree(metricsHost, metricsPort);
  if (servesHttp) await checkPortIsFree(host, port);
}

async function startObserving(
  { options, store, metrics, stops }: Pick<Service, "options" | "store" | "metrics" | "stops">,
  tls: Tls | null,
  ready: ApiOptions["ready"],
) {
  const { settings } = options;
  const figures = addStoreMetrics(store, settings, tls);
  metrics.watchService(figures);
  if (settings.metricsPort !== null)
    stops.push(await startMetricsServer(metrics, figures, ready, settings.metricsHost, settings.metricsPort));
  stops.push(startProcessHeartbeat(metrics, store, options).stop);
}

async function startNetwork({ db, ports }: Store, { settings, log }: StartOptions, stops: Service["stops"]) {
  // Before a connector needs it, so that its authority is trusted from the start.
  await ensureLocalCertificate(join(settings.dataDir, "tls"), new URL(settings.baseUrl).hostname, ports.realNow());
  const network = await loadWebhookNetwork(settings, db);
  const refresh = async () => {
    await updateAllowed(network, settings, db);
    return CONNECTOR_POLL_MS;
  };
  stops.push(startLoop("connectors", log, refresh).stop);
  return network;
}

/** Reports a fatal error when a newer version has migrated the database. */
const startVersionCheck = ({ owner }: Store, log: Log, onFatal: StartOptions["onFatal"]): Loop =>
  startLoop("version", log, async () => {
    await assertSchemaIsNewest(owner).catch((error: Error) => {
      if (!(error instanceof UnknownMigration)) throw error;
      onFatal(error);
    });
    return SCHEMA_CHECK_MS;
  });

const createSignals = (running: Service["running"]): Signals => ({
  onEvents(merchantId) {
    running.deliverer?.wake(merchantId);
    if (!running.deliverer?.sendsFor(merchantId)) running.notifications?.events(merchantId);
  },
  onWithdrawn(merchantId, eventIds) {
    running.deliverer?.dropWithdrawn(merchantId, eventIds);
    if (!running.deliverer?.sendsFor(merchantId)) running.notifications?.withdrawn(merchantId, eventIds);
  },
  onCases() {
    if (running.deciding) running.deciding.wake();
    else running.notifications?.cases();
  },
});

async function startDelivering({ options, store, metrics, network, stops, running }: Service, { onCases }: Signals) {
  const { settings, log } = options;
  const { db, owner, ports, secretKeys } = store;
  const sender = createSender({ ...network, monotonicMs: ports.monotonicMs });
  const deliverer = createDeliverer({
    db,
    ports,
    log,
    secretKeys,
    owner: ports.newId(),
    send: sender.send,
    onEnded: onCases,
    metrics,
  });
  const maintainLog = async () => {
    const now = ports.now();
    const oldestKept = new Date(now.getTime() - settings.deliveryLogDays * DAY_MS);
    const { made, dropped } = await maintainDeliveryLogPartitions(owner, now, oldestKept);
    if (made.length + dropped.length > 0) log.info({ made, dropped }, "delivery_log.kept");
    return maintenancePauseMs(ports);
  };
  await maintainLog();
  stops.push(startLoop("delivery_log", log, maintainLog).stop);
  deliverer.start();
  metrics.watchDeliverer(() => ({ ...deliverer.figures(), connections: sender.connections() }));
  stops.push(() => deliverer.stop().finally(sender.close));
  running.deliverer = deliverer;
}

/** Alerts and digests go out where webhooks do, because only these processes need to reach other networks. */
function startNotifying({ options: { settings, log }, store, network, stops }: Service) {
  const { db, tenantDb, ports, secretKeys } = store;
  const { allow, extraCa } = network;
  const chat = createChatPoster({ allow, extraCa, monotonicMs: ports.monotonicMs }, secretKeys);
  const mailer = settings.mail && createMailer(settings.mail);
  const service = { db, tenantDb, ports, log, mailer, postChat: chat.post, consoleUrl: settings.authUrl };
  const loop = startLoop("notify", log, async () => ((await notifyDue(service)) ? 0 : NOTICE_POLL_MS));
  stops.push(() => loop.stop().finally(chat.close));
}

const maintenancePauseMs = ({ clockRate }: Ports) =>
  Math.max(CASE_POLL_MS, Math.min(PARTITION_CHECK_MS, (PARTITION_CHECK_DAYS * DAY_MS) / clockRate));

/** Connects this process to the notifications of others. */
function startListening({ options: { roles, log }, store: { db }, models, stops, running }: Service) {
  const { deliverer } = running;
  running.notifications = startNotifications({
    db,
    log,
    heard: {
      ...(deliverer && { events: deliverer.wake, withdrawn: deliverer.dropWithdrawn }),
      ...(roles.has("decide") && { cases: () => running.deciding?.wake(), learned: models.hint }),
    },
  });
  stops.push(running.notifications.stop);
}

function startDeciding({ options, store, metrics, models, stops, running }: Service, signals: Signals) {
  const { settings, log } = options;
  const { db, owner, ports } = store;
  const pauseMs = maintenancePauseMs(ports);
  const maintainDecisions = async () => {
    const oldestKept = new Date(ports.now().getTime() - settings.decisionDays * DAY_MS);
    await maintainDecisionPartitions(owner, ports.now(), oldestKept);
    return pauseMs;
  };
  stops.push(startLoop("decisions", log, maintainDecisions).stop);
  const retention = startRetention({ db, owner, ports, keep: settings.keepDays }, log, pauseMs);
  if (retention) stops.push(retention.stop);
  const { onEvents, onWithdrawn } = signals;
  const deciding = startLoop("decide", log, async () => {
    const merchantsAtOnce = CONCURRENT_MERCHANT_COUNT;
    const { processedCount, nextDueAt } = await processDueCases({
      ...{ db, ports, log, onEvents, onWithdrawn, models, merchantsAtOnce },
    });
    metrics.onSteps(processedCount);
    if (processedCount > 0) return 0;
    const dueMs = realMsUntil(nextDueAt, ports) ?? CASE_POLL_MS;
    // Another process has locked the cases that are due.
    return dueMs <= 0 ? BUSY_POLL_MS : Math.min(CASE_POLL_MS, dueMs);
  });
  running.deciding = deciding;
  stops.push(deciding.stop);
  const counting = startLoop("count", log, async () => {
    const { nextAnalysisAt } = await countMatureInvoices({ db, ports, log });
    const dueMs = realMsUntil(nextAnalysisAt, ports) ?? EXPERIMENT_POLL_MS;
    return Math.max(CASE_POLL_MS, Math.min(EXPERIMENT_POLL_MS, dueMs));
  });
  stops.push(counting.stop);
}

const realMsUntil = (at: Date | null, { now, clockRate }: Ports): number | null =>
  at === null ? null : (at.getTime() - now().getTime()) / clockRate;

function startClock({ options: { log }, store: { db, clock, ports }, stops, running }: Service) {
  const onSetBack = () => {
    running.deliverer?.wake();
    running.deciding?.wake();
    running.notifications?.cases();
  };
  stops.push(startClockSync({ db, clock, ports, log, onSetBack }).stop);
}

function startLearning({ options: { log }, store, models, stops, running }: Service, prior: PretrainedModel) {
  const { db, ports } = store;
  const learner = createLearner({ db, ports, log, prior, owner: ports.newId() });
  const learn = startLoop("learn", log, async () => {
    if ((await learner.learnDue()) === 0) return LEARNING_POLL_MS;
    models.hint();
    running.notifications?.learned();
    return 0;
  });
  stops.push(() => learn.stop().then(learner.release));
}

function startJobs({ options: { log }, store, pretrainedModel, stops }: Service, { onEvents }: Signals) {
  const { db, tenantDb, ports } = store;
  const jobs = startJobLoops({
    everyone: db,
    walled: tenantDb,
    ports,
    log,
    prior: pretrainedModel,
    onReplayed: onEvents,
  });
  stops.push(jobs.stop);
  return jobs;
}

async function startHttp(
  { options, store, metrics, network, stops }: Service,
  { onEvents, onWithdrawn, onCases }: Signals,
  { tls, caFile }: TlsIdentity,
  jobs: ReturnType<typeof startJobs> | null,
  ready: ApiOptions["ready"],
) {
  const { settings, roles, log } = options;
  const { db, tenantDb, owner, ports, secretKeys } = store;
  const shared = {
    ports,
    clockSkewMs: settings.clockSkewMs,
    trustedProxies: settings.trustedProxies,
    baseUrl: settings.baseUrl,
    egressRanges: settings.egressRanges,
  };
  const pages = jobs
    ? createConsolePages({
        ...shared,
        allTenantsDb: db,
        tenantDb,
        secretKeys,
        passwords: createPasswords(ports.randomBytes),
        oidc: settings.oidc && createOidc(settings.oidc, new URL(settings.authUrl).origin, ports.monotonicMs),
        mailer: settings.mail && createMailer(settings.mail),
        authUrl: settings.authUrl,
        caPath: caFile,
        behindProxy: settings.tls === "proxy",
        allow: network.allow,
        postChat: startChat(store, network, stops),
        sendTestEvent: createTestEventSender(network, secretKeys, ports),
        onEvents,
        onWithdrawn,
        onCases,
        onJob: jobs.wake,
      })
    : null;
  const api = await createApi({
    ...shared,
    allTenantsDb: db,
    tenantDb,
    owner,
    log,
    ingest: createIngest(store, onWithdrawn),
    recovery: { onEvents, onWithdrawn },
    onIngested: onCases,
    tls,
    connectionsPerAddress: settings.connectionsPerAddress,
    tokenKeys: pageTokenKeys(settings.pageTokenKeys, secretKeys),
    ready,
    metrics,
    servesOperations: roles.has("api"),
    pages,
  });
  // Registered before listening, because the API has timers from the start, and the port may be in use.
  stops.push(() => api.close());
  await api.listen({ host: settings.host, port: settings.port });
}

/** For tests that a person sends. */
function startChat({ ports, secretKeys }: Store, { allow, extraCa }: WebhookNetwork, stops: Service["stops"]) {
  const chat = createChatPoster({ allow, extraCa, monotonicMs: ports.monotonicMs }, secretKeys);
  stops.push(async () => chat.close());
  return chat.post;
}

/** Ingest that commits concurrent requests of a merchant together. */
function createIngest({ tenantDb, ports }: Store, onWithdrawn: OnWithdrawn): ApiOptions["ingest"] {
  const dbOf = ({ id }: { id: string }) => tenantDb.of(id);
  return {
    subscriptions: createGroupCommit((merchant, batches, traceparents) =>
      ingestSubscriptions(dbOf(merchant), merchant, batches, ports, onWithdrawn, traceparents),
    ),
    invoices: createGroupCommit((merchant, batches, traceparents) =>
      ingestInvoices(dbOf(merchant), merchant, batches, ports, onWithdrawn, traceparents),
    ),
    transactions: createGroupCommit((merchant, batches, traceparents) =>
      ingestTransactions(dbOf(merchant), merchant, batches, ports, onWithdrawn, traceparents),
    ),
  };
}
