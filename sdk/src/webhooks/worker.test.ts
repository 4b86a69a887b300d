import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type EventStore, memoryEventStore } from "./event-store.ts";
import type { WebhookEvent } from "./webhook-event.ts";
import { retryDelayMs, startWorker, type WorkerOptions } from "./worker.ts";

const START_MS = Date.parse("2026-03-04T09:00:00Z");
const event = (id: string): WebhookEvent => ({
  id,
  type: "complete_dunning",
  created: new Date(START_MS).toISOString(),
  data: { invoiceId: "inv_1" },
});

/** A worker on a clock that stands until it is moved. */
function workerOf(
  t: TestContext,
  handle: (event: WebhookEvent) => unknown,
  options: Partial<WorkerOptions<undefined>> = {},
) {
  let nowMs = START_MS;
  const errors: string[] = [];
  const store = options.store ?? memoryEventStore();
  const worker = startWorker<undefined>({
    store,
    handle,
    onError: (error, failed) => errors.push(`${failed?.id}: ${(error as Error).message}`),
    onGiveUp: (error, failed) => errors.push(`${failed.id} given up: ${(error as Error).message}`),
    concurrency: 2,
    triesMax: 3,
    leaseMs: 60_000,
    now: () => new Date(nowMs),
    ...options,
  });
  t.after(() => worker.stop());
  return {
    worker,
    errors,
    keep: (id: string) => store.keep(event(id), new Date(nowMs)),
    async pass(ms: number) {
      nowMs += ms;
      worker.wake();
      await turns();
    },
  };
}
const turns = async () => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
};

test("what fails is tried again after growing delays, and given up after the last try", async (t) => {
  const tries: string[] = [];
  const { keep, pass, errors } = workerOf(t, ({ id }) => {
    tries.push(id);
    throw new Error("no");
  });
  keep("a");
  await pass(0);
  await pass(999);
  assert.deepEqual(tries, ["a"]);
  await pass(1);
  await pass(3_999);
  assert.deepEqual(tries, ["a", "a"]);
  await pass(1);
  await pass(86_400_000);
  assert.deepEqual(tries, ["a", "a", "a"]);
  assert.deepEqual(errors, ["a: no", "a: no", "a given up: no"]);
  assert.deepEqual([1, 2, 3, 6, 7, 10].map(retryDelayMs), [1_000, 4_000, 16_000, 1_024_000, 3_600_000, 3_600_000]);
});

test("no more are handled at once than allowed, and the end of one begins the next", async (t) => {
  const ends: (() => void)[] = [];
  let most = 0;
  let now = 0;
  const { keep, pass } = workerOf(t, async () => {
    most = Math.max(most, ++now);
    await new Promise<void>((resolve) => ends.push(resolve));
    now--;
  });
  for (let n = 0; n < 7; n++) keep(`e${n}`);
  await pass(0);
  assert.equal(ends.length, 2);
  for (let n = 0; n < 7; n++) {
    ends[n]!();
    await turns();
  }
  assert.equal(ends.length, 7);
  assert.equal(most, 2);
});

test("a store that fails is told of, and asked again", async (t) => {
  const memory = memoryEventStore();
  let broken = true;
  const handled: string[] = [];
  const store: EventStore = {
    ...memory,
    claim(limit, now, until) {
      if (broken) throw new Error("connection lost");
      return memory.claim(limit, now, until);
    },
  };
  const { keep, pass, errors } = workerOf(t, ({ id }) => handled.push(id), { store });
  keep("a");
  await pass(0);
  assert.deepEqual([errors.at(-1), handled], ["undefined: connection lost", []]);
  broken = false;
  await pass(0);
  assert.deepEqual(handled, ["a"]);
});

test("a worker that is stopped takes nothing more, and waits for what it has in hand", async (t) => {
  let end = () => {};
  const handled: string[] = [];
  const { keep, pass, worker } = workerOf(t, async ({ id }) => {
    await new Promise<void>((resolve) => (end = resolve));
    handled.push(id);
  });
  keep("a");
  await pass(0);
  const stopped = worker.stop().then(() => handled.push("stopped"));
  keep("b");
  await pass(0);
  end();
  await stopped;
  await pass(0);
  assert.deepEqual(handled, ["a", "stopped"]);
});
