import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { startHttpsServer } from "../../sdk/test/https-server.ts";
import { INVOICE, testApi, testClock, testKey } from "../../src/api/api.fixture.ts";
import { makeDeliverer, makeEvents, makeMerchant, SECRET_KEYS } from "../../src/delivery/deliverer.fixture.ts";
import { parseAllowList } from "../../src/delivery/https/address-guard.ts";
import { createSender, type Send } from "../../src/delivery/https/https-sender.ts";
import { parseTrustedProxies } from "../../src/http/client-address.ts";
import { createRequestLog, malformedLogEntryOf } from "../../src/http/request-log.ts";
import { changeMerchant } from "../../src/merchants/merchant-settings.ts";
import { createMetrics, startMetricsServer } from "../../src/metrics/metrics.ts";
import { createServiceFigures } from "../../src/metrics/service-figures.ts";
import { type Database, prepared } from "../../src/postgres/database.ts";
import { checkReadiness } from "../../src/postgres/readiness.ts";
import { createRealPorts } from "../../src/process/clock.ts";
import { type Heartbeat, startHeartbeat } from "../../src/process/heartbeat.ts";
import { createLoggedProblems } from "../../src/process/logged-problems.ts";
import { createWallClock } from "../../src/process/wall-clock.ts";
import { DAY, MINUTE, openStage } from "../../src/recovery/stage.fixture.ts";
import { writeHeartbeat } from "../../src/tables/processes.ts";
import { findFreePort } from "../free-port.ts";
import { createSelfSignedCertificate } from "../self-signed-certificate.ts";
import type { Scrape } from "./scrapes.ts";

const POOL_SHARE = 10;
const INSTANCE = "dunlin-1:9464";

const CLEAR_DUE_CASES = prepared("test_no_due_cases", "delete from due_cases where merchant_id = $1");
const CLEAR_REEVALUATION_QUEUE = prepared("test_no_pokes", "delete from case_pokes where merchant_id = $1");

/**
 * Assembles the service as start.ts does, but with clocks, a disk and certificates that the test controls. Its metrics are read
 * over HTTP.
 */
