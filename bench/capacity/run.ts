// `npm run bench -- capacity`: each unit's cost, and a queue model against measured waits. `--quick` takes about a minute.
// `--repeats 3` compares three times, and takes medians.
// `--compare` takes the costs from `measured.ts`, and only compares.
// `--tables` writes the guide's tables from `measured.ts`, and measures nothing.
// `--lives 150` instead counts the steps that a failed payment takes over its life, in a simulated year with so many customers.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { prepared } from "../../src/postgres/database.ts";
import { readTreeCpuMs } from "../cpu-time.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { median } from "../measure-rounds.ts";
import { type BenchProcess, startBenchProcess } from "../worker-process.ts";
import { measureCaseLives } from "./case-lives.ts";
import {
  type Comparison,
  calibrate,
  createComparer,
  type Figures,
  measureCommitMs,
  medianComparison,
} from "./compare-model.ts";
import { withTables } from "./guide-tables.ts";
import { type Installation, startInstallation } from "./installation.ts";
import { COSTS, RECEIVER_MS } from "./measured.ts";
import type { UnitCosts } from "./sizing.ts";
import { createRounds, type UnitCosts as MeasuredCosts, medianCosts, UNITS, type Unit } from "./unit-costs.ts";
import { type IdleCost, measureIdle, readTableSizes } from "./usage.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean" },
    lives: { type: "string" },
    tables: { type: "boolean" },
    compare: { type: "boolean" },
    seed: { type: "string", default: "1" },
    repeats: { type: "string", default: "1" },
  },
});
const SIZE = values.quick
  ? { rounds: 1, idleMs: 1_000, flood: 400, seconds: 1, shares: [0.6] }
  : { rounds: 3, idleMs: 5_000, flood: 2_000, seconds: 4, shares: [0.3, 0.6, 0.8, 0.95] };
const ROUND = values.quick
  ? { paid: 4_000, cases: 400, smallBatches: 20, pages: 8 }
  : { paid: 40_000, cases: 2_000, smallBatches: 60, pages: 40 };
const WARM_UP = { paid: 10_000, cases: 800, smallBatches: 20, pages: 8 };
const repeats = Number(values.repeats);
const GUIDE = join(import.meta.dirname, "../../docs/guides/capacity.md");
const MANY = 8;
const LIMIT = `${MANY} merchants with deliveries`;
const SETTLE_MS = 2_000;
const FIGURES: readonly (keyof Figures)[] = [
  ...(["perSecond", "deciderBusy", "databaseBusy"] as const),
  ...(["decisionP50", "decisionP95", "deliveryP50", "deliveryP95"] as const),
];
const CONNECTIONS = prepared(
  "capacity_connections",
  "select count(*)::int as n from pg_stat_activity where backend_type = 'client backend' and datname = current_database()",
);

type Rounds = Awaited<ReturnType<typeof createRounds>>;

const ms = (value: number) => value.toFixed(value < 1 ? 3 : 2).padStart(9);
const bytes = (value: number) => Math.round(value).toLocaleString("en").padStart(9);

