import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureLocalCertificate } from "../../../src/http/local-certificate.ts";
import { openDatabase } from "../../../src/postgres/database.ts";
import { findFreePort } from "../../free-port.ts";
import { type CampaignOptions, type CampaignResult, type CampaignStage, runCampaign } from "../harness/campaign.ts";
import { type Reply, startReceiver } from "../harness/receiver.ts";
import {
  createEnvironment,
  createMerchantByCommand,
  createServiceFleet,
  SOURCE_PRELOAD,
} from "../harness/service-fleet.ts";
import { readAnchor } from "../harness/stored-rows.ts";
import { formatComplaints } from "../harness/summary.ts";
import { verifyEvents, verifyReceiver } from "../harness/verify-events.ts";
import { openCampaignDatabase } from "./campaign-database.ts";
import { verifyRestart, waitUntilDrained } from "./campaign-end.ts";
import { createFaultTriggers, injectFaults } from "./process-faults.ts";
import { createRecordPusher, type RecordPusher } from "./record-pusher.ts";
import { createSentRecords } from "./sent-records.ts";
import { formatSummary } from "./torture-summary.ts";
import { verifyDecisions } from "./verify-decisions.ts";
import { verifyRecords } from "./verify-records.ts";
import { verifyStops } from "./verify-stops.ts";

export interface ProcessCampaignOptions extends CampaignOptions {
  /** Kills of the service, and as many of PostgreSQL. */
  kills: number;
  /** Duration of the load, in real time. */
  seconds: number;
  /** The speed of service time. */
  rate: number;
}

const TOKEN = "torture-token";
const CONCURRENCY_CAP = 40;
const LIMITS = [
  ...["--rate-per-second", "2000", "--rate-burst", "2000"],
  ...["--window-days", "7", "--cap", String(CONCURRENCY_CAP)],
];
/** Short, so that the sender meets connections that close under it. */
const KEEP_ALIVE_MS = 4_000;
/** Longer than any campaign. */
const NEVER_MS = 2 ** 31 - 1;
const REPLIES: readonly (readonly [Reply, number])[] = [
  [{ answer: "ok" }, 78],
  [{ answer: "ok", afterMs: [0, 1_500] }, 6],
  [{ answer: "cut body" }, 3],
  [{ answer: "refuse" }, 6],
  [{ answer: "busy" }, 2],
  [{ answer: "hang up" }, 4],
  [{ answer: "hang up", afterMs: [NEVER_MS, NEVER_MS] }, 0.5],
];
/** Share of invoices whose system refuses everything. */
const REFUSED_INVOICES = 0.04;

/** Kills one service and its PostgreSQL under load. */
export const runProcessCampaign = (options: ProcessCampaignOptions): Promise<CampaignResult> =>
  runCampaign(options, (stage) => runStage(options, stage));

async function runStage(
  { seed, rate, kills, seconds, print }: ProcessCampaignOptions,
  { root, ends, problems, broken }: CampaignStage,
): Promise<string[]> {
  print(`seed ${seed}, service time ${rate} times as fast`);
  const dataDir = join(root, "data");
  const database = await openCampaignDatabase(dataDir, ends);
  const moments = createFaultTriggers();
  const tls = await ensureLocalCertificate(join(root, "endpoint"), "127.0.0.1", new Date());
  const port = await findFreePort();
  let pushing: RecordPusher | undefined;
  const receiver = await startReceiver({
    ...{ seed, tls, replies: REPLIES, token: TOKEN, cap: CONCURRENCY_CAP, keepAliveMs: KEEP_ALIVE_MS },
    refused: { share: REFUSED_INVOICES, keyOf: ({ data }) => data.invoiceId },
    onArrival: () => moments.happened("on a webhook"),
    onDelivered(event, isFirst) {
      if (isFirst) pushing!.onEvent(event);
      moments.happened("on a webhook's 200");
    },
  });
  ends.push(receiver.close);
  const baseUrl = `https://127.0.0.1:${port}`;
  const env = createEnvironment({
    ...database.settings,
    DUNLIN_DATA: dataDir,
    DUNLIN_HOST: "127.0.0.1",
    DUNLIN_PORT: String(port),
    DUNLIN_BASE_URL: baseUrl,
    DUNLIN_CLOCK_RATE: String(rate),
    DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${receiver.port}`,
    DUNLIN_WEBHOOK_CA: tls.caFile,
  });
  const fleet = createServiceFleet({
    preloads: [SOURCE_PRELOAD],
    environment: () => env,
    onEnd(_process, how) {
      broken("I12", how);
      moments.happened("on an acknowledgement");
    },
  });
  ends.push(fleet.abandon);
  await fleet.start();
  const address = ["--webhook-url", `https://127.0.0.1:${receiver.port}/hooks/0`, "--bearer", TOKEN];
  const { merchantId, apiKey } = await createMerchantByCommand(env, "Torture", [...address, ...LIMITS]);
  const db = openDatabase(database.address(), 1, () => {});
  ends.push(() => void db.close().catch(() => {}));
  const anchor = await readAnchor(db);
  const now = () => new Date(anchor.serviceAt + (Date.now() - anchor.realAt) * rate);
  const books = createSentRecords(seed, now);
  const ca = readFileSync(join(dataDir, "tls", "ca.pem"), "utf8");
  const onAcknowledged = () => moments.happened("on an acknowledgement");
  const onLargeBatch = () => moments.happened("in a large batch");
  pushing = createRecordPusher({ seed, baseUrl, apiKey, ca, books, onAcknowledged, onLargeBatch });
  ends.push(pushing.stop);

  const until = Date.now() + seconds * 1_000;
  pushing.start();
  const onBroken = (says: string) => broken("I12", says);
  const faults = await injectFaults({ seed, kills, until, fleet, database, moments, print, onBroken });
  await sleep(Math.max(0, until - Date.now()));

  receiver.calm();
  const place = { database, fleet, broken, print };
  await waitUntilDrained({ pushing, db, merchantId, now, rate }, place);
  await db.close();
  const rows = await verifyRestart(place, merchantId);
  const { journal, bodies } = receiver;
  const sleeps = fleet.processes.flatMap((each) => each.sleeps);
  // A process that is alone loses no lease while it sleeps or its database is away, so neither excuses it.
  const processes = fleet.processes.map((each) => ({ ...each, sleeps: [] }));
  const events = verifyEvents({ rows, journal, bodies, processes, outages: [], withdrawnAt: new Map() });
  const records = verifyRecords(books, pushing.batches, rows);
  const stops = verifyStops(books, rows, journal, sleeps);
  problems.push(...records.problems, ...events.problems, ...stops.problems);
  verifyDecisions(rows, broken);
  verifyReceiver(receiver, new Set(rows.events.map(({ id }) => id)), broken);
  for (const says of pushing.wrong) broken("I11", says);
  const counts = { ...records.counts, ...events.counts, ...stops.counts };
  const table = formatSummary({ counts, answers: pushing.answers, faults, lines: fleet.lines });
  return problems.length === 0 ? table : [...table, ...formatComplaints(fleet.lines)];
}
