import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { readSettings } from "../../src/config/config.ts";
import { type Role, type RunningService, start } from "../../src/start.ts";
import { createCaller } from "../contract/api-caller.ts";
import { openShop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { answerInOrder, startWebhookEndpoint } from "../contract/webhook-endpoint.ts";
import { createTestDatabase } from "../database.ts";
import { databaseUrlOf } from "../database-url.ts";
import { findFreePort } from "../free-port.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

// Each role as in a separate process, with its own pool, leases and hints. Sharing one Node process does not change this.
const endpoint = await startWebhookEndpoint();
const folder = await mkdtemp(join(tmpdir(), "dunlin-split-"));
removeAtExit(folder);
exitWhenInterrupted();
const caFile = join(folder, "webhook-ca.pem");
writeFileSync(caFile, endpoint.ca);
const SECRET_KEY = randomBytes(32).toString("base64");
const database = await createTestDatabase();
const running: RunningService[] = [];
after(async () => {
  await endpoint.close();
  await Promise.all(running.map((each) => each.stop()));
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function startWithRoles(...roles: Role[]) {
  const { settings, problems } = readSettings(
    {
      DATABASE_URL: databaseUrlOf(database.address),
      DUNLIN_DATA: folder,
      DUNLIN_SECRET_KEY: SECRET_KEY,
      DUNLIN_PORT: String(await findFreePort()),
      DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port}`,
      DUNLIN_WEBHOOK_CA: caFile,
    },
    () => null,
    new Date(),
  );
  assert.deepEqual(problems, []);
  const log = pino({ level: "silent" });
  const onFatal = (error: Error) => assert.fail(error);
  const one = await start({ settings, roles: new Set(roles), log, onFatal, allowDataLoss: true });
  running.push(one);
  return { ...one, settings };
}

test("a pushed invoice becomes a webhook at once, and its delivery shows at once, when API, decisions and deliveries run in separate processes", async (t) => {
  const api = await startWithRoles("api");
  await startWithRoles("decide");
  await startWithRoles("deliver");
  const { call, close } = createCaller(api.settings.baseUrl, readFileSync(api.caPath!, "utf8"));
  const shop = await openShop(api.store, endpoint, call, { answer: answerInOrder(200) });
  await sleep(1_000);
  const toHookMs: number[] = [];
  const toSentMs: number[] = [];
  for (let i = 0; i < 12; i++) {
    const from = shop.received.length;
    const invoice = shop.invoice();
    await shop.push("invoices", invoice);
    const answeredMs = performance.now();
    const hook = () => shop.received.slice(from).find(({ json }) => json.type === "recovery_action");
    await eventually(hook, "the webhook");
    toHookMs.push(hook()!.atMs - answeredMs);
    const isSent = async () =>
      (await shop.actions({ invoiceId: String(invoice.id) })).some(({ status }) => /_SENT$/.test(String(status)));
    await eventually(isSent, "the status");
    toSentMs.push(performance.now() - hook()!.atMs);
  }
  close();
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;
  t.diagnostic(
    `200 of the ingest to the webhook: p50 ${median(toHookMs).toFixed(0)} ms; webhook to SENT: p50 ${median(toSentMs).toFixed(0)} ms`,
  );
  // Without hints each would take half of a poll: 500 ms for the decision, 1,000 ms for the delivery.
  assert.ok(median(toHookMs) < 250 && median(toSentMs) < 250);
});
