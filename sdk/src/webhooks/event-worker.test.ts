import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type EventStore, memoryEventStore } from "./event-store.ts";
import { retryDelayMs, startWorker, type WorkerOptions } from "./event-worker.ts";
import type { WebhookEvent } from "./webhook-event.ts";

const START_MS = Date.parse("2026-03-04T09:00:00Z");
const event = (id: string): WebhookEvent => ({
  id,
  type: "complete_dunning",
  created: new Date(START_MS).toISOString(),
  data: { invoiceId: "inv_1" },
});

/** A worker on a clock that the test moves. */
function startTestWorker(
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
      await waitTurns();
    },
  };
}
/** The memory store, with replaceable methods. */
const storeWith = (parts: (memory: EventStore) => Partial<EventStore>): EventStore => {
  const memory = memoryEventStore();
  return { ...memory, ...parts(memory) };
};
const waitTurns = async () => {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
};

test("a failed event is retried after growing delays, and given up after the last attempt", async (t) => {
  const tries: string[] = [];
  const { keep, pass, errors } = startTestWorker(t, ({ id }) => {
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

test("no more events are handled at once than allowed, and the next one starts when one ends", async (t) => {
  const ends: (() => void)[] = [];
  let most = 0;
  let now = 0;
  const limits: number[] = [];
  const store = storeWith((memory) => ({
    claim(limit, ...args) {
      limits.push(limit);
      return memory.claim(limit, ...args);
    },
  }));
  const handle = async () => {
    most = Math.max(most, ++now);
    await new Promise<void>((resolve) => ends.push(resolve));
    now--;
  };
  const { keep, pass } = startTestWorker(t, handle, { store });
  for (let n = 0; n < 7; n++) keep(`e${n}`);
  await pass(0);
  assert.equal(ends.length, 2);
  for (let n = 0; n < 7; n++) {
    ends[n]!();
    await waitTurns();
  }
  assert.equal(ends.length, 7);
  assert.equal(most, 2);
  assert.ok(
    limits.every((limit) => limit >= 1 && limit <= 2),
    `a store may take a limit of 0 for none: ${limits}`,
  );
});

test("a store that yields one event at a time still fills every slot", async (t) => {
  const handled: string[] = [];
  const store = storeWith((memory) => ({ claim: (_, ...args) => memory.claim(1, ...args) }));
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  const handle = ({ id }: WebhookEvent) => {
    handled.push(id);
    return ended;
  };
  const { keep, pass } = startTestWorker(t, handle, { store });
  for (const id of ["a", "b", "c"]) keep(id);
  await pass(0);
  assert.deepEqual(handled, ["a", "b"]);
  end();
});

test("events that the last process left in the store are handled at once", async (t) => {
  const store = memoryEventStore();
  store.keep(event("a"), new Date(START_MS));
  const handled: string[] = [];
  startTestWorker(t, ({ id }) => handled.push(id), { store });
  await waitTurns();
  assert.deepEqual(handled, ["a"]);
});

test("a new event is handled at once, even if it arrives while the worker looks for events", async (t) => {
  for (let microtasks = 0; microtasks < 12; microtasks++) {
    const handled: string[] = [];
    const { keep, worker } = startTestWorker(t, ({ id }) => handled.push(id));
    await waitTurns();
    worker.wake();
    for (let n = 0; n < microtasks; n++) await null;
    keep("a");
    worker.wake();
    await waitTurns();
    assert.deepEqual(handled, ["a"], `${microtasks}`);
  }
});

test("a store error is reported, and the store is asked again", async (t) => {
  let broken = true;
  const handled: string[] = [];
  const store = storeWith((memory) => ({
    claim(...args) {
      if (broken) throw new Error("connection lost");
      return memory.claim(...args);
    },
  }));
  const { keep, pass, errors } = startTestWorker(t, ({ id }) => handled.push(id), { store });
  keep("a");
  await pass(0);
  assert.deepEqual([errors.at(-1), handled], ["undefined: connection lost", []]);
  broken = false;
  await pass(0);
  assert.deepEqual(handled, ["a"]);
});

test("a stopped worker claims nothing more, and waits for events in progress", async (t) => {
  let end = () => {};
  const handled: string[] = [];
  const { keep, pass, worker } = startTestWorker(t, async ({ id }) => {
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

test("an error while recording a failure is reported, and the event is handled again after its lease", async (t) => {
  let tries = 0;
  const store = storeWith(() => ({ postpone: () => Promise.reject(new Error("connection lost")) }));
  const handle = () => {
    if (++tries === 1) throw new Error("no");
  };
  const { keep, pass, errors } = startTestWorker(t, handle, { store, leaseMs: 60_000 });
  keep("a");
  await pass(0);
  assert.deepEqual(errors, ["a: no", "a: connection lost"]);
  await pass(59_999);
  assert.equal(tries, 1);
  await pass(1);
  assert.equal(tries, 2);
});

test("an idle worker does not keep the program running", (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  startTestWorker(t, () => {});
  assert.equal(timers(), before);
});
