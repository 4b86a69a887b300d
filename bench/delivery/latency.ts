import { setTimeout as sleep } from "node:timers/promises";
import type { Merchant } from "../../src/domain/merchant.ts";
import { type Notifications, startNotifications } from "../../src/process/notifications.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { type BenchProcess, startBenchProcess } from "../worker-process.ts";
import { commitOne, makeMerchants, type RunningBenchService, startBenchService } from "./bench-service.ts";
import { setPaused } from "./delivery-tables.ts";
import type { Arrival, Behaviour } from "./journal-receiver.ts";

const MERCHANTS = 100;
const CAP = 5;
const PER_SECOND = 200;
const RETRIED_PER_SECOND = 50;
/** Attempts 5 to 7 come within half a minute. */
const CLOCK_RATE = 200;
/** From an attempt's end to the next, repeated from the documentation as a check. */
const DELAYS_MS = [100, 5_000, 15_000, 900_000, 1_800_000, 3_600_000];
const NOTICE_MS = 1_500;
const EXTRA_WAIT_MS = 3_000;
const ALWAYS_OK: Behaviour = { status: 200, delayMs: 0, patientEvery: 0, patientUntil: 0, rate: 1 };

/** From commit to the receiver's first byte, and the delay of retries. */
export async function latency(quick: boolean) {
  const receiver = await startBenchProcess("delivery/journal-receiver.ts");
  const own = await startBenchProcess("delivery-service.ts");
  try {
    const endpoint = await receiver.ask<Endpoint>("endpoint");
    console.log(`\nlatency: real milliseconds, ${MERCHANTS} merchants`);
    const seconds = quick ? 5 : 30;
    await own.ask("begin", { endpoint, caps: Array(MERCHANTS).fill(CAP) });
    await sleep(NOTICE_MS);
    await own.ask("trickle", { count: PER_SECOND, perSecond: PER_SECOND });
    await receiver.ask("journal");
    const committed = await own.ask<[string, number][]>("trickle", {
      count: PER_SECOND * seconds,
      perSecond: PER_SECOND,
    });
    await sleep(1_000);
    line(
      `commit to first byte at ${PER_SECOND} events/s, same process`,
      await measureFirstBytes(receiver, committed),
      10,
      50,
    );
    await own.stop();
    await withStage(endpoint, 1, async (stage, merchants) => {
      const { db } = stage.store;
      const hints = startNotifications({ db, log: stage.log, heard: {} });
      try {
        await commitFor(stage, merchants, PER_SECOND, PER_SECOND, hints);
        await sleep(NOTICE_MS);
        await receiver.ask("journal");
        const committed = await commitFor(stage, merchants, PER_SECOND * seconds, PER_SECOND, hints);
        await sleep(3_000);
        line(`the same, committed by another process`, await measureFirstBytes(receiver, committed), 10, 50);
      } finally {
        await hints.stop();
      }
      await measureRetries(stage, merchants, receiver, 2, 4, quick ? 2 : 20, 1);
    });
    await withStage(endpoint, CLOCK_RATE, (stage, merchants) =>
      measureRetries(stage, merchants, receiver, 5, 7, quick ? 1 : 5, CLOCK_RATE),
    );
  } finally {
    await own.stop();
    await receiver.stop();
  }
}

async function withStage(
  endpoint: Endpoint,
  rate: number,
  work: (stage: RunningBenchService, merchants: Merchant[]) => Promise<void>,
) {
  const stage = await startBenchService(endpoint, { DUNLIN_CLOCK_RATE: String(rate) });
  try {
    const merchants = await makeMerchants(stage, endpoint, MERCHANTS, CAP);
    await setPaused(stage.store.db, false);
    await sleep(NOTICE_MS);
    await work(stage, merchants);
  } finally {
    await stage.close();
  }
}

/** Evenly, notifying the deliverer as a deciding process would. Returns commit times. */
async function commitFor(
  stage: RunningBenchService,
  merchants: readonly Merchant[],
  count: number,
  perSecond: number,
  hints: Notifications | null,
) {
  const committed: Promise<[string, number]>[] = [];
  const startedMs = performance.now();
  for (let index = 0; index < count; index++) {
    const waitMs = startedMs + (index * 1_000) / perSecond - performance.now();
    if (waitMs > 1) await sleep(waitMs);
    const merchant = merchants[index % merchants.length]!;
    const own = commitOne(stage, merchant).then((id): [string, number] => {
      hints?.events(merchant.id);
      return [id, performance.timeOrigin + performance.now()];
    });
    committed.push(own);
  }
  return Promise.all(committed);
}

async function measureFirstBytes(receiver: BenchProcess, committed: readonly [string, number][]) {
  const arrived = new Map((await receiver.ask<Arrival[]>("journal")).map(({ eventId, at }) => [eventId, at]));
  return committed.map(([id, at]) => (arrived.get(id) ?? Number.POSITIVE_INFINITY) - at);
}

/** How late each attempt is in real time, when all fail. */
async function measureRetries(
  stage: RunningBenchService,
  merchants: readonly Merchant[],
  receiver: BenchProcess,
  first: number,
  last: number,
  seconds: number,
  rate: number,
) {
  await receiver.ask("behave", { ...ALWAYS_OK, status: 500 } satisfies Behaviour);
  await receiver.ask("journal");
  const committed = await commitFor(stage, merchants, RETRIED_PER_SECOND * seconds, RETRIED_PER_SECOND, null);
  await sleep(DELAYS_MS.slice(0, last - 1).reduce((sum, delay) => sum + delay, 0) / rate + EXTRA_WAIT_MS);
  const seen = Map.groupBy(await receiver.ask<Arrival[]>("journal"), ({ eventId }) => eventId);
  await receiver.ask("behave", ALWAYS_OK);
  const late: number[] = [];
  for (const [id] of committed)
    for (let number = first; number <= last; number++) {
      const [before, now] = [seen.get(id)?.[number - 2], seen.get(id)?.[number - 1]];
      // A missing attempt counts as infinitely late.
      late.push(before && now ? now.at - before.endAt - DELAYS_MS[number - 2]! / rate : Number.POSITIVE_INFINITY);
    }
  const early = late.filter((ms) => ms < -1).length;
  const name = `lateness of attempts ${first} to ${last}${rate === 1 ? "" : `, service time ${rate} times as fast`}`;
  line(name, late, null, rate === 1 ? 250 : 2_000);
  if (early > 0) console.log(`  ${early} of them were EARLY`);
}

function line(name: string, values: readonly number[], p50Max: number | null, p99Max: number) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
  const met = (p50Max === null || at(0.5) <= p50Max) && at(0.99) <= p99Max;
  const targets = `${p50Max === null ? "" : `p50 ${p50Max}, `}p99 ${p99Max}`;
  console.log(
    `  ${name}: p50 ${at(0.5).toFixed(1)}, p99 ${at(0.99).toFixed(1)}, most ${at(1).toFixed(1)} (${values.length}); target ${targets}: ${met ? "met" : "MISSED"}`,
  );
}
