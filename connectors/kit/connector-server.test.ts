import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { listConnectorProblems } from "../../src/tables/connections.ts";
import { runService, type Service } from "../../test/contract/running-service.ts";
import { createHealth, createHealthServer } from "./health.ts";
import { createConnectorListener } from "./listener.ts";
import { createOptOutLinks } from "./messages/opt-out.ts";
import { createWebhookReceiver } from "./sdk.ts";
import { type ConnectorStore, createConnectorStore } from "./store.ts";

let service: Service;
let store: ConnectorStore;
before(async () => {
  service = await runService();
  const shop = await service.shop({ endpoint: false });
  store = createConnectorStore(service.store.db, { merchantId: shop.id, connection: "stripe" });
});
after(() => service?.stop());

async function listen(server: ReturnType<typeof createServer>, t: { after(end: () => unknown): void }) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a customer ends the mails by a button, not by opening the link; a forged link does nothing", async (t) => {
  const links = createOptOutLinks("https://pay.example", ["a secret"]);
  const older = createOptOutLinks("https://pay.example", ["another secret", "a secret"]);
  assert.equal(older.read(new URL(links.linkFor("cus_1")).pathname), "cus_1");
  assert.equal(links.read(new URL(older.linkFor("cus_1")).pathname), null);
  const bodies: string[] = [];
  const errors: unknown[] = [];
  const listener = createConnectorListener({
    dunlinReceiver: createWebhookReceiver({ auth: { bearer: "token" }, store: store.events, handle: () => {} }),
    providerPath: "/stripe",
    async receiveFromProvider(body) {
      bodies.push(body);
      if (body === "broken") throw new Error("the database is away");
      return 200;
    },
    optOut: { links, record: (customerId) => store.messages.optOut(customerId, service.now()) },
    onError: (error) => errors.push(error),
  });
  const base = await listen(createServer(listener), t);
  const link = base + new URL(links.linkFor("cus_1")).pathname;
  const page = await fetch(link);
  assert.match(await page.text(), /<form method="post"><button>Stop the mails<\/button>/);
  assert.match(page.headers.get("content-security-policy")!, /default-src 'none'/);
  assert.equal(await store.messages.hasOptedOut("cus_1"), false);
  assert.equal((await fetch(link.replace(/.$/, "_"), { method: "POST" })).status, 404);
  assert.equal(await store.messages.hasOptedOut("cus_1"), false);
  assert.match(await (await fetch(link, { method: "POST", body: "List-Unsubscribe=One-Click" })).text(), /Done/);
  assert.equal(await store.messages.hasOptedOut("cus_1"), true);

  const post = async (path: string, body: string) => (await fetch(base + path, { method: "POST", body })).status;
  assert.equal(await post("/stripe", "{}"), 200);
  assert.equal(await post("/stripe", "x".repeat(1024 * 1024 + 1)), 413);
  assert.equal(await post("/stripe", "broken"), 500);
  assert.deepEqual([bodies, errors.length], [["{}", "broken"], 1]);
  assert.equal((await fetch(`${base}/stripe`)).status, 404);
  assert.equal(await post("/dunlin", "{}"), 401);
});

test("the health page turns bad when a change waits for ten minutes or fails, and metrics say so", async (t) => {
  let now = service.now();
  const health = createHealth({ store, name: "stripe, test mode", now: () => now });
  const base = await listen(createHealthServer(health), t);
  const status = async (path: string) => (await fetch(base + path)).status;
  const text = async (path: string) => await (await fetch(base + path)).text();
  await store.writeCursor("last-poll", new Date(now.getTime() + 601_000).toISOString());
  assert.deepEqual([await status("/healthz"), await status("/"), await status("/other")], [200, 200, 404]);
  await store.hint(["in_1"], now);
  now = new Date(now.getTime() + 601_000);
  assert.equal(await status("/healthz"), 503);
  assert.match(await text("/"), /Changes waiting +1, the oldest for 601 s/);
  assert.match(await text("/metrics"), /^dunlin_connector_lag_seconds 601$/m);
  const [hint] = await store.claimHints(1, now, new Date(now.getTime() + 60_000));
  await store.failHint(hint!, now, "Stripe is away");
  health.onCall("refused");
  health.onError("changes", new Error("Stripe is away"));
  health.setPaused(true);
  assert.match(await text("/metrics"), /^dunlin_connector_failing\{kind="change"\} 1$/m);
  assert.match(await text("/metrics"), /^dunlin_connector_calls_total\{outcome="refused"\} 1$/m);
  assert.match(
    await text("/"),
    /Connection +stripe, test mode, paused[\s\S]*Last error .* changes: Error: Stripe is away/,
  );
});