export async function startMonitoredService() {
  const stage = await openStage();
  const { id: merchantId } = await stage.enter();
  const { db, ports } = stage;
  const metrics = createMetrics(db, ports);
  const machine = { wallMs: 0, monotonicMs: 0, freeBytes: 50e9 };
  const wallClock = createWallClock(
    () => machine.wallMs,
    () => machine.monotonicMs,
  );
  const certificate = async (days: number) =>
    (await createSelfSignedCertificate(undefined, new Date(stage.now().getTime() + days * DAY))).cert;
  const certificates = { api: await certificate(900) };
  const figures = createServiceFigures({
    db,
    owner: db,
    ports,
    pools: { worker: () => db.figures!() },
    certificates,
    freeBytes: () => machine.freeBytes,
    clock: () => wallClock.figures(),
  });
  metrics.watchService(figures);
  const presence = createPresence(db, ports.newId);
  await presence.begin();
  metrics.watchPresence(presence.figures, presence.troubles);

  let status = 200;
  let isOutOfFiles = false;
  const endpoint = await startHttpsServer((_, response) => void response.writeHead(status).end());
  const { origin, port: endpointPort } = new URL(endpoint.url);
  const sender = createSender({
    allow: parseAllowList(`127.0.0.1/32:${endpointPort},::1/128:${endpointPort}`),
    extraCa: endpoint.ca,
    monotonicMs: () => performance.now(),
  });
  // Other merchants' endpoints accept every event.
  const send: Send = async (outgoing) => {
    if (isOutOfFiles) return { outcome: "failed", error: "EMFILE", isLocalFailure: true };
    if (outgoing.origin !== origin) return { outcome: "response", status: 200, retryAfter: null, text: null };
    return sender.send(outgoing);
  };
  const deliverer = makeDeliverer({ db, ports, send, metrics });
  metrics.watchDeliverer(() => ({ ...deliverer.figures(), connections: sender.connections() }));
  const shop = await makeMerchant(db, { webhookUrl: endpoint.url });

  const apiClock = testClock();
  let ingestMs = 5;
  let isBroken = false;
  const ingest = async () => {
    apiClock.monotonicMs += ingestMs;
    if (isBroken) throw new Error("the database is gone");
    return { stored: 1, older: 0 };
  };
  const api = await testApi(db, apiClock, {
    metrics,
    ingest: { subscriptions: ingest, invoices: ingest, transactions: ingest },
    // No trusted proxy is on this machine, so its connections are counted.
    trustedProxies: parseTrustedProxies("10.0.0.1"),
    connectionsPerAddress: POOL_SHARE,
  });
  const { apiKey } = await testKey(db, api.ports, shop);
  const { port: apiPort } = await api.listen({ host: "127.0.0.1", port: 0 });

  const metricsPort = await findFreePort();
  const closeMetrics = await startMetricsServer(metrics, figures, () => checkReadiness(db), "127.0.0.1", metricsPort);
  const scrapes: Scrape[] = [];

  return {
    stage,
    db,
    merchantId,
    scrapes,
    machine,
    wallClock,
    deliverer,
    presence,
    closeMetrics,
    async scrape(afterMs = MINUTE) {
      stage.wait(afterMs);
      const text = await fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
        (reply) => reply.text(),
        () => null,
      );
      scrapes.push({ instance: INSTANCE, atMs: stage.now().getTime(), text });
    },
    async push({ ms = 5, broken = false } = {}) {
      [ingestMs, isBroken] = [ms, broken];
      const reply = await api.http.inject({
        method: "POST",
        url: "/ingest/v1/invoices",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        payload: { invoices: [INVOICE] },
      });
      return reply.statusCode;
    },
    /** Sets the status with which the endpoint answers from now on. */
    answer(with_: number) {
      status = with_;
    },
    /** Resumes deliveries to the endpoint, as a person does. */
    resume: () => changeMerchant(db, shop.id, { webhookPaused: false }, SECRET_KEYS, ports),
    outOfFiles(isOut: boolean) {
      isOutOfFiles = isOut;
    },
    /** Makes an event of a case without facts, whose evaluation fails. */
    event: () => makeEvents(db, shop, 1, stage.now()),
    /** Removes cases without facts from the queues. */
    async settle() {
      for (const statement of [CLEAR_DUE_CASES, CLEAR_REEVALUATION_QUEUE]) await db.run(statement, [shop.id]);
    },
    async certify(days: number) {
      certificates.api = await certificate(days);
    },
    /** Opens one connection more than an address may have. */
    async crowd() {
      const sockets = await Promise.all(
        Array.from({ length: POOL_SHARE + 1 }, async () => {
          const socket: Socket = connect(apiPort, "127.0.0.1").on("error", () => {});
          await once(socket, "connect");
          return socket.resume();
        }),
      );
      await Promise.race(sockets.map((socket) => once(socket, "close")));
      for (const socket of sockets) socket.destroy();
    },
    /** Sends requests while the database accepts no row of the log, until the buffer is full. */
    async flood() {
      const away = { ...db, run: () => Promise.reject(Object.assign(new Error(), { code: "ECONNREFUSED" })) };
      const log = createRequestLog(
        away as Database,
        away as Database,
        ports,
        pino({ level: "silent" }),
        (count) => metrics.requestsUnlogged(count),
        () => metrics.unauthenticatedRequest(),
      );
      for (let n = 0; n < 50_001; n++) log.add({ ...malformedLogEntryOf("req_0", 400, "", ports.now()), merchantId });
      await log.flush();
    },
    async close() {
      await presence.stop();
      await deliverer.stop(0);
      sender.close();
      await endpoint.close();
      await closeMetrics().catch(() => {});
      await api.close();
      await stage.drop();
    },
  };
}

/** Creates the presence of a process whose database connection the test controls. */
function createPresence(db: Database, newId: () => string) {
  let presence: Heartbeat | null = null;
  let aheadMs = 0;
  let delayMs = 0;
  const real = createRealPorts({ realAt: new Date(0), serviceAt: new Date(0), rate: 1 });
  const ports = { ...real, newId, monotonicMs: () => performance.now() + aheadMs };
  const troubles = createLoggedProblems(ports.realNow);
  const way: Database = {
    ...db,
    run: (statement, values) => sleep(delayMs).then(() => db.run(statement, values)),
  };
  return {
    troubles,
    figures: () => presence!.figures(),
    /** Starts a new process, which has announced itself. */
    async begin(slowMs = 0) {
      await presence?.stop();
      delayMs = slowMs;
      const log = pino({ level: "silent" });
      presence = startHeartbeat({
        db: way,
        ports,
        log,
        version: "1.0.0",
        roles: ["api"],
        loggedProblems: troubles,
        pid: 1,
        tryFile() {},
      });
      while (presence.figures().processes.length === 0) await sleep(5);
    },
    stop: () => presence?.stop(),
    /** Simulates that the database has not answered for so long. */
    hearNothing(ms: number) {
      aheadMs += ms;
    },
    /** Simulates that another process was killed half a minute ago. */
    async loseAnother() {
      const at = new Date(ports.realNow().getTime() - 30_000);
      const of = { host: "worker-2", pid: 2, version: "1.0.0", roles: ["decide"], troubles: [] };
      await writeHeartbeat(db, { id: newId(), ...of, startedAt: at, seenAt: at });
      await this.begin();
    },
  };
}
