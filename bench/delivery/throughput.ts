import type { Merchant } from "../../src/domain/merchant.ts";
import type { Endpoint, ReceiverMark } from "../delivery-receiver.ts";
import { itemCountFor, measureRound, median, medianRound, type Round } from "../measure-rounds.ts";
import { type BenchProcess, startBenchProcess } from "../worker-process.ts";
import { commitEvents, makeMerchants, type RunningBenchService, startBenchService } from "./bench-service.ts";
import {
  checkpoint,
  readDeliveryLogTotals,
  readWalTotals,
  setPaused,
  vacuumTables,
  waitUntilDelivered,
} from "./delivery-tables.ts";
import { type Peer, startPeers } from "./job-queue-peers.ts";

const MERCHANTS = 100;
const CAP = 5;
/** undici's best setting on two cores. */
const LOOP_IN_FLIGHT = 100;
const WARM_UP = 10_000;
const LIMIT_MS = 20_000;
const ROUND_LIMIT_MS = 180_000;
/** The service takes less to notice a setting. */
const NOTICE_MS = 1_500;

const TARGETS = { ratio: 0.75, deliverer: 45, PostgreSQL: 18, reuse: 0.95, wal: 500 };

interface OwnRound {
  reuse: number;
  /** Per delivery, beyond the log's rows. */
  walBytes: number;
  afterCheckpoint: boolean;
  /** Full page images. */
  walPages: number;
  rowBytes: number;
}

interface PeerResult {
  name: string;
  rounds: Round[];
  target: number | null;
  peer: Peer | null;
}

interface BenchProcesses {
  stage: RunningBenchService;
  receiver: BenchProcess;
  loop: BenchProcess;
  merchants: Merchant[];
}

