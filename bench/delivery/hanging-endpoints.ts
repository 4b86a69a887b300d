import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Merchant } from "../../src/domain/merchant.ts";
import { measureCpu } from "../cpu-time.ts";
import type { Endpoint, ReceiverMark } from "../delivery-receiver.ts";
import { median } from "../measure-rounds.ts";
import { type BenchProcess, startBenchProcess } from "../worker-process.ts";
import { makeMerchants, type RunningBenchService, startBenchService } from "./bench-service.ts";
import {
  deleteDeliveries,
  insertDeliveries,
  setPausedAt,
  vacuumTables,
  waitUntilMerchantsDelivered,
} from "./delivery-tables.ts";
import type { ConnectionCounts } from "./hanging-receiver.ts";

const HEALTHY = 100;
const HANGING = 1_000;
const CAP = 5;
/** Per hanging merchant: enough for every attempt meanwhile. */
const WAITING_EACH = 50;
const NOTICE_MS = 1_500;
/** Covers timeouts and later attempts. */
const SETTLED_MS = 35_000;
const LIMIT_MS = 600_000;
const LOSS_MAX = 0.05;

interface Round {
  perSecond: number;
  /** Of the sender and PostgreSQL, per delivery. */
  cpuUs: number;
}

/** As many without hanging endpoints before and after. */
const ROUNDS = 3;

/** How a thousand endpoints that hang at once affect the others. */
export async function hanging(quick: boolean) {
  const count = quick ? 20_000 : 100_000;
  const [receiver, dead] = [
    await startBenchProcess("delivery-receiver.ts"),
    await startBenchProcess("delivery/hanging-receiver.ts"),
  ];
  let stage: RunningBenchService | undefined;
  try {
    const [fine, hung] = [await receiver.ask<Endpoint>("endpoint"), await dead.ask<Endpoint>("endpoint")];
    console.log(
      `\nhanging: ${HEALTHY} merchants that answer, ${HANGING} that accept requests and never answer, caps of ${CAP}`,
    );
    const allow = [fine, hung].map(({ port }) => `127.0.0.1/32:${port}`).join(",");
    stage = await startBenchService({ ...fine, ca: fine.ca + hung.ca }, { DUNLIN_WEBHOOK_ALLOW: allow });
    const { db, ports } = stage.store;
    const healthy = await makeMerchants(stage, fine, HEALTHY, CAP);
    const others = await makeMerchants(stage, hung, HANGING, CAP);
    const round = (name: string) => send(stage!, receiver, fine, healthy, count, name);
    const rounds = async (name: string) => {
      const done: Round[] = [];
      while (done.length < ROUNDS) done.push(await round(name));
      return done;
    };
    await round("warming up");
    const alone = await rounds("alone");
    console.log(`  the sender uses ${memoryText(stage)}`);
    for (const { id } of others) await insertDeliveries(db, id, WAITING_EACH, ports.now());
    await vacuumTables(db);
    await setPausedAt(db, hung.port, false);
    const rising = await round("as they start to hang");
    await sleep(SETTLED_MS);
    const settled = await rounds("beside them");
    const { openMax, made } = await dead.ask<ConnectionCounts>("hung");
    console.log(`  hanging sockets: ${openMax} at most, ${made} made; the sender uses ${memoryText(stage)}`);
    await setPausedAt(db, hung.port, true);
    await deleteDeliveries(
      db,
      others.map(({ id }) => id),
    );
    await sleep(SETTLED_MS);
    alone.push(...(await rounds("alone")));
    compare("as they start to hang", [rising], alone);
    compare("beside them", settled, alone);
  } finally {
    await stage?.close();
    await dead.stop();
    await receiver.stop();
  }
}

/** By CPU, because other processes take cores in some rounds only. */
function compare(name: string, beside: readonly Round[], alone: readonly Round[]) {
  const times = (of: keyof Round) => median(beside.map((round) => round[of])) / median(alone.map((round) => round[of]));
  const more = times("cpuUs") - 1;
  const fewer = 1 - times("perSecond");
  const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
  const verdict = more <= LOSS_MAX ? "met" : "MISSED";
  console.log(
    `  ${name}: ${percent(fewer)} fewer per second than alone; ${percent(more)} more CPU per delivery; target ${LOSS_MAX * 100} %: ${verdict}`,
  );
}

async function send(
  stage: RunningBenchService,
  receiver: BenchProcess,
  { port }: Endpoint,
  merchants: readonly Merchant[],
  count: number,
  name: string,
): Promise<Round> {
  const { db, ports } = stage.store;
  await setPausedAt(db, port, true);
  await sleep(NOTICE_MS);
  for (const { id } of merchants) await insertDeliveries(db, id, count / merchants.length, ports.now());
  const before = await receiver.ask<number>("received");
  await receiver.ask("mark");
  const { cpuMs, otherCores, result } = await measureCpu(stage.pids(), async () => {
    await setPausedAt(db, port, false);
    await receiver.ask("reached", before + count, LIMIT_MS);
    const endAt = performance.timeOrigin + performance.now();
    await waitUntilMerchantsDelivered(
      db,
      merchants.map(({ id }) => id),
    );
    return endAt - (await receiver.ask<ReceiverMark>("mark")).firstAt;
  });
  const sender = (cpuMs.deliverer! * 1_000) / count;
  const database = (cpuMs.PostgreSQL! * 1_000) / count;
  const round = { perSecond: (count * 1_000) / result, cpuUs: sender + database };
  console.log(
    `  ${name.padEnd(14)} ${round.perSecond.toFixed(0).padStart(6)} deliveries/s, CPU per delivery: sender ${sender.toFixed(1)} µs, PostgreSQL ${database.toFixed(1)}; ${otherCores.toFixed(2)} cores busy with other work`,
  );
  return round;
}

function memoryText(stage: RunningBenchService): string {
  const { deliverer } = stage.pids();
  try {
    const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${deliverer}/status`, "latin1"))![1]);
    const files = readdirSync(`/proc/${deliverer}/fd`).length;
    return `${(kib / 1_024).toFixed(0)} MiB of memory and ${files} open files`;
  } catch {
    return "memory that only Linux reports";
  }
}
