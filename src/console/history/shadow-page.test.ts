import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../../../lab/trial/open-world.ts";
import { DAY_MS } from "../../domain/durations.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { ingestTransactions } from "../../ingest/ingest.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createModelCache } from "../../learning/model-cache.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { processDueCases } from "../../recovery/process-due-cases.ts";
import { listJobs } from "../../tables/job-queue.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop(shadow: boolean) {
  const merchant = await createMerchant(at.db, "Shop", { shadow }, SECRET_KEYS, at.ports);
  return { merchant, viewer: await at.browser(await at.person("viewer", merchant)) };
}

async function decide() {
  const { db, ports } = at;
  const log = pino({ level: "silent" });
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
  while ((await processDueCases({ db, ports, log, onEvents() {}, onWithdrawn() {}, models })).processedCount > 0)
    at.clock.serviceMs++;
}

async function attempt(merchant: Merchant, id: string, state: "PAID" | "FAILED") {
  const now = at.ports.now();
  const invoice = { id: "in_1", customerId: "cus_1", amount: 4_900, currency: "EUR" };
  const moments = { createdAt: now, updatedAt: now };
  const transaction = {
    id,
    state,
    invoiceId: "in_1",
    customerId: "cus_1",
    amount: 4_900,
    currency: "EUR",
    ...moments,
    ...(state === "FAILED" && { networkDeclineCode: "51" }),
  };
  await ingestTransactions(at.db, merchant, [[transaction]], at.ports, () => {});
  const unpaid = { ...invoice, ...moments, state: state === "PAID" ? "PAID" : "UNPAID" } as const;
  await ingestInvoices(at.db, merchant, [[unpaid]], at.ports, () => {});
  await decide();
}

test("a form compares Dunlin's plans with the merchant's retries in batches, and the page shows the result", async () => {
  const { merchant, viewer } = await shop(true);
  const page = async () => (await viewer.get("/shadow")).body;
  assert.match(await page(), /Shadow mode is on/);
  await attempt(merchant, "t_1", "FAILED");
  at.clock.serviceMs += 12 * DAY_MS;
  await attempt(merchant, "t_2", "FAILED");
  at.clock.serviceMs += DAY_MS;
  await attempt(merchant, "t_3", "PAID");
  at.clock.serviceMs += 40 * DAY_MS;
  const reply = await viewer.post("/shadow");
  assert.equal(reply.headers.location, "/shadow");
  await viewer.post("/shadow");
  assert.equal((await listJobs(at.db, merchant.id, "shadow", 9)).length, 1, "one is under way at a time");
  assert.match(await page(), /data-live="2"[\s\S]*Comparing: 0 invoices so far/);
  assert.doesNotMatch(await page(), /Compare again/);
  await at.work("shadow");
  const found = await page();
  assert.match(found, /As of <time[\s\S]*1 invoice became unpaid from \d+ \w+ \d{4} on; 1 is old enough to count/);
  assert.match(found, /<p class="lead">1 of 1 was paid<\/p>[\s\S]*>EUR<[\s\S]*>EUR.49\.00<[\s\S]*>EUR.49\.00</);
  assert.match(found, /By its own model these plans would recover \d\.\d of them; 1 was paid/);
  assert.match(found, /have retried more than 12 hours earlier<\/td><td class="number" data-head="Retries">1</);
  assert.match(found, /Compare again/);
});

test("the page says when shadow mode has no unpaid invoice, and how to turn it on while it is off", async () => {
  const { viewer } = await shop(false);
  const before = (await viewer.get("/shadow")).body;
  assert.match(before, /Shadow mode is off[^<]*An owner or admin can turn it on/);
  await viewer.post("/shadow");
  await at.work("shadow");
  assert.match((await viewer.get("/shadow")).body, /No invoice has become unpaid in shadow mode/);
  assert.equal((await viewer.get("/shadow?x=1")).statusCode, 400);
});
