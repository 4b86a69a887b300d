import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import { readSettings } from "../../src/config/config.ts";
import { makeEvents } from "../../src/delivery/deliverer.fixture.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { prepared } from "../../src/postgres/database.ts";
import { openStore } from "../../src/process/open-store.ts";
import { eventually } from "../contract/running-service.ts";
import { startWebhookEndpoint } from "../contract/webhook-endpoint.ts";
import { databaseUrlOf } from "../database-url.ts";
import { createEnvironment, createServiceFleet } from "../faults/harness/service-fleet.ts";
import { findFreePort } from "../free-port.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

const MERCHANTS = 64;
const EVENTS_EACH = 15;
const CONCURRENCY_CAP = 2;
const ANSWER_MS = 40;

const folder = await mkdtemp(join(tmpdir(), "dunlin-replicas-"));
removeAtExit(folder);
exitWhenInterrupted();
const endpoint = await startWebhookEndpoint();
const caFile = join(folder, "webhook-ca.pem");
writeFileSync(caFile, endpoint.ca);
const shared = {
  DUNLIN_SECRET_KEY: randomBytes(32).toString("base64"),
  DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port}`,
  DUNLIN_WEBHOOK_CA: caFile,
};
const { settings } = readSettings({ DUNLIN_DATA: folder, ...shared }, () => null, new Date());
const store = await openStore(settings, "own", 4, pino({ level: "silent" }), (error) => assert.fail(error));
const { db, ports, secretKeys } = store;

const freePorts = await Promise.all([findFreePort(), findFreePort(), findFreePort()]);
const fleet = createServiceFleet({
  environment: (number) =>
    createEnvironment({
      DATABASE_URL: databaseUrlOf(store.address),
      DUNLIN_DATA: join(folder, `replica-${number}`),
      DUNLIN_PORT: String(freePorts[number]),
      ...shared,
    }),
  words: ["serve", "--roles", "deliver"],
  onEnd: (_process, how) => assert.fail(how),
});
after(async () => {
  await Promise.all(fleet.running().map((each) => each.terminate()));
  await endpoint.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const OWNERS = prepared(
  "test_owners",
  "select owner, array_agg(bucket::int) as buckets from bucket_leases where owner is not null group by owner order by owner",
);
const owners = async () => (await db.run<{ owner: string; buckets: number[] }>(OWNERS)).rows;
const shares = async () => (await owners()).map(({ buckets }) => buckets.length).sort();
const LOG = prepared(
  "test_log",
  "select count(*)::int as lines, count(distinct event_id)::int as events, count(*) filter (where ends = 'delivered')::int as delivered from delivery_attempts",
);
const WAITING = prepared("test_waiting", "select count(*)::int as count from deliveries");

test("two of three senders take over when one is killed, and only its requests in flight are repeated", async (t) => {
  for (let number = 0; number < freePorts.length; number++) await fleet.start();
  await eventually(async () => String(await shares()) === "20,22,22", "fair shares", 30_000);
  const hook = endpoint.hook((_request, response) => {
    setTimeout(() => response.writeHead(200).end(), ANSWER_MS);
  });
  const merchants: Merchant[] = [];
  for (let index = 0; index < MERCHANTS; index++) {
    const given = {
      webhookUrl: hook.url,
      webhookCap: CONCURRENCY_CAP,
      credential: { auth: "bearer" as const, secret: "token" },
      webhookPaused: true,
    };
    merchants.push(await createMerchant(db, `Shop ${index}`, given, secretKeys, ports));
  }
  const merchantOf = new Map<string, Merchant>();
  for (const merchant of merchants)
    for (const { id } of await makeEvents(db, merchant, EVENTS_EACH, ports.now())) merchantOf.set(id, merchant);

  await db.run(
    prepared(
      "test_go",
      "update merchants set webhook_paused = false, webhook_paused_at = null, webhook_paused_by = null",
    ),
  );
  await eventually(() => hook.received.length > (MERCHANTS * EVENTS_EACH) / 3, "a third of it", 60_000);
  const before = await owners();
  await fleet.processes[1]!.kill();
  const killedMs = performance.now();
  await eventually(async () => String(await shares()) === "32,32", "the take-over", 30_000);
  const tookMs = performance.now() - killedMs;
  const waiting = async () => (await db.run<{ count: number }>(WAITING)).rows[0]!.count;
  await eventually(async () => (await waiting()) === 0, "the rest", 60_000);

  const still = new Set((await owners()).map(({ owner }) => owner));
  const lost = new Set(before.filter(({ owner }) => !still.has(owner)).flatMap(({ buckets }) => buckets));
  const byEvent = Map.groupBy(hook.received, ({ json }) => String(json.id));
  assert.equal(byEvent.size, MERCHANTS * EVENTS_EACH, "each event was sent");
  const doubled = [...byEvent].filter(([, requests]) => requests.length > 1);
  for (const [id, [first, ...again]] of doubled) {
    assert.ok(lost.has(merchantOf.get(id)!.bucket), "it was the killed one's");
    assert.ok(again.length === 1 && first!.atMs > killedMs - 2_000, "once more, and it had just been on the wire");
    assert.ok(again[0]!.bytes.equals(first!.bytes));
  }
  const expected = MERCHANTS * EVENTS_EACH;
  assert.deepEqual((await db.run(LOG)).rows, [{ lines: expected, events: expected, delivered: expected }]);
  t.diagnostic(
    `${expected} events, ${doubled.length} twice after kill -9 of one sender in three; its ${lost.size} buckets were taken over in ${(tookMs / 1_000).toFixed(1)} s`,
  );
});