function createRandom(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

if (values.tables) {
  writeFileSync(GUIDE, withTables(readFileSync(GUIDE, "utf8")));
} else if (values.lives !== undefined) {
  console.log(JSON.stringify(await measureCaseLives(Number(values.lives)), null, 1));
} else {
  console.log(
    `${availableParallelism()} cores (${cpus()[0]?.model}), load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`,
  );
  const receiver = await startBenchProcess("delivery-receiver.ts");
  try {
    const installation = await startInstallation(await receiver.ask<Endpoint>("endpoint"));
    try {
      await measureAll(installation, receiver);
    } finally {
      await installation.close();
    }
  } finally {
    await receiver.stop();
  }
}

async function measureAll(installation: Installation, receiver: BenchProcess) {
  const idle = await measureIdle(installation, SIZE.idleMs);
  const rounds = await createRounds(installation, idle);
  if (!values.quick) await rounds.measure(WARM_UP);
  const measured = values.compare ? null : await measureCosts(installation, receiver, rounds, idle);
  const costs = measured?.costs ?? COSTS;
  const compared = await compareModel(installation, receiver, rounds, costs, measured?.receiverMs ?? RECEIVER_MS);
  await rounds.close();
  console.log(JSON.stringify({ ...measured, ...compared }));
}

async function measureCosts(installation: Installation, receiver: BenchProcess, rounds: Rounds, idle: IdleCost) {
  const all: MeasuredCosts[] = [];
  const receiverBefore = readTreeCpuMs(receiver.pid);
  let delivered = 0;
  for (let n = 0; n < SIZE.rounds; n++) {
    const one = await rounds.measure(ROUND);
    all.push(one);
    delivered += one.delivery.count;
  }
  const receiverMs = (readTreeCpuMs(receiver.pid) - receiverBefore) / delivered;
  const costs = medianCosts(all);
  const connections = (await installation.db.run<{ n: number }>(CONNECTIONS)).rows[0]!.n;
  printCosts(costs, idle, connections, installation.facts.server);
  const tables = await readTableSizes(installation);
  for (const { name, rows, heapBytes, indexBytes } of tables.filter((table) => table.rows > 0))
    console.log(
      `${name.padEnd(30)} ${bytes(rows)} rows, each ${Math.round(heapBytes / rows)} bytes and ${Math.round(indexBytes / rows)} in indexes`,
    );
  return { costs, idle, connections, receiverMs, tables };
}

function printCosts(costs: MeasuredCosts, idle: IdleCost, connections: number, server: string) {
  console.log(`medians of ${SIZE.rounds} rounds; ${server}`);
  console.log(`${"".padEnd(66)}service ms   database ms  WAL bytes disk bytes`);
  for (const [unit, name] of Object.entries(UNITS)) {
    const { serviceMs, databaseMs, walBytes, diskBytes } = costs[unit as Unit];
    console.log(`${name.padEnd(66)} ${ms(serviceMs)}   ${ms(databaseMs)}  ${bytes(walBytes)}  ${bytes(diskBytes)}`);
  }
  const each = Object.entries(idle.serviceMs).map(([role, used]) => `${role} ${used.toFixed(0)}`);
  console.log(
    `idle, CPU ms per second: ${each.join(", ")}; database ${idle.databaseMs.toFixed(0)}; ${connections} connections`,
  );
}

async function compareModel(
  installation: Installation,
  receiver: BenchProcess,
  rounds: Rounds,
  costs: Pick<UnitCosts, "decision" | "loneDecision" | "step" | "delivery" | "unpaidInvoice">,
  receiverMs: number,
) {
  const commitMs = await measureCommitMs(installation, rounds.tenants[0]!);
  const [giant, many] = [await installation.createTenants(1), await installation.createTenants(MANY)];
  const one = [installation.processes.decide];
  const two = [...one, await installation.startDecider()];
  // A process that starts may hold locks.
  await sleep(SETTLE_MS);
  for (const decider of two) decider.signal("SIGSTOP");
  const comparer = createComparer(installation, rounds, receiver, two, createRandom(Number(values.seed)));
  const guess = calibrate(costs, { commitMs, lockedShare: 0.5, receiverMs });
  const first = await comparer.flood("1 giant merchant, 1 decider", giant, SIZE.flood, one, guess);
  // A busy machine slows all parts alike, so the share of the time is the share of the CPU.
  const { serviceMs, databaseMs } = costs.decision;
  const lockedShare = Math.min(1, (first.lockedShare * (serviceMs + databaseMs)) / databaseMs);
  const model = calibrate(costs, { commitMs, lockedShare, receiverMs });
  const shown = (comparison: Comparison) => {
    printComparison(comparison);
    return comparison;
  };
  const runs: Comparison[][] = [];
  for (let n = 0; n < repeats; n++)
    runs.push([
      shown(await comparer.flood("1 giant merchant, 1 decider", giant, SIZE.flood, one, model)),
      shown(await comparer.flood("1 giant merchant, 2 deciders", giant, SIZE.flood, two, model)),
      shown(await comparer.flood(`${MANY} merchants, 1 decider`, many, SIZE.flood, one, model)),
      shown(await comparer.flood(`${MANY} merchants, 2 deciders`, many, SIZE.flood, two, model)),
      shown(await comparer.flood(LIMIT, await installation.createTenants(MANY), SIZE.flood, one, model, true)),
    ]);
  two[1]!.signal("SIGSTOP");
  one[0]!.signal("SIGCONT");
  const limit = median(runs.map((run) => run.at(-1)!.measured.perSecond));
  for (const run of runs)
    for (const share of SIZE.shares) {
      const what = `${MANY} merchants, ${Math.round(share * 100)}% of the limit`;
      const tenants = await installation.createTenants(MANY);
      const databaseMs = costs.unpaidInvoice.databaseMs;
      run.push(shown(await comparer.steady(what, tenants, share * limit, SIZE.seconds, model, databaseMs)));
    }
  const comparisons = runs[0]!.map((_, n) => medianComparison(runs.map((run) => run[n]!)));
  console.log(
    `\nqueue model: commit ${commitMs.toFixed(2)} ms; clock locked for ${Math.round(lockedShare * 100)}% of a batch's time in the database`,
  );
  const head = ["cases/s", "decider", "database", "decided p50", "p95", "sent p50", "p95"];
  console.log(`${"measured | predicted".padEnd(34)}${head.map((name) => name.padStart(17)).join("")}   slowdown`);
  for (const comparison of comparisons) printComparison(comparison);
  return { commitMs, lockedShare, limit, comparisons };
}

function printComparison({ what, measured, predicted, slowdown }: Comparison) {
  const cells = FIGURES.map((name) => {
    const digits = /Busy/.test(name) ? 2 : 0;
    return Number.isNaN(measured[name])
      ? "–"
      : `${measured[name].toFixed(digits)} | ${predicted[name].toFixed(digits)}`;
  });
  console.log(`${what.padEnd(34)}${cells.map((cell) => cell.padStart(17)).join("")}   ${slowdown.toFixed(1)}`);
}
