import { setTimeout as sleep } from "node:timers/promises";
import { connectTo } from "../copy-rows.ts";
import { measureCpu } from "../cpu-time.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { type BenchProcess, startBenchProcess } from "../worker-process.ts";
import { makeMerchants, type RunningBenchService, startBenchService } from "./bench-service.ts";
import {
  checkpoint,
  countDeadRows,
  insertDeliveries,
  setPaused,
  vacuumTables,
  waitUntilDelivered,
} from "./delivery-tables.ts";

const MERCHANTS = 100;
const CAP = 5;
const NOTICE_MS = 1_500;
const LIMIT_MS = 1_800_000;
const TARGETS = { deep: 1.2, held: 1.3 };

interface DeliveryCost {
  /** CPU microseconds per delivery. */
  deliverer: number;
  PostgreSQL: number;
  total: number;
  delivered: number;
}

interface BacklogDepth {
  waiting: number;
  sent: number;
  /** A transaction holds an old snapshot, so no dead row can be removed. */
  snapshot: boolean;
}

/** With many waiting deliveries, and with a snapshot held open. */
export async function backlog(quick: boolean) {
  const [few, many, sent] = quick ? [20_000, 200_000, 20_000] : [100_000, 2_000_000, 300_000];
  console.log(`\nbacklog: CPU µs per delivery, ${MERCHANTS} merchants with a cap of ${CAP}`);
  const base = { waiting: few, sent: few, snapshot: false };
  const before = await measureDrain(base);
  const deep = await measureDrain({ waiting: many, sent, snapshot: false });
  const held = await measureDrain({ waiting: many, sent, snapshot: true });
  const after = await measureDrain(base);
  const mean = (before.total + after.total) / 2;
  const verdict = (cost: DeliveryCost, target: number) =>
    `${(cost.total / mean).toFixed(2)} times the cost; target ${target}: ${cost.total / mean <= target ? "met" : "MISSED"}`;
  console.log(`  ${many.toLocaleString("en")} waiting: ${verdict(deep, TARGETS.deep)}`);
  console.log(`  with a snapshot held open: ${verdict(held, TARGETS.held)}`);
}

async function measureDrain(depth: BacklogDepth): Promise<DeliveryCost> {
  const receiver = await startBenchProcess("delivery-receiver.ts");
  let stage: RunningBenchService | undefined;
  try {
    const endpoint = await receiver.ask<Endpoint>("endpoint");
    stage = await startBenchService(endpoint);
    return await measure(stage, receiver, endpoint, depth);
  } finally {
    await stage?.close();
    await receiver.stop();
  }
}

async function measure(
  stage: RunningBenchService,
  receiver: BenchProcess,
  endpoint: Endpoint,
  { waiting, sent, snapshot }: BacklogDepth,
) {
  const { db, address, ports } = stage.store;
  const merchants = await makeMerchants(stage, endpoint, MERCHANTS, CAP);
  await fillAll(merchants.length * 50);
  await setPaused(db, false);
  await receiver.ask("reached", merchants.length * 50, LIMIT_MS);
  await waitUntilDelivered(db);
  await setPaused(db, true);
  await sleep(NOTICE_MS);
  await fillAll(waiting);
  await vacuumTables(db);
  await checkpoint(db);
  const holder = snapshot ? await connectTo(address) : null;
  if (holder) await holder.query("begin isolation level repeatable read; select count(*) from merchants");
  const before = await receiver.ask<number>("received");
  const { cpuMs, otherCores, result } = await measureCpu(stage.pids(), async () => {
    await setPaused(db, false);
    await receiver.ask("reached", before + sent, LIMIT_MS);
    if (sent === waiting) await waitUntilDelivered(db, 200);
    else await setPaused(db, true);
    await sleep(NOTICE_MS);
    return (await receiver.ask<number>("received")) - before;
  });
  const us = (name: string) => (cpuMs[name]! * 1_000) / result;
  const cost = { deliverer: us("deliverer"), PostgreSQL: us("PostgreSQL"), total: 0, delivered: result };
  cost.total = cost.deliverer + cost.PostgreSQL;
  const dead = await countDeadRows(db);
  console.log(
    `  ${waiting.toLocaleString("en").padStart(9)} waiting${snapshot ? ", snapshot held" : ""}: deliverer ${cost.deliverer.toFixed(1)}, PostgreSQL ${cost.PostgreSQL.toFixed(1)}; ${result.toLocaleString("en")} sent, ${dead.toLocaleString("en")} dead rows in the end, ${otherCores.toFixed(2)} cores busy with other work`,
  );
  await holder?.end();
  return cost;

  async function fillAll(count: number) {
    for (const { id } of merchants) await insertDeliveries(db, id, count / merchants.length, ports.now());
  }
}