/** Compares a process that finds deliveries committed with undici alone and the peers, in interleaved rounds. */
export async function throughput(quick: boolean) {
  const ends: (() => Promise<void>)[] = [];
  try {
    const receiver = await startBenchProcess("delivery-receiver.ts");
    ends.push(receiver.stop);
    const loop = await startBenchProcess("delivery-loop.ts");
    ends.push(loop.stop);
    const endpoint = await receiver.ask<Endpoint>("endpoint");
    await loop.ask("open", { endpoint, connections: LOOP_IN_FLIGHT });
    const stage = await startBenchService(endpoint);
    ends.push(stage.close);
    const { db, address } = stage.store;
    const { peers, parts, missing } = await startPeers(db, address, stage.facts.postmaster, endpoint);
    for (const part of parts) ends.push(part.stop);
    const merchants = await makeMerchants(stage, endpoint, MERCHANTS, CAP);
    const count = quick ? 20_000 : 100_000;
    console.log(
      `\nthroughput: ${count.toLocaleString("en")} events of 0.3 kB committed for ${MERCHANTS} merchants, cap ${CAP}; ${stage.facts.server}`,
    );
    for (const line of missing) console.log(line);
    await compare({ stage, receiver, loop, merchants }, peers, count, quick ? 2 : 5);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

async function compare(place: BenchProcesses, peers: Peer[], count: number, rounds: number) {
  await deliver(place, WARM_UP, false);
  const alone = await postWithoutDunlin(place, WARM_UP);
  const loopCount = itemCountFor(alone.perSecond, 4, MERCHANTS);
  const counts = new Map<Peer, number>();
  for (const peer of peers) {
    const { perSecond } = await runPeerRound(place, peer, 2_000, LIMIT_MS / 4);
    counts.set(peer, Math.min(count, Math.max(100, itemCountFor(perSecond, 4, 100))));
  }
  const own: OwnRound[] = [];
  const ours: Round[] = [];
  const others: PeerResult[] = [
    { name: "undici.request alone", rounds: [], target: TARGETS.ratio, peer: null },
    ...peers.map((peer) => ({ name: peer.name, rounds: [], target: peer.target, peer })),
  ];
  for (let index = 0; index < rounds; index++) {
    // A busy server has a checkpoint every few million deliveries.
    const { round, ...more } = await deliver(place, count, index % 2 === 0);
    ours.push(round);
    own.push(more);
    for (const { rounds, peer } of others)
      rounds.push(
        peer === null
          ? await postWithoutDunlin(place, loopCount)
          : await runPeerRound(place, peer, counts.get(peer)!, LIMIT_MS),
      );
  }
  report(ours, own, others);
}

async function deliver({ stage, receiver, merchants }: BenchProcesses, count: number, afterCheckpoint: boolean) {
  const { db } = stage.store;
  await setPaused(db, true);
  await new Promise((resolve) => setTimeout(resolve, NOTICE_MS));
  await commitEvents(stage, merchants, count);
  await vacuumTables(db);
  if (afterCheckpoint) await checkpoint(db);
  const [logBefore, walBefore] = [await readDeliveryLogTotals(db), await readWalTotals(db)];
  await receiver.ask("mark");
  const received = await receiver.ask<number>("received");
  let endAt = 0;
  const measured = await measureRound(count, { ...stage.pids(), receiver: receiver.pid }, async () => {
    await setPaused(db, false);
    await receiver.ask("reached", received + count, ROUND_LIMIT_MS);
    await waitUntilDelivered(db);
    endAt = performance.timeOrigin + performance.now();
    return 1;
  });
  const [log, written] = [await readDeliveryLogTotals(db), await readWalTotals(db)];
  const { requests, connections, firstAt } = await receiver.ask<ReceiverMark>("mark");
  const delivered = log.delivered - logBefore.delivered;
  if (requests !== count || delivered !== count)
    throw new Error(`${requests} of ${count} events were sent, and ${delivered} logged as delivered`);
  const rowBytes = (log.bytes - logBefore.bytes) / count;
  return {
    perSecond: perSecond(count, firstAt, endAt),
    round: { ...measured, perSecond: perSecond(count, firstAt, endAt) },
    reuse: 1 - connections / requests,
    rowBytes,
    afterCheckpoint,
    walBytes: (written.bytes - walBefore.bytes) / count - rowBytes,
    walPages: (written.pages - walBefore.pages) / count,
  };
}

const perSecond = (count: number, fromMs: number, toMs: number) => (count * 1_000) / (toMs - fromMs);

const postWithoutDunlin = ({ loop, receiver }: BenchProcesses, count: number): Promise<Round> =>
  measureRound(count, { loop: loop.pid, receiver: receiver.pid }, () =>
    loop.ask<number>("run", { count, inFlight: LOOP_IN_FLIGHT }),
  );

/** As many jobs as it finishes in about the others' time. */
async function runPeerRound({ receiver }: BenchProcesses, peer: Peer, count: number, limitMs: number): Promise<Round> {
  const { part, way, concurrency } = peer;
  await part.ask("prepare", { count, way });
  await receiver.ask("mark");
  let result = { done: 0, endAt: 0 };
  const pids = { worker: part.pid, ...peer.pids, receiver: receiver.pid };
  const measured = await measureRound(1, pids, async () => {
    result = await part.ask("run", { way, count, limitMs, concurrency }, limitMs + 30_000);
    return 1;
  });
  const { firstAt } = await receiver.ask<ReceiverMark>("mark");
  const done = Math.max(1, result.done);
  const cpuUs = Object.fromEntries(Object.entries(measured.cpuUs).map(([name, us]) => [name, us / done]));
  return { ...measured, cpuUs, perSecond: perSecond(done, firstAt, result.endAt) };
}

/** Added by each page's first change after a checkpoint. */
function reportPageWrites(own: readonly OwnRound[]) {
  const soon = own.filter(({ afterCheckpoint }) => afterCheckpoint);
  const [bytes, images] = [median(soon.map((one) => one.walBytes)), median(soon.map((one) => one.walPages))];
  return `${bytes.toFixed(0)}, with ${images.toFixed(3)} page images each`;
}

const whole = (value: number) => Math.round(value).toLocaleString("en").padStart(8);
const cpu = ({ cpuUs }: Round) =>
  Object.entries(cpuUs)
    .map(([name, us]) => `${name} ${us.toFixed(1)}`)
    .join(", ");
/** All contenders share the receiver. */
const cost = ({ cpuUs }: Round) =>
  Object.entries(cpuUs).reduce((sum, [name, us]) => (name === "receiver" ? sum : sum + us), 0);
const verdict = (met: boolean) => (met ? "met" : "MISSED");

function report(ours: Round[], own: OwnRound[], others: PeerResult[]) {
  const us = medianRound(ours);
  const middle = (of: (one: OwnRound) => number) => median(own.map(of));
  console.log(`  ${"Dunlin".padEnd(40)}${whole(us.perSecond)} /s   CPU µs each: ${cpu(us)}`);
  for (const { name, rounds, target } of others) {
    const them = medianRound(rounds);
    const ratios = rounds.map((their, index) => ours[index]!.perSecond / their.perSecond);
    const ratio = median(ratios);
    const times = `Dunlin ${ratio.toFixed(2)} times as fast, ${(cost(them) / cost(us)).toFixed(2)} times by CPU`;
    console.log(`  ${name.padEnd(40)}${whole(them.perSecond)} /s   CPU µs each: ${cpu(them)}`);
    console.log(
      `  ${"".padEnd(40)}${times} (rounds ${ratios.map((each) => each.toFixed(2)).join(", ")})${target === null ? "" : `; target ${target}: ${verdict(ratio >= target)}`}`,
    );
  }
  const { deliverer = Number.NaN, PostgreSQL = Number.NaN } = us.cpuUs;
  const reuse = middle((one) => one.reuse);
  const later = own.filter(({ afterCheckpoint }) => !afterCheckpoint);
  const walBytes = median(later.map((one) => one.walBytes));
  console.log(
    `  CPU of the process    ${deliverer.toFixed(1)} µs per delivery; target ${TARGETS.deliverer}: ${verdict(deliverer <= TARGETS.deliverer)}`,
  );
  console.log(
    `  CPU of PostgreSQL     ${PostgreSQL.toFixed(1)} µs per delivery; target ${TARGETS.PostgreSQL}: ${verdict(PostgreSQL <= TARGETS.PostgreSQL)}`,
  );
  console.log(
    `  connections reused    ${(reuse * 100).toFixed(2)} %; target ${TARGETS.reuse * 100} %: ${verdict(reuse >= TARGETS.reuse)}`,
  );
  console.log(
    `  WAL                   ${walBytes.toFixed(0)} bytes per delivery beyond the ${middle((one) => one.rowBytes).toFixed(0)} of its log line; target ${TARGETS.wal}: ${verdict(walBytes <= TARGETS.wal)}; right after a checkpoint ${reportPageWrites(own)}`,
  );
  console.log(
    `  others                ${us.otherCores.toFixed(2)} cores busy with other work during Dunlin, ${median(others.map(({ rounds }) => medianRound(rounds).otherCores)).toFixed(2)} during the others`,
  );
}
