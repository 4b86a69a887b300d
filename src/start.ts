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
import { createDeliverer } from "./delivery/deliverer.ts";
import { parseAllowList } from "./delivery/https/address-guard.ts";
import { createSender } from "./delivery/https/https-sender.ts";
import { createTestEventSender } from "./delivery/test-event.ts";
import { DAY_MS, HOUR_MS } from "./domain/durations.ts";
import type { OnWithdrawn } from "./domain/event.ts";
import { countMatureInvoices } from "./experiments/count-mature-invoices.ts";
import { checkPortIsFree } from "./http/listener.ts";
import { createGroupCommit } from "./ingest/group-commit.ts";
import { ingestSubscriptions, ingestTransactions } from "./ingest/ingest.ts";
import { ingestInvoices } from "./ingest/ingest-invoices.ts";
import { createLearner } from "./learning/learn-due.ts";
import { createModelCache } from "./learning/model-cache.ts";
import { createMetrics, startMetricsServer } from "./metrics/metrics.ts";
import { addStoreMetrics, startProcessHeartbeat } from "./metrics/store-metrics.ts";
import { assertSchemaIsNewest, UnknownMigration } from "./postgres/migrate.ts";
import { checkReadiness } from "./postgres/readiness.ts";
import { startClockSync } from "./process/clock-sync.ts";
import { startJobLoops } from "./process/job-loops.ts";
import type { LoggedProblems } from "./process/logged-problems.ts";
import { type Loop, startLoop } from "./process/loop.ts";
import { startNotifications } from "./process/notifications.ts";
import { openStore, type Store } from "./process/open-store.ts";
import { readPretrainedModel } from "./process/pretrained-model-file.ts";
import { startRetention } from "./process/retention-loop.ts";
import { processDueCases } from "./recovery/process-due-cases.ts";
import { maintainDecisionPartitions } from "./tables/decisions.ts";
import { maintainDeliveryLogPartitions } from "./tables/delivery-log.ts";

/**
 * How much the heap may grow, in percent, before all of it is looked through again. Left to choose, V8 lets it grow by some 8 MB once it has rested for
 * some seconds, and never by more again: under load it looks through it three times a second then, which is two fifths of the service's CPU.
 */
const HEAP_GROWTH_PERCENT = 100;

export const ROLES = ["api", "decide", "deliver", "learn", "console"] as const;
/** The roles of a process: serve the inbound API, decide due cases, deliver webhooks, learn from outcomes, serve pages for people. */
export type Role = (typeof ROLES)[number];

export interface RunningService {
  store: Store;
  /** PEM of the certificate authority to trust; null when the operator brought a certificate or a proxy ends TLS. */
  caPath: string | null;
  /** Stops taking requests, finishes or releases what is in flight, stops the database if it is ours. */
  stop(): Promise<void>;
}

export interface StartOptions {
  settings: Settings;
  roles: ReadonlySet<Role>;
  log: Log;
  /** Warnings and errors of the log; none are shown without it. */
  troubles?: LoggedProblems | undefined;
  /** The service cannot go on. */
  onFatal(error: Error): void;
}

/** Of which cases are decided at once: while one waits for the database another one is computed. */
const CONCURRENT_MERCHANT_COUNT = 4;
/** Cases that another process changed are found within this long. */
const CASE_POLL_MS = 1_000;
const BUSY_POLL_MS = 50;
/** An experiment that another process started gets its first look within this long. */
const EXPERIMENT_POLL_MS = 60_000;
/** A newer version's schema is noticed within this long. */
const SCHEMA_CHECK_MS = 5_000;
/** Nobody waits for what is learned. */
const LEARNING_POLL_MS = 2_000;
/** The log has a partition for the month after the present one, so there is time; with a fast clock less. */
const PARTITION_CHECK_MS = HOUR_MS;
const PARTITION_CHECK_DAYS = 5;

