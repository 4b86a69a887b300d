import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { keyedRandom } from "../../../simulator/world/keyed-random.ts";
import { ensureLocalCertificate } from "../../../src/http/local-certificate.ts";
import { migrate } from "../../../src/postgres/migrate.ts";
import { anchorClock, createRealPorts } from "../../../src/process/clock.ts";
import { openDatabaseTunnel } from "../../database-tunnel.ts";
import { type CampaignOptions, type CampaignResult, type CampaignStage, runCampaign } from "../harness/campaign.ts";
import { openPostgresProcesses } from "../harness/postgres-processes.ts";
import { type Interval, stopInTime } from "../harness/service-fleet.ts";
import { EVIDENCE_PLACES, type SeenEvidence, startCollecting } from "./fault-evidence.ts";
import { type Fault, prepareFault, type Tools } from "./operation-faults.ts";
import { startPostgresServer } from "./postgres-server.ts";
import { startWorker, type Worker, waitUntilReady } from "./service-worker.ts";
import { openMerchantEndpoint, startMerchants } from "./simulated-merchants.ts";
import { verifyCampaign } from "./verify-campaign.ts";

export interface OperationsCampaignOptions extends CampaignOptions {
  faults: readonly Fault[];
}

const ROOT = join(import.meta.dirname, "../../..");
const COPIED_PATHS = [
  "bin",
  "docs",
  "migrations",
  "sdk",
  "simulator",
  "connectors",
  "lab",
  "src",
  "openapi.json",
  "package.json",
];
const WORKERS = 3;
const MERCHANTS = 6;
const PUSH_INTERVAL_MS = 1_500;
/** Speed of service time, so that retries fall due within minutes. */
const RATE = 600;
const READY_MS = 60_000;
/** Work must continue within this long after a fault is over. */
const PROGRESS_MS = 10_000;
const CLIENT_WAITS_MS = 40_000;

/** Exposes three machines and their PostgreSQL to one fault after the other. */
export const runOperationsCampaign = (options: OperationsCampaignOptions): Promise<CampaignResult> =>
  runCampaign(options, (stage) => runFaults(options, stage));

