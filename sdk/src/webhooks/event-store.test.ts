import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryEventStore } from "./event-store.ts";
import { createWebhookReceiver } from "./receiver.ts";
import { parseWebhookEvent } from "./webhook-event.ts";

const BODY = JSON.stringify({
  id: "0190-a",
  type: "complete_dunning",
  created: "2026-03-04T09:12:00.000Z",
  data: { invoiceId: "inv_1" },
});
const { event } = parseWebhookEvent(BODY, "/hooks");
const at = (seconds: number) => new Date(Date.UTC(2026, 2, 4, 9, 12, seconds));

test("a claim that has expired ends nothing while another worker handles the event", async () => {
  const store = memoryEventStore();
  await store.keep(event!, at(0));
  const [slow] = await store.claim(1, at(0), at(10));
  const [second] = await store.claim(1, at(10), at(20));
  assert.deepEqual([slow!.tries, second!.tries], [1, 2]);

  await store.finish(slow!, () => {});
  await store.postpone(slow!, null);
  await store.postpone(slow!, at(0));
  assert.deepEqual(await store.claim(1, at(19), at(40)), [], "the second try has the event");
  const [third] = await store.claim(1, at(20), at(30));
  assert.equal(third!.tries, 3, "the second try crashed, and the event is still there");

  await store.finish(third!, () => {});
  assert.deepEqual(await store.claim(1, at(60), at(70)), []);
  assert.equal(await store.keep(event!, at(60)), false);
});

test("a slow attempt can end after another one has handled the event", async () => {
  const store = memoryEventStore();
  await store.keep(event!, at(0));
  const [slow] = await store.claim(1, at(0), at(10));
  const [second] = await store.claim(1, at(10), at(20));
  await store.finish(second!, () => {});
  await store.finish(slow!, () => {});
  await store.postpone(slow!, at(0));
  assert.deepEqual(await store.claim(1, at(60), at(70)), []);
});

test("ids of handled events are remembered up to the capacity, and the oldest are forgotten first", async () => {
  const store = memoryEventStore({ capacity: 2 });
  for (const id of ["a", "b", "c"]) {
    await store.keep({ ...event!, id }, at(0));
    const [claimed] = await store.claim(1, at(0), at(10));
    await store.finish(claimed!, () => {});
  }
  const isNew = ["c", "b", "a"].map((id) => store.keep({ ...event!, id }, at(20)));
  assert.deepEqual(isNew, [false, false, true]);
});

test("a store can return a promise for full", async () => {
  for (const [isFull, status] of [
    [false, 200],
    [true, 429],
  ] as const) {
    const receiver = createWebhookReceiver({
      auth: { bearer: "hook-token" },
      store: { ...memoryEventStore(), full: async () => isFull },
      handle: () => {},
    });
    const headers = { authorization: "Bearer hook-token", "content-type": "application/json" };
    const request = new Request("https://shop.example/hooks", { method: "POST", headers, body: BODY });
    assert.equal((await receiver.receive(request)).status, status);
    await receiver.stop();
  }
});
