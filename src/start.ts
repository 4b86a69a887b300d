import { setFlagsFromString } from "node:v8";
import type { Logger as Log } from "pino";
import { tokenKeys } from "./api/list/page-token.ts";
import { tryPort } from "./api/listener.ts";
import { createApi } from "./api/server.ts";
import { createMailer } from "./auth/mail.ts";
import { createOidc } from "./auth/oidc.ts";
import { createPasswords } from "./auth/password.ts";
import { watchClock } from "./clock-watch.ts";
import type { Settings } from "./config.ts";
import { consolePages } from "./console/console-pages.ts";
import { createDeliverer } from "./delivery/deliverer.ts";
import { parseAllow } from "./delivery/https/address-guard.ts";
import { createSender } from "./delivery/https/send.ts";
import { createTestEvents } from "./delivery/test-event.ts";
import { DAY_MS, HOUR_MS } from "./domain/durations.ts";
import { startHints } from "./hints.ts";
import { identity } from "./identity.ts";
import { startJobs } from "./jobs.ts";
import { type Loop, startLoop } from "./loop.ts";
import { createMetrics, startMetricsServer } from "./metrics.ts";
import { openStore, type Store } from "./open.ts";
import { readPrior } from "./prior-file.ts";
import { countDue } from "./recovery/count-due.ts";
import { decideDue } from "./recovery/decide-due.ts";
import { ingestSubscriptions, ingestTransactions } from "./recovery/ingest.ts";
import { ingestInvoices } from "./recovery/ingest-invoices.ts";
import { joinFlushes } from "./recovery/join-flushes.ts";
import { createLearner } from "./recovery/learn-due.ts";
import { createModels } from "./recovery/models.ts";
import type { OnWithdrawn } from "./recovery/stored.ts";
import { startRetention } from "./retention.ts";
import { keepDecisions } from "./store/decisions.ts";
import { keepDeliveryLog } from "./store/delivery-log.ts";
import { mustBeNewest, UnknownMigration } from "./store/migrate.ts";
import { readiness } from "./store/readiness.ts";
import type { Troubles } from "./troubles.ts";
import { announce, watchStore } from "./watch-store.ts";

/**
 * How much the heap may grow, in percent, before all of it is looked through again. Left to choose, V8 lets it grow by some 8 MB once it has rested for
 * some seconds, and never by more again: under load it looks through it three times a second then, which is two fifths of the service's CPU.
 */
const HEAP_GROWTH = 100;

export const ROLES = ["api", "decide", "deliver", "learn", "console"] as const;
/** The roles of a process: serve the inbound API, decide due cases, deliver webhooks, learn from outcomes, serve pages for people. */
export type Role = (typeof ROLES)[number];

export interface Running {
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
  troubles?: Troubles | undefined;
  /** The service cannot go on. */
  onFatal(error: Error): void;
}

/** Of which cases are decided at once: while one waits for the database another one is computed. */
const MERCHANTS_AT_ONCE = 4;
/** Cases that another process changed are found within this long. */
const LOOK_MS = 1_000;
const BUSY_MS = 50;
/** An experiment that another process started gets its first look within this long. */
const COUNT_LOOK_MS = 60_000;
/** A newer version's schema is noticed within this long. */
const VERSION_LOOK_MS = 5_000;
/** Nobody waits for what is learned. */
const LEARN_MS = 2_000;
/** The log has a partition for the month after the present one, so there is time; with a fast clock less. */
const LOG_LOOK_MS = HOUR_MS;
const LOG_LOOK_DAYS = 5;

