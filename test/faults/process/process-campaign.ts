import { chmodSync, readFileSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureLocalCertificate } from "../../../src/http/local-certificate.ts";
import { openDatabase } from "../../../src/postgres/database.ts";
import { verifyRestart, waitUntilDrained } from "./campaign-end.ts";
import { openPostgresProcesses, type PostgresProcesses } from "./postgres-processes.ts";
import { createFaultTriggers, injectFaults } from "./process-faults.ts";
import { createRecordPusher, type RecordPusher } from "./record-pusher.ts";
import { createSentRecords } from "./sent-records.ts";
import {
  createEnvironment,
  createServiceProcess,
  findFreePort,
  runDunlin,
  type ServiceProcess,
} from "./service-process.ts";
import { readAnchor } from "./stored-rows.ts";
import { startReceiver } from "./torture-receiver.ts";
import { formatSummary } from "./torture-summary.ts";
import { verifyDeliveries } from "./verify-deliveries.ts";
import { type Problem, verifyRecords } from "./verify-records.ts";
import { verifyStops } from "./verify-stops.ts";

export interface TortureOptions {
  seed: number;
  /** Kills of the service, and as many of PostgreSQL. */
  kills: number;
  /** Duration of the load, in real time. */
  seconds: number;
  /** The speed of service time. */
  rate: number;
  print(line: string): void;
}

export interface TortureResult {
  problems: Problem[];
  /** The table and the problems. */
  lines: string[];
}

const TOKEN = "torture-token";

/** Runs the campaign in a temporary folder. Removes it and ends all processes afterwards. */
export async function runProcessCampaign(options: TortureOptions): Promise<TortureResult> {
  const root = await mkdtemp(join(tmpdir(), "dunlin-torture-"));
  // PostgreSQL runs as another user if this process runs as root.
  chmodSync(root, 0o755);
  const dataDir = join(root, "data");
  const postgres = openPostgresProcesses(dataDir);
  const ends: (() => void)[] = [];
  const clean = () => {
    for (const end of ends) end();
    postgres.aim(true).fire();
    rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  const interrupted = () => process.exit(130);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, interrupted);
  process.once("exit", clean);
  const problems: Problem[] = [];
  try {
    const lines = await runStage(options, { root, dataDir, postgres, ends, problems });
    return { problems, lines };
  } catch (error) {
    problems.push({ invariant: "the run", says: (error as Error).stack! });
    const lines = problems.map(({ invariant, says }) => `${invariant}: ${says}`);
    return { problems, lines: [...lines, "", `Broken with --seed ${options.seed}.`] };
  } finally {
    clean();
    process.removeListener("exit", clean);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.removeListener(signal, interrupted);
  }
}

interface CampaignStage {
  root: string;
  dataDir: string;
  postgres: PostgresProcesses;
  /** Cleanups at the end of the run, however it ends. */
  ends: (() => void)[];
  problems: Problem[];
}

async function runStage(
  options: TortureOptions,
  { root, dataDir, postgres, ends, problems }: CampaignStage,
): Promise<string[]> {
  const { seed, rate, print } = options;
  print(`seed ${seed}, service time ${rate} times as fast`);
  const broken = (invariant: string, says: string) => {
    problems.push({ invariant, says });
    print(`          BROKEN ${invariant}: ${says}`);
  };
  const moments = createFaultTriggers();
  const tls = await ensureLocalCertificate(join(root, "endpoint"), "127.0.0.1", new Date());
  const port = await findFreePort();
  let pushing: RecordPusher | undefined;
  let service: ServiceProcess | undefined;
  const receiver = await startReceiver({
    seed,
    tls,
    token: TOKEN,
    life: () => service!.life(),
    onEvent: (event) => pushing!.onEvent(event),
    onArrival: () => moments.happened("on a webhook"),
    onAnswered: () => moments.happened("on a webhook's 200"),
  });
  ends.push(receiver.close);
  const baseUrl = `https://127.0.0.1:${port}`;
  const env = createEnvironment({
    DUNLIN_DATA: dataDir,
    DUNLIN_HOST: "127.0.0.1",
    DUNLIN_PORT: String(port),
    DUNLIN_BASE_URL: baseUrl,
    DUNLIN_CLOCK_RATE: String(rate),
    DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${receiver.port}`,
    DUNLIN_WEBHOOK_CA: tls.caFile,
  });
  service = createServiceProcess(env, (how) => {
    broken("I12", how);
    moments.happened("on an acknowledgement");
  });
  ends.push(service.abandon);
  await service.start();
  const { merchantId, apiKey } = await createMerchant(env, receiver.port);
  const db = openDatabase(postgres.address(), 1, () => {});
  ends.push(() => void db.close().catch(() => {}));
  const anchor = await readAnchor(db);
  const now = () => new Date(anchor.serviceAt + (Date.now() - anchor.realAt) * rate);
  const books = createSentRecords(seed, now);
  const ca = readFileSync(join(dataDir, "tls", "ca.pem"), "utf8");
  const onAcknowledged = () => moments.happened("on an acknowledgement");
  const onLargeBatch = () => moments.happened("in a large batch");
  pushing = createRecordPusher({ seed, baseUrl, apiKey, ca, books, onAcknowledged, onLargeBatch });
  ends.push(pushing.stop);

  const until = Date.now() + options.seconds * 1_000;
  pushing.start();
  const fall = { seed, kills: options.kills, until, service, postgres, moments, print };
  const made = await injectFaults({ ...fall, onBroken: (says) => broken("I12", says) });
  await sleep(Math.max(0, until - Date.now()));

  receiver.calm();
  const place = { dataDir, postgres, service, broken, print };
  await waitUntilDrained({ pushing, db, merchantId, now, rate }, place);
  await db.close();
  const rows = await verifyRestart(place, merchantId);
  const { journal, bodies, changed } = receiver;
  const records = verifyRecords(books, pushing.batches, rows);
  const deliveries = verifyDeliveries(rows, { journal, bodies, changed, lives: service.lives });
  const stops = verifyStops(books, rows, journal, made.stops);
  problems.push(...records.problems, ...deliveries.problems, ...stops.problems);
  for (const says of pushing.wrong) problems.push({ invariant: "I11", says });
  const counts = { ...records.counts, ...deliveries.counts, ...stops.counts };
  const { answers } = pushing;
  return formatSummary({ seed, counts, answers, faults: made.faults, service, problems });
}

/** Creates a merchant as an operator does, beside the running service. */
async function createMerchant(env: Record<string, string>, port: number) {
  const endpoint = ["--webhook-url", `https://127.0.0.1:${port}/dunlin`, "--bearer", TOKEN, "--cap", "40"];
  const limits = ["--rate-per-second", "2000", "--rate-burst", "2000", "--window-days", "7"];
  const text = await runDunlin(env, ["merchant", "create", "--name", "Torture", ...endpoint, ...limits, "--json"]);
  return JSON.parse(text) as { merchantId: string; apiKey: string };
}
