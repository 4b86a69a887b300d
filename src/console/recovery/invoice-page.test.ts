import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../../../lab/trial/open-world.ts";
import { ingestTransactions } from "../../ingest/ingest.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createModelCache } from "../../learning/model-cache.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { prepared } from "../../postgres/database.ts";
import { processDueCases } from "../../recovery/process-due-cases.ts";
import { createTestConsole, SECRET_KEYS } from "../console.fixture.ts";

const DUE = prepared("test_due", "select min(due_at) as at from due_cases");

test("an undelivered instruction is shown as waiting, not as planned for a past time", async (t) => {
  const at = await createTestConsole();
  t.after(() => at.close());
  const { db, ports } = at;
  const log = pino({ level: "silent" });
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
  const decide = async () => {
    while ((await processDueCases({ db, ports, log, onEvents() {}, onWithdrawn() {}, models })).processedCount > 0)
      at.clock.serviceMs++;
  };
  const credential = { auth: "bearer", secret: "t" } as const;
  const settings = { webhookUrl: "https://shop.example/hooks", credential };
  const merchant = await createMerchant(db, "Shop", settings, SECRET_KEYS, ports);
  const now = ports.now();
  const invoice = { id: "in_a", state: "UNPAID", customerId: "cus_1", amount: 4_900, currency: "EUR" } as const;
  await ingestInvoices(db, merchant, [[{ ...invoice, createdAt: now, updatedAt: now }]], ports, () => {});
  await decide();
  const viewer = await at.browser(await at.person("viewer", merchant));
  const page = async () => (await viewer.get("/invoices/in_a")).body;
  assert.match(await page(), /unpaid for \d+ \w+, next action planned for <time/);
  assert.match((await viewer.get("/invoices")).body, /<td class="num opt">\d+<\/td><td class="opt"><time/);
  at.clock.serviceMs = (await db.run<{ at: Date }>(DUE)).rows[0]!.at.getTime();
  await decide();
  assert.match(
    await page(),
    /, an instruction is waiting for delivery<\/p>[\s\S]*Next action<\/dt><dd>waiting for delivery/,
  );
  assert.doesNotMatch(
    (await viewer.get("/invoices")).body,
    /<td class="num opt">\d+<\/td><td class="opt"><time/,
    "its moment has passed",
  );
});

test("a partly paid invoice shows the amount due", async (t) => {
  const at = await createTestConsole();
  t.after(() => at.close());
  const { db, ports, merchant } = at;
  const now = ports.now();
  const invoice = { id: "in_a", state: "UNPAID", customerId: "cus_1", amount: 4_900, currency: "EUR" } as const;
  await ingestInvoices(db, merchant, [[{ ...invoice, createdAt: now, updatedAt: now }]], ports, () => {});
  const page = async () => (await (await at.as("viewer")).get("/invoices/in_a")).body;
  assert.doesNotMatch(await page(), /Amount due/);
  const part = { id: "tx_1", state: "PAID", invoiceId: "in_a", amount: 1_900, currency: "EUR" } as const;
  await ingestTransactions(db, merchant, [[{ ...part, createdAt: now, updatedAt: now }]], ports, () => {});
  assert.match(await page(), /Amount due<\/dt><dd>EUR.30\.00</);
});