/** Start the service: the database, and the roles that are asked for. */
export async function start(options: StartOptions): Promise<RunningService> {
  const { settings, roles, log, onFatal } = options;
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  const { host, port, metricsHost, metricsPort } = settings;
  const answers = roles.has("api") || roles.has("console");
  // A new version whose port an older one still has must not migrate the database of that one.
  const tryPorts = async () => {
    if (metricsPort !== null) await checkPortIsFree(metricsHost, metricsPort);
    if (answers) await checkPortIsFree(host, port);
  };
  const store = await openStore(settings, "own", settings.databaseConnections, log, onFatal, tryPorts);
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    // All at once: each may need its time to finish what is in flight.
    await Promise.allSettled(stops.splice(0).map((each) => each()));
    await store.close();
  };
  try {
    const { db, walled, owner, ports, clock, secretKeys } = store;
    const metrics = createMetrics(db, ports);
    const shown = answers ? await loadTlsIdentity(settings, ports.realNow()) : null;
    const figures = addStoreMetrics(store, settings, shown?.tls ?? null);
    metrics.watchService(figures);
    const ready = () => checkReadiness(db);
    if (metricsPort !== null) stops.push(await startMetricsServer(metrics, figures, ready, metricsHost, metricsPort));
    stops.push(startProcessHeartbeat(metrics, store, options).stop);

    async function keepLog() {
      const now = ports.now();
      const keepFrom = new Date(now.getTime() - settings.deliveryLogDays * DAY_MS);
      const { made, dropped } = await maintainDeliveryLogPartitions(owner, now, keepFrom);
      if (made.length + dropped.length > 0) log.info({ made, dropped }, "delivery_log.kept");
    }

    // A newer version may bring its schema while this one runs; then this one takes no more work.
    const version = startLoop("version", log, async () => {
      await assertSchemaIsNewest(owner).catch((error: Error) => {
        if (!(error instanceof UnknownMigration)) throw error;
        onFatal(error);
      });
      return SCHEMA_CHECK_MS;
    });
    stops.push(version.stop);

    const prior = readPretrainedModel(log);
    const models = createModelCache({ db, ports, log, prior });
    let decide: Loop | null = null;
    const network = {
      allow: parseAllowList(settings.webhookAllow),
      extraCa: settings.webhookCa,
      clientCertificate: settings.webhookClientCertificate,
    };
    const sender = createSender({ ...network, monotonicMs: ports.monotonicMs });
    const deliverer = !roles.has("deliver")
      ? null
      : createDeliverer({
          db,
          ports,
          log,
          secretKeys,
          owner: ports.newId(),
          send: sender.send,
          onEnded: () => onCases(),
          metrics,
        });
    const logPauseMs = Math.max(
      CASE_POLL_MS,
      Math.min(PARTITION_CHECK_MS, (PARTITION_CHECK_DAYS * DAY_MS) / ports.clockRate),
    );
    if (deliverer) {
      await keepLog();
      stops.push(startLoop("delivery_log", log, async () => keepLog().then(() => logPauseMs)).stop);
      deliverer.start();
      metrics.watchDeliverer(() => ({ ...deliverer.figures(), connections: sender.connections() }));
      stops.push(() => deliverer.stop().finally(sender.close));
    }

    const hints = startNotifications({
      db,
      log,
      heard: {
        ...(deliverer && { events: deliverer.wake, withdrawn: deliverer.dropWithdrawn }),
        ...(roles.has("decide") && { cases: () => decide?.wake(), learned: models.hint }),
      },
    });
    stops.push(hints.stop);
    const onEvents = (merchantId: string) => {
      deliverer?.wake(merchantId);
      if (!deliverer?.sendsFor(merchantId)) hints.events(merchantId);
    };
    const onWithdrawn: OnWithdrawn = (merchantId, eventIds) => {
      deliverer?.dropWithdrawn(merchantId, eventIds);
      if (!deliverer?.sendsFor(merchantId)) hints.withdrawn(merchantId, eventIds);
    };
    const onCases = () => (decide === null ? hints.cases() : decide.wake());
    if (roles.has("decide")) {
      const keptFrom = () => new Date(ports.now().getTime() - settings.decisionDays * DAY_MS);
      const keep = () => maintainDecisionPartitions(owner, ports.now(), keptFrom()).then(() => logPauseMs);
      stops.push(startLoop("decisions", log, keep).stop);
      const retention = startRetention({ db, owner, ports, keep: settings.keepDays }, log, logPauseMs);
      if (retention) stops.push(retention.stop);
      decide = startLoop("decide", log, async () => {
        const { stepped, nextDueAt } = await processDueCases({
          db,
          ports,
          log,
          onEvents,
          onWithdrawn,
          models,
          merchantsAtOnce: CONCURRENT_MERCHANT_COUNT,
        });
        metrics.onSteps(stepped);
        if (stepped > 0) return 0;
        const dueMs = nextDueAt ? (nextDueAt.getTime() - ports.now().getTime()) / ports.clockRate : CASE_POLL_MS;
        // What is due and was not taken is in somebody else's hands right now.
        return dueMs <= 0 ? BUSY_POLL_MS : Math.min(CASE_POLL_MS, dueMs);
      });
      stops.push(decide.stop);
      stops.push(
        startLoop("count", log, async () => {
          const { nextAnalysisAt } = await countMatureInvoices({ db, ports, log });
          const dueMs = nextAnalysisAt
            ? (nextAnalysisAt.getTime() - ports.now().getTime()) / ports.clockRate
            : EXPERIMENT_POLL_MS;
          return Math.max(CASE_POLL_MS, Math.min(EXPERIMENT_POLL_MS, dueMs));
        }).stop,
      );
    }

    if (decide || deliverer) {
      const onSetBack = () => {
        deliverer?.wake();
        decide?.wake();
        hints.cases();
      };
      stops.push(startClockSync({ db, clock, ports, log, onSetBack }).stop);
    }

    if (roles.has("learn") && prior) {
      const learner = createLearner({ db, ports, log, prior, owner: ports.newId() });
      const learn = startLoop("learn", log, async () => {
        if ((await learner.learnDue()) === 0) return LEARNING_POLL_MS;
        models.hint();
        hints.learned();
        return 0;
      });
      stops.push(() => learn.stop().then(learner.release));
    }

    const jobs =
      roles.has("console") && startJobLoops({ everyone: db, walled, ports, log, prior, onReplayed: onEvents });
    if (jobs) stops.push(jobs.stop);

    if (shown) {
      const { tls, caFile } = shown;
      const dbOf = ({ id }: { id: string }) => walled.of(id);
      const api = await createApi({
        allTenantsDb: db,
        tenantDb: walled,
        owner,
        ports,
        clockSkewMs: settings.clockSkewMs,
        log,
        ingest: {
          subscriptions: createGroupCommit((merchant, batch) =>
            ingestSubscriptions(dbOf(merchant), merchant, batch, ports, onWithdrawn),
          ),
          invoices: createGroupCommit((merchant, batch) =>
            ingestInvoices(dbOf(merchant), merchant, batch, ports, onWithdrawn),
          ),
          transactions: createGroupCommit((merchant, batch) =>
            ingestTransactions(dbOf(merchant), merchant, batch, ports, onWithdrawn),
          ),
        },
        onIngested: onCases,
        tls,
        connectionsPerAddress: settings.connectionsPerAddress,
        trustedProxies: settings.trustedProxies,
        baseUrl: settings.baseUrl,
        tokenKeys: pageTokenKeys(settings.pageTokenKeys, secretKeys),
        egressRanges: settings.egressRanges,
        ready,
        metrics,
        servesOperations: roles.has("api"),
        pages: !jobs
          ? null
          : createConsolePages({
              everyone: db,
              walled,
              ports,
              secretKeys,
              passwords: createPasswords(ports.randomBytes),
              oidc: settings.oidc && createOidc(settings.oidc, new URL(settings.authUrl).origin, ports.monotonicMs),
              mailer: settings.mail && createMailer(settings.mail),
              authUrl: settings.authUrl,
              baseUrl: settings.baseUrl,
              clockSkewMs: settings.clockSkewMs,
              caPath: caFile,
              behindProxy: settings.tls === "proxy",
              trustedProxies: settings.trustedProxies,
              egressRanges: settings.egressRanges,
              allow: network.allow,
              sendTestEvent: createTestEventSender(network, secretKeys, ports),
              onEvents,
              onWithdrawn,
              onJob: jobs.wake,
            }),
      });
      // Before it listens: it has timers from the beginning, and the port may be taken.
      stops.push(() => api.close());
      await api.listen({ host, port });
    }
    return { store, caPath: shown?.caFile ?? null, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