async function runFaults(
  { seed, faults, print }: OperationsCampaignOptions,
  { root, ends, broken }: CampaignStage,
): Promise<string[]> {
  ends.push(() => openPostgresProcesses(root).aim(true).fire());
  const server = await startPostgresServer(root);
  ends.push(server.close);
  await migrate(server.address, pino({ level: "silent" }));
  const { db } = server;
  const anchor = await anchorClock(db, RATE, new Date());
  const ports = createRealPorts(anchor);
  const dataDir = join(root, "service");
  mkdirSync(dataDir);
  const secretKey = randomBytes(32);
  const tls = await ensureLocalCertificate(join(root, "endpoint"), "127.0.0.1", new Date());
  const endpoint = await openMerchantEndpoint(seed, tls);
  ends.push(endpoint.receiver.close);
  const settings = {
    DUNLIN_SECRET_KEY: secretKey.toString("base64"),
    DUNLIN_CLOCK_RATE: String(RATE),
    DUNLIN_CLOCK_RATE_CONFIRM: "yes",
    DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.receiver.port}`,
    DUNLIN_WEBHOOK_CA: tls.caFile,
  };
  const versions = createVersions(root);
  const workers: Worker[] = [];
  for (let number = 0; number < WORKERS; number++) {
    const tunnel = await openDatabaseTunnel(server.address);
    const worker = await startWorker({ number, tunnel, dataDir, settings, program: versions.newest, broken });
    ends.push(() => tunnel.close(), worker.abandon);
    workers.push(worker);
    // The first one creates the certificate that all of them present.
    if (!(await waitUntilReady(workers, READY_MS)))
      throw new Error(`process ${number} was not ready: ${worker.lines.at(-1)?.text}`);
  }
  const ca = readFileSync(join(dataDir, "tls", "ca.pem"), "utf8");
  const baseUrls = workers.map(({ baseUrl }) => baseUrl);
  const pushing = { endpoint, count: MERCHANTS, everyMs: PUSH_INTERVAL_MS, baseUrls, ca };
  const merchants = await startMerchants({ ...pushing, db, ports, secretKeys: [secretKey], broken });
  const begun = Date.now();
  await waitForProgress(() => merchants.goesOn(begun));

  const tools: Tools = { server, workers, receiver: endpoint.receiver, newVersion: versions.make };
  const intervals: Interval[] = [];
  const sightings: SeenEvidence[] = [];
  for (const [index, fault] of faults.entries()) {
    if (fault === "disk full" && !server.hasOwnDisk) {
      print(`          LEFT OUT: ${fault}: this user may not mount a disk to fill`);
      continue;
    }
    await sleep(keyedRandom(seed, "pause", index) * 2_000);
    for (const worker of workers) worker.expect("nothing");
    const { says, evidence, victim, make } = prepareFault(fault, (what) => keyedRandom(seed, what, index), tools);
    const operatorAt = workers.find((worker) => worker !== victim)!;
    const looked = await startCollecting(workers, evidence, operatorAt, versions.newest);
    const interval = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    intervals.push(interval);
    await make();
    interval.to = Date.now();
    // A client's backoff grows while it gets no answer.
    const limitMs = 2 * PROGRESS_MS + Math.min(CLIENT_WAITS_MS, interval.to - interval.from);
    const onMs = await waitForProgress(() => merchants.goesOn(interval.to), limitMs);
    if (onMs === null) broken("goes on", `${says}: not every merchant was served ${limitMs} ms after it was over`);
    const seen = await looked();
    sightings.push(seen);
    for (const place of EVIDENCE_PLACES)
      if (seen[place] === null) broken("is seen", `${says}: not in ${place} within a minute. The doctor: ${seen.told}`);
    const at = ((interval.from - begun) / 1_000).toFixed(0).padStart(6);
    const s = ((interval.to - interval.from) / 1_000).toFixed(1);
    const words = EVIDENCE_PLACES.map((place) => `${place} ${((seen[place] ?? Number.NaN) / 1_000).toFixed(1)}`);
    print(
      `${at} s  ${says}; over after ${s} s, on ${((onMs ?? 0) / 1_000).toFixed(1)} s later; seen after: ${words.join(", ")}`,
    );
  }
  await merchants.stop();
  const counts = await verifyCampaign({ db, ports, anchor, endpoint, merchants, intervals, broken });
  for (const worker of workers) await stopInTime(worker.process(), broken);
  const worst = (place: (typeof EVIDENCE_PLACES)[number]) =>
    Math.max(0, ...sightings.map((seen) => (seen[place] ?? 0) / 1_000)).toFixed(1);
  return [
    "",
    `${faults.length} faults in ${((Date.now() - begun) / 60_000).toFixed(0)} minutes, seed ${seed}`,
    `  ${counts.acknowledged} invoices acknowledged, ${counts.lost} lost`,
    `  ${counts.events} events, ${counts.missing} missing; latest ${counts.latestS.toFixed(1)} s beyond its faults`,
    `  seen at the latest after: log ${worst("log")} s, metric ${worst("metric")} s, doctor ${worst("doctor")} s`,
  ];
}

/** Returns the milliseconds until work continues; null if it does not. */
async function waitForProgress(isOn: () => boolean, limitMs = 2 * PROGRESS_MS): Promise<number | null> {
  const from = Date.now();
  // A merchant pushes at intervals, and its client waits between attempts.
  for (; Date.now() - from < limitMs; await sleep(50)) if (isOn()) return Date.now() - from;
  return null;
}

/** Creates versions of the program: this one, and newer ones with one more migration each. */
function createVersions(root: string) {
  let newest = ROOT;
  let made = 0;
  return {
    newest: () => newest,
    make() {
      const folder = join(root, `version-${++made}`);
      for (const part of COPIED_PATHS) cpSync(join(newest, part), join(folder, part), { recursive: true });
      symlinkSync(realpathSync(join(ROOT, "node_modules")), join(folder, "node_modules"));
      const path = join(folder, "package.json");
      const facts = JSON.parse(readFileSync(path, "utf8")) as { version: string };
      const version = `${facts.version.split("+")[0]}+${made}`;
      writeFileSync(path, JSON.stringify({ ...facts, version }));
      const numbers = readdirSync(join(folder, "migrations")).map((file) => Number.parseInt(file, 10));
      const number = String(Math.max(...numbers) + 1).padStart(4, "0");
      writeFileSync(join(folder, "migrations", `${number}_campaign.sql`), `create table campaign_${made} ();\n`);
      newest = folder;
      return version;
    },
  };
}
