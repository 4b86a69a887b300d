import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createOptOutLinks } from "../../connectors/kit/messages/opt-out.ts";
import { createConnectorStore } from "../../connectors/kit/store.ts";
import { type StripeDouble, startStripeDouble } from "../../connectors/stripe/double/double-server.ts";
import { API_VERSION } from "../../connectors/stripe/stripe-account.ts";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { findFreePort } from "../../test/free-port.ts";
import { realPorts, SECRET_KEYS } from "../delivery/deliverer.fixture.ts";
import type { Merchant } from "../domain/merchant.ts";
import { changeMerchant, createMerchant } from "../merchants/merchant-settings.ts";
import { prepared } from "../postgres/database.ts";
import { findConnection } from "../tables/connections.ts";
import { findMerchant } from "../tables/merchants.ts";
import type { OptionValues } from "./command.ts";
import { connectStripe } from "./connect-stripe.ts";
import { createTestContext } from "./context.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-connect-stripe-"));
const KEY_FILE = join(folder, "stripe-key");
let database: TestDatabase;
let double: StripeDouble;
before(async () => {
  database = await createTestDatabase();
  writeFileSync(KEY_FILE, "rk_test_enough", { mode: 0o600 });
  double = await startStripeDouble({
    ...{ now: realPorts.now, apiVersion: API_VERSION, keys: [{ secret: "rk_test_enough", scopes: null }] },
    ...{ askBank: () => ({ kind: "approved" }), monotonicMs: () => performance.now(), perSecond: 1_000 },
  });
});
after(async () => {
  await double?.close();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** A merchant, and `dunlin connect stripe` for it: it ends as soon as it has started. */
async function setUp() {
  const { db } = database;
  const { id } = await createMerchant(db, "Shop", {}, SECRET_KEYS, realPorts);
  const settings = {
    dataDir: folder,
    baseUrl: "https://localhost:8443",
    authUrl: "https://localhost:8443",
    mail: null,
  };
  const run = async (values: OptionValues = {}) => {
    const { context, lines } = createTestContext(db, settings);
    const given = { merchant: id, "stripe-url": double.url, "stripe-key-file": KEY_FILE, ...values };
    const code = await connectStripe.run({ ...context, stopped: Promise.resolve() }, given, []);
    return { code, text: lines.join("\n") };
  };
  return {
    id,
    run,
    check: async (values: OptionValues = {}) => (await run({ ...values, check: true })).text,
    merchant: async () => (await findMerchant(db, id))!,
    connection: () => findConnection(db, id, "stripe"),
    change: (settings: Parameters<typeof changeMerchant>[2]) =>
      changeMerchant(db, id, settings, SECRET_KEYS, realPorts),
  };
}

test("a plain start keeps the port, the host and the endpoint of the start before", async () => {
  const { run, merchant, connection } = await setUp();
  const port = await findFreePort();
  await run({ port: String(port) });
  assert.equal((await merchant()).webhookUrl, `https://127.0.0.1:${port}/dunlin`);
  await run();
  assert.equal((await merchant()).webhookUrl, `https://127.0.0.1:${port}/dunlin`);
  assert.equal((await connection())!.localPort, port);

  await run({ host: "0.0.0.0", "endpoint-url": "https://connector.internal:8444" });
  await run();
  const { settings, localPort } = (await connection())!;
  assert.deepEqual(
    [settings.host, settings.port, settings.endpointUrl, localPort],
    ["0.0.0.0", port, "https://connector.internal:8444/dunlin", null],
  );
  assert.equal((await merchant()).webhookUrl, "https://connector.internal:8444/dunlin");
  await run({ "endpoint-url": "local" });
  assert.equal((await merchant()).webhookUrl, `https://127.0.0.1:${port}/dunlin`);
  await assert.rejects(
    run({ "endpoint-url": "http://connector.internal" }),
    /--endpoint-url takes an address with https/,
  );
});

test("an endpoint that a person set meanwhile is replaced only on request", async () => {
  const { run, merchant, change } = await setUp();
  const port = String(await findFreePort());
  await run({ port });
  await change({ webhookUrl: "https://shop.example/hooks" });
  await assert.rejects(run(), /webhooks already go to https:\/\/shop\.example\/hooks\. .*--replace-endpoint/);
  assert.equal((await merchant()).webhookUrl, "https://shop.example/hooks");
  await run({ "replace-endpoint": true });
  assert.equal((await merchant()).webhookUrl, `https://127.0.0.1:${port}/dunlin`);
});

test("nothing is stored if the port is in use, or mails cannot be sent", async () => {
  const { run, merchant, connection } = await setUp();
  const port = await findFreePort();
  const other = createServer().listen(port, "127.0.0.1");
  await assert.rejects(run({ port: String(port) }), /--port: port \d+ is in use/);
  other.close();
  await assert.rejects(run({ port: String(port), messages: "on" }), /--messages on needs a mail server/);
  assert.deepEqual([await connection(), (await merchant()).webhookUrl], [null, null]);
  await run({ port: String(port) });
  const taken = await findFreePort();
  const another = createServer().listen(taken, "127.0.0.1");
  await assert.rejects(run({ port: String(taken) }), /--port: port \d+ is in use/);
  await assert.rejects(run({ "metrics-port": String(taken) }), /--metrics-port: port \d+ is in use/);
  another.close();
  await run();
  assert.equal((await merchant()).webhookUrl, `https://127.0.0.1:${port}/dunlin`);
});

test("a link by which a customer ends mails works after the account was disconnected and connected again", async () => {
  const { id, run } = await setUp();
  const port = String(await findFreePort());
  const secret = async () => (await store.readCursor("opt-out-secret"))!;
  const store = createConnectorStore(database.db, { merchantId: id, connection: "stripe" });
  const publicUrl = { port, "public-url": "https://pay.example" };
  await run(publicUrl);
  const path = new URL(createOptOutLinks("https://pay.example", [await secret()]).linkFor("cus_1")).pathname;
  await run({ disconnect: true });
  await run(publicUrl);
  assert.equal(createOptOutLinks("https://pay.example", [await secret()]).read(path), "cus_1");
});

test("--check makes each kind of call that the connector makes", async () => {
  const { check } = await setUp();
  double.requests.clear();
  const text = await check();
  for (const name of ["Charges: of a payment", "Invoice payments: read", "Disputes: read", "Events: read"])
    assert.match(text, new RegExp(`^ok {4}${name} +allowed$`, "m"));
  assert.deepEqual([double.requests.get("GET /v1/charges"), double.requests.get("GET /v1/invoice_payments")], [2, 1]);
});

const PAUSE = prepared(
  "test_pause_endpoint",
  `update merchants set webhook_paused = true, webhook_paused_at = $2, webhook_paused_by = $3, webhook_failing_since = $2
   where id = $1`,
);
const FAIL = prepared("test_fail_endpoint", "update merchants set webhook_failing_since = $2 where id = $1");

test("a start resumes an endpoint that Dunlin paused, and leaves the pause of a person", async () => {
  const { id, run, merchant, check } = await setUp();
  const port = String(await findFreePort());
  await run({ port });
  const at = new Date("2026-03-01T12:00:00Z");
  const paused = ({ webhookPaused, webhookPausedBy, webhookFailingSince }: Merchant) =>
    [webhookPaused, webhookPausedBy, webhookFailingSince] as const;

  await database.db.run(FAIL, [id, at]);
  assert.match(
    await check(),
    /^fail {2}Dunlin's webhook +every attempt to reach https:\/\/127\S+ has failed since 2026-03-01T12:00:00\.000Z: start the connector/m,
  );
  await database.db.run(PAUSE, [id, at, "dunlin"]);
  assert.match(
    await check(),
    /^fail {2}Dunlin's webhook +Dunlin paused it at 2026-03-01T12:00:00\.000Z, .*: start the connector/m,
  );
  await run();
  assert.deepEqual(paused(await merchant()), [false, null, null]);
  assert.match(await check(), /^ok +Dunlin's webhook/m);

  await database.db.run(PAUSE, [id, at, "person"]);
  await run();
  assert.deepEqual(paused(await merchant()), [true, "person", at]);
  const remedy = new RegExp(
    `^fail {2}Dunlin's webhook +a person paused it at \\S+: npx dunlin merchant set ${id} --resume$`,
    "m",
  );
  assert.match(await check(), remedy);
});

test("--check says that another endpoint gets the events", async () => {
  const { run, change, check } = await setUp();
  await run({ port: String(await findFreePort()) });
  await change({ webhookUrl: "https://shop.example/hooks" });
  assert.match(
    await check(),
    /^fail {2}Dunlin's webhook +events go to https:\/\/shop\.example\/hooks .*--replace-endpoint/m,
  );
});
