import type { LoadPlan } from "./ingest-load.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { BATCH, type Mix } from "./invoice-batches.ts";
import { itemCountFor, measureRound, median, medianRound, printComparison, type Round } from "./measure-rounds.ts";
import { type BenchProcess, startBenchProcess } from "./worker-process.ts";

const TARGET = 0.7;
const WARM_UP = 150;
/** Earlier, the code takes up to a tenth more CPU, and its compiler as much again. */
const WARM_UP_REQUESTS = 10_000;
/**
 * CPU microseconds per record: the service's limit, and that of TLS, HTTP and JSON.parse on the same machine. Machines vary by a
 * factor of two, so the target is the ratio.
 */
const SERVICE_US = 2.5;
const BASELINE_US = 0.71;
/** CPU time is counted in hundredths of a second. */
const BASELINE_ROUND_FACTOR = 3;
const MIXES: Record<Mix, string> = {
  history: "all new, PAID",
  changes: "half new, half newer versions, 1% UNPAID",
};

/**
 * Measures invoices per second from HTTPS to commit. The baseline is plain COPY of as many invoices, and a case for each unpaid
 * one, into equal tables on the same server. Both use 8 connections; COPY has 200 invoices per transaction.
 */
export async function benchIngest(quick: boolean) {
  const service = await startBenchProcess("ingest-service.ts");
  const load = await startBenchProcess("ingest-load.ts");
  try {
    const facts = await service.ask<IngestFacts>("facts");
    await load.ask("connect", facts);
    console.log(`\ningest: ${BATCH} invoices per request, 8 kept-alive HTTPS connections; ${facts.server}`);
    for (const mix of Object.keys(MIXES) as Mix[]) await compare(service, load, facts, mix, quick);
    await copyInBulk(service, load, facts, quick);
    await checkCounts(service);
  } finally {
    await load.stop();
    await service.stop();
  }
}

let expected = { invoices: 0, twins: 0 };

async function compare(service: BenchProcess, load: BenchProcess, facts: IngestFacts, mix: Mix, quick: boolean) {
  let batches = WARM_UP;
  const run = (way: LoadPlan["way"], fresh = false) => runRound(service, load, facts, { way, mix, batches, fresh });
  const runBare = () =>
    runRound(service, load, facts, { way: "bare", mix: "history", batches: BASELINE_ROUND_FACTOR * batches });
  // Unmeasured: the code becomes hot, and there are rows to change.
  await run("copy");
  await run("https", true);
  const { perSecond } = await run("https");
  batches = itemCountFor(perSecond / BATCH, 0.7, 4);
  // Otherwise longer rounds find too little to change.
  await run("https", true);
  await runBare();
  for (let done = 0; !quick && done < WARM_UP_REQUESTS; done += batches) {
    await run("https");
    await run("copy"); // both go on with tables of one size
  }
  const ours: Round[] = [];
  const ceiling: Round[] = [];
  const bare: Round[] = [];
  for (let i = 0; i < (quick ? 3 : 15); i++) {
    ours.push(await run("https"));
    bare.push(await runBare());
    ceiling.push(await run("copy"));
  }
  printComparison(
    { name: `ingest, ${MIXES[mix]}; ceiling: COPY, ${BATCH} rows per transaction`, ours, ceiling, target: TARGET },
    "records",
  );
  reportService(ours, bare, quick);
}

/** No verdict before the code is hot, or if CPU is not counted. */
function reportService(ours: readonly Round[], bare: readonly Round[], quick: boolean) {
  const serviceUs = (rounds: readonly Round[]) => rounds.map(({ cpuUs }) => cpuUs.service!);
  const bareUs = serviceUs(bare);
  const times = median(serviceUs(ours).map((us, index) => us / bareUs[index]!));
  const most = SERVICE_US / BASELINE_US;
  const verdict = quick || Number.isNaN(times) ? "not judged" : times <= most ? "met" : "MISSED";
  console.log(
    `  service  ${median(serviceUs(ours)).toFixed(2).padStart(8)} CPU µs each, ${times.toFixed(2)} times what TLS, HTTP and JSON.parse take (${median(bareUs).toFixed(2)})   target ${SERVICE_US} where those take ${BASELINE_US}, ${most.toFixed(2)} times: ${verdict}`,
  );
}

async function copyInBulk(service: BenchProcess, load: BenchProcess, facts: IngestFacts, quick: boolean) {
  const rounds: Round[] = [];
  const batches = quick ? 400 : 800;
  for (let i = 0; i < (quick ? 1 : 3); i++)
    rounds.push(await runRound(service, load, facts, { way: "copy", mix: "history", batches, together: batches / 4 }));
  const { perSecond, cpuUs } = medianRound(rounds);
  const rows = (batches / 4) * BATCH;
  console.log(
    `for reference: COPY, ${rows.toLocaleString("en")} rows per transaction: ${Math.round(perSecond).toLocaleString("en")} records/s, CPU µs each: PostgreSQL ${cpuUs.PostgreSQL!.toFixed(1)}`,
  );
}

async function runRound(service: BenchProcess, load: BenchProcess, facts: IngestFacts, what: LoadPlan): Promise<Round> {
  const { records } = await load.ask<{ records: number }>("prepare", what);
  const pids = { service: service.pid, PostgreSQL: facts.postmaster, load: load.pid };
  if (what.way === "copy") expected.twins += records;
  else if (what.way === "https") expected.invoices += what.mix === "changes" && !what.fresh ? records / 2 : records;
  return measureRound(records, pids, () => load.ask<number>("run"));
}

/** Without stored rows the figures mean nothing. */
async function checkCounts(service: BenchProcess) {
  const { invoices, twins, cases, caseTwins, dueTwins } = await service.ask<Record<string, number>>("counts");
  if (invoices !== expected.invoices || twins !== expected.twins)
    throw new Error(`stored ${invoices} and ${twins} invoices instead of ${expected.invoices} and ${expected.twins}`);
  if (cases === 0 || caseTwins === 0 || caseTwins !== dueTwins)
    throw new Error(`stored ${cases} cases, and beside them ${caseTwins} of which ${dueTwins} are due`);
  expected = { invoices: 0, twins: 0 };
}