/** A health server of a merchant of its own. */
async function openHealth(t: { after(end: () => unknown): void }) {
  const shop = await service.shop({ endpoint: false });
  const own = createConnectorStore(service.store.db, { merchantId: shop.id, connection: "stripe" });
  let now = service.now();
  const health = createHealth({ store: own, name: "stripe", now: () => now });
  const base = await listen(createHealthServer(health), t);
  const text = async (path: string) => await (await fetch(base + path)).text();
  return {
    own,
    health,
    text,
    shop,
    now: () => now,
    wait: (seconds: number) => {
      now = new Date(now.getTime() + seconds * 1_000);
    },
    polled: () => own.writeCursor("last-poll", now.toISOString()),
    status: async () => (await fetch(`${base}/healthz`)).status,
    failing: async (kind: string) =>
      Number(new RegExp(`^dunlin_connector_failing\\{kind="${kind}"\\} (\\d+)$`, "m").exec(await text("/metrics"))![1]),
  };
}

test("the health page turns bad when no poll has succeeded for ten minutes", async (t) => {
  const { wait, polled, status, text } = await openHealth(t);
  wait(599);
  assert.equal(await status(), 200, "it has just started");
  wait(2);
  assert.equal(await status(), 503);
  assert.match(await text("/"), /Last poll +none yet, for more than 10 minutes/);
  await polled();
  assert.equal(await status(), 200);
  wait(601);
  assert.equal(await status(), 503);
  assert.match(await text("/"), /^State +failing: polls$/m);
  assert.match(await text("/metrics"), /^dunlin_connector_poll_age_seconds 601$/m);
});

test("the health page turns bad when a loop has failed for ten minutes, until a round of it succeeds", async (t) => {
  const { health, wait, polled, status, failing, text } = await openHealth(t);
  const failRound = async () => {
    health.onRound("history", new Error("the key may not list charges"));
    await polled();
  };
  await failRound();
  wait(599);
  await failRound();
  assert.deepEqual([await status(), await failing("loop")], [200, 0]);
  wait(1);
  await failRound();
  assert.deepEqual([await status(), await failing("loop")], [503, 1]);
  assert.match(await text("/"), /^State +failing: loop history$/m);
  health.onRound("history", null);
  assert.equal(await status(), 200);
});

test("the health page turns bad while an action, an event of Dunlin or a release fails", async (t) => {
  const { own, now, wait, polled, status, failing, text, shop } = await openHealth(t);
  await polled();
  await own.planAction({ id: "a-1", invoiceId: "in_1", suggestion: "RETRY", dueAt: now() });
  assert.deepEqual([await status(), await failing("action")], [200, 0]);
  await own.delayAction("a-1", now(), "Stripe is away");
  assert.deepEqual([await status(), await failing("action")], [503, 1]);
  assert.match(await text("/"), /^State +failing: actions$/m);
  await own.endAction("a-1", "skipped", now());
  assert.equal(await status(), 200);

  const event = { id: "e-1", type: "pause_collection", data: { invoiceId: "in_1" } } as never;
  await own.events.keep(event, now());
  const [claimed] = await own.events.claim(1, now(), now());
  await assert.rejects(own.events.finish(claimed!, () => Promise.reject(new Error("Stripe is away"))));
  await own.events.postpone(claimed!, now());
  assert.deepEqual([await status(), await failing("event")], [503, 1]);
  const [problem] = await listConnectorProblems(service.store.db, shop.id, "stripe", 5, now());
  assert.deepEqual([problem!.kind, problem!.problem], ["event", "Error: Stripe is away"]);
  const [again] = await own.events.claim(1, now(), now());
  await own.events.finish(again!, () => {});
  assert.equal(await status(), 200);

  await own.own("in_2", now());
  await own.disown("in_2", now());
  assert.equal(await status(), 200, "it is being given back");
  wait(601);
  await polled();
  assert.deepEqual([await status(), await failing("release")], [503, 1]);
  await own.endRelease("in_2", now());
  assert.equal(await status(), 200);
});