/** Start the service: the database, and the roles that are asked for. */
export async function start(options: StartOptions): Promise<Running> {
  const { settings, roles, log, onFatal } = options;
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH}`);
  const { host, port, metricsHost, metricsPort } = settings;
  const answers = roles.has("api") || roles.has("console");
  // A new version whose port an older one still has must not migrate the database of that one.
  const tryPorts = async () => {
    if (metricsPort !== null) await tryPort(metricsHost, metricsPort);
    if (answers) await tryPort(host, port);
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
    const shown = answers ? await identity(settings, ports.realNow()) : null;
    const figures = watchStore(store, settings, shown?.tls ?? null);
    metrics.watchService(figures);
    const ready = () => readiness(db);
    if (metricsPort !== null) stops.push(await startMetricsServer(metrics, figures, ready, metricsHost, metricsPort));
    stops.push(announce(metrics, store, options).stop);

    async function keepLog() {
      const now = ports.now();
      const keepFrom = new Date(now.getTime() - settings.deliveryLogDays * DAY_MS);
      const { made, dropped } = await keepDeliveryLog(owner, now, keepFrom);
      if (made.length + dropped.length > 0) log.info({ made, dropped }, "delivery_log.kept");
    }

    // A newer version may bring its schema while this one runs; then this one takes no more work.
    const version = startLoop("version", log, async () => {
      await mustBeNewest(owner).catch((error: Error) => {
        if (!(error instanceof UnknownMigration)) throw error;
        onFatal(error);
      });
      return VERSION_LOOK_MS;
    });
    stops.push(version.stop);

    const prior = readPrior(log);
    const models = createModels({ db, ports, log, prior });
    let decide: Loop | null = null;
    const network = {
      allow: parseAllow(settings.webhookAllow),
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
    const logPauseMs = Math.max(LOOK_MS, Math.min(LOG_LOOK_MS, (LOG_LOOK_DAYS * DAY_MS) / ports.clockRate));
    if (deliverer) {
      await keepLog();
      stops.push(startLoop("delivery_log", log, async () => keepLog().then(() => logPauseMs)).stop);
      deliverer.start();
      metrics.watchDeliverer(() => ({ ...deliverer.figures(), connections: sender.connections() }));
      stops.push(() => deliverer.stop().finally(sender.close));
    }

    const hints = startHints({
      db,
      log,
      heard: {
        ...(deliverer && { events: deliverer.wake, withdrawn: deliverer.withdrawn }),
        ...(roles.has("decide") && { cases: () => decide?.wake(), learned: models.hint }),
      },
    });
    stops.push(hints.stop);
    const onEvents = (merchantId: string) => {
      deliverer?.wake(merchantId);
      if (!deliverer?.sendsFor(merchantId)) hints.events(merchantId);
    };
    const onWithdrawn: OnWithdrawn = (merchantId, eventIds) => {
      deliverer?.withdrawn(merchantId, eventIds);
      if (!deliverer?.sendsFor(merchantId)) hints.withdrawn(merchantId, eventIds);
    };
    const onCases = () => (decide === null ? hints.cases() : decide.wake());
    if (roles.has("decide")) {
      const keptFrom = () => new Date(ports.now().getTime() - settings.decisionDays * DAY_MS);
      const keep = () => keepDecisions(owner, ports.now(), keptFrom()).then(() => logPauseMs);
      stops.push(startLoop("decisions", log, keep).stop);
      const retention = startRetention({ db, owner, ports, keep: settings.keepDays }, log, logPauseMs);
      if (retention) stops.push(retention.stop);
      decide = startLoop("decide", log, async () => {
        const { stepped, nextDueAt } = await decideDue({
          db,
          ports,
          log,
          onEvents,
          onWithdrawn,
          models,
          merchantsAtOnce: MERCHANTS_AT_ONCE,
        });
        metrics.onSteps(stepped);
        if (stepped > 0) return 0;
        const dueMs = nextDueAt ? (nextDueAt.getTime() - ports.now().getTime()) / ports.clockRate : LOOK_MS;
        // What is due and was not taken is in somebody else's hands right now.
        return dueMs <= 0 ? BUSY_MS : Math.min(LOOK_MS, dueMs);
      });
      stops.push(decide.stop);
      stops.push(
        startLoop("count", log, async () => {
          const { nextLookAt } = await countDue({ db, ports, log });
          const dueMs = nextLookAt ? (nextLookAt.getTime() - ports.now().getTime()) / ports.clockRate : COUNT_LOOK_MS;
          return Math.max(LOOK_MS, Math.min(COUNT_LOOK_MS, dueMs));
        }).stop,
      );
    }

    if (decide || deliverer) {
      const onSetBack = () => {
        deliverer?.wake();
        decide?.wake();
        hints.cases();
      };
      stops.push(watchClock({ db, clock, ports, log, onSetBack }).stop);
    }

    if (roles.has("learn") && prior) {
      const learner = createLearner({ db, ports, log, prior, owner: ports.newId() });
      const learn = startLoop("learn", log, async () => {
        if ((await learner.learnDue()) === 0) return LEARN_MS;
        models.hint();
        hints.learned();
        return 0;
      });
      stops.push(() => learn.stop().then(learner.release));
    }

    const jobs = roles.has("console") && startJobs({ everyone: db, walled, ports, log, prior, onReplayed: onEvents });
    if (jobs) stops.push(jobs.stop);

    if (shown) {
      const { tls, caFile } = shown;
      const dbOf = ({ id }: { id: string }) => walled.of(id);
      const api = await createApi({
        everyone: db,
        walled,
        owner,
        ports,
        clockSkewMs: settings.clockSkewMs,
        log,
        ingest: {
          subscriptions: joinFlushes((merchant, batch) =>
            ingestSubscriptions(dbOf(merchant), merchant, batch, ports, onWithdrawn),
          ),
          invoices: joinFlushes((merchant, batch) =>
            ingestInvoices(dbOf(merchant), merchant, batch, ports, onWithdrawn),
          ),
          transactions: joinFlushes((merchant, batch) =>
            ingestTransactions(dbOf(merchant), merchant, batch, ports, onWithdrawn),
          ),
        },
        onIngested: onCases,
        tls,
        connectionsPerAddress: settings.connectionsPerAddress,
        trustedProxies: settings.trustedProxies,
        baseUrl: settings.baseUrl,
        tokenKeys: tokenKeys(settings.pageTokenKeys, secretKeys),
        egressRanges: settings.egressRanges,
        ready,
        metrics,
        operations: roles.has("api"),
        pages: !jobs
          ? null
          : consolePages({
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
              sendTestEvent: createTestEvents(network, secretKeys, ports),
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
