import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiReply } from "./api-caller.ts";
import type { Shop } from "./contract-shop.ts";
import { type Service, useService } from "./running-service.ts";

// "Limits" and "Versioning". Separate tests cover the attempts, the reply time and the page size.
const use = useService();
let service: Service;
before(async () => {
  service = await use.start();
});
after(() => use.end());

const quiet = (limits = {}) => service.shop({ endpoint: false, ...limits });
const burst = async (shop: Shop, count: number): Promise<ApiReply[]> =>
  Promise.all(Array.from({ length: count }, () => shop.list({ pageSize: 1 })));
const allowed = (replies: readonly ApiReply[]) => replies.filter(({ status }) => status === 200).length;

for (const kind of ["subscriptions", "invoices"] as const) {
  const records = (shop: Shop, count: number) =>
    Array.from({ length: count }, () => (kind === "invoices" ? shop.invoice() : shop.subscription()));

  test(`items per ingest request: 1, 100 and 200 ${kind} are accepted, so both of the conflicting statements hold`, async () => {
    const shop = await quiet();
    for (const count of [1, 100, 200]) await shop.push(kind, ...records(shop, count));
  });

  test(`items per ingest request: the behavior beyond the limit is not shown: 0 or more than 200 ${kind} are a 400`, async () => {
    const shop = await quiet();
    for (const count of [0, 201, 1000]) {
      const { status, json } = await shop.post(kind, records(shop, count));
      assert.equal(status, 400, String(count));
      assert.match(String(json.message), new RegExp(`^${kind} must hold at (most 200 records|least one record)`));
    }
  });
}

test("default rate limit: 100 requests per second; exceeding it gives 429", async () => {
  const shop = await quiet();
  const startedMs = performance.now();
  const replies: ApiReply[] = [];
  // The bucket holds a second's worth of requests. A slow machine needs more than one burst to empty it.
  for (let bursts = 0; bursts < 10 && allowed(replies) === replies.length; bursts++)
    replies.push(...(await burst(shop, 600)));
  const most = 100 + ((performance.now() - startedMs) / 1000) * 100;
  assert.ok(allowed(replies) >= 100 && allowed(replies) <= most + 1, `${allowed(replies)} of at most ${most}`);
  const refused = replies.filter(({ status }) => status !== 200);
  assert.ok(refused.length > 0);
  for (const { status } of refused) assert.equal(status, 429);
});

test("default rate limit: a client within it is never refused", async () => {
  const shop = await quiet();
  const replies: Promise<ApiReply>[] = [];
  for (let ticks = 0; ticks < 15; ticks++) {
    replies.push(...Array.from({ length: 9 }, () => shop.list({ pageSize: 1 })));
    await sleep(100);
  }
  assert.equal(allowed(await Promise.all(replies)), 135);
});

test("recommended concurrency: 5 concurrent requests are served", async () =>
  assert.equal(allowed(await burst(await quiet(), 5)), 5));

test("a higher limit can be requested: it is set per merchant", async () =>
  assert.equal(allowed(await burst(await quiet({ ratePerSecond: 1000, rateBurst: 300 }), 200)), 200));

test("rate-limit headers and a retry-after value are not shown: a request succeeds after the time in Retry-After", async () => {
  const shop = await quiet({ ratePerSecond: 1, rateBurst: 2 });
  const replies = await burst(shop, 3);
  const { headers } = replies.find(({ status }) => status === 429)!;
  assert.ok(headers.ratelimit !== undefined && headers["ratelimit-policy"] !== undefined);
  await sleep(Number(headers["retry-after"]) * 1000);
  assert.equal((await shop.list()).status, 200);
});

test("list page size: 1 to 100, default 100", async () => {
  const shop = await quiet();
  for (const pageSize of [1, 100]) assert.equal((await shop.list({ pageSize })).status, 200);
});

test("versioning: the API version is a path segment, /v1/…", async () => {
  const shop = await quiet();
  for (const path of ["/v2/recovery_actions", "/recovery_actions", "/v1/ingest/invoices"])
    assert.equal((await shop.call({ path })).status, 404, path);
  assert.equal((await shop.call({ path: "/v1/recovery_actions" })).status, 200);
});
