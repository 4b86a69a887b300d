import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { DAY_MS } from "../domain/durations.ts";
import { countMatureInvoices } from "../experiments/count-mature-invoices.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import type { Command } from "./command.ts";
import { createTestContext } from "./context.fixture.ts";
import { experimentList, experimentShow, experimentStart, experimentStop } from "./experiment-commands.ts";

const log = pino({ level: "silent" });
let database: TestDatabase;
let now = new Date("2026-03-02T10:00:00Z");
const ports = { ...realPorts, now: () => now };
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

async function run(command: Command, values: Record<string, string | boolean> = {}) {
  const { context, lines } = createTestContext(database.db, {}, ports);
  const code = await command.run(context, values, []);
  return { code, out: lines.join("\n") };
}

test("an experiment can be started, shown before and after its invoices mature, and stopped", async () => {
  const { db } = database;
  const merchant = await makeMerchant(db);
  await assert.rejects(run(experimentShow), /^Error: No experiments yet/);
  const started = JSON.parse(
    (await run(experimentStart, { name: "holdout", share: "80", margin: "2.5", primary: "EUR", json: true })).out,
  );
  assert.deepEqual([started.share, started.margin, started.primary, started.salt], [0.8, 0.025, "EUR", undefined]);
  await assert.rejects(run(experimentStart, { name: "second" }), /already running/);
  assert.match((await run(experimentShow)).out, /No results yet/);

  const invoices = Array.from({ length: 2000 }, (_, n) => ({
    id: `inv_${String(n).padStart(5, "0")}`,
    state: "UNPAID" as const,
    customerId: `cus_${n}`,
    amount: 1000,
    currency: "EUR",
    createdAt: now,
    updatedAt: now,
  }));
  await ingestInvoices(db, merchant, [[...invoices]], ports, () => {});
  await countMatureInvoices({ db, ports, log });
  assert.match((await run(experimentShow)).out, /Too early: an invoice counts 35 days after it failed.*2026-04-06/);
  assert.match((await run(experimentShow)).out, /ARM +CUSTOMERS +COUNTED.*\nDunlin +0 +0 +0 +1\d{3}\n/);
  now = new Date(now.getTime() + DAY_MS);
  const paid = invoices
    .filter((_, n) => n % 2 === 0)
    .map((invoice) => ({ ...invoice, state: "PAID" as const, updatedAt: now }));
  await ingestInvoices(db, merchant, [[...paid]], ports, () => {});
  now = new Date(now.getTime() + 40 * DAY_MS);
  await countMatureInvoices({ db, ports, log });
  const { out } = await run(experimentShow, { days: "5" });
  assert.match(
    out,
    /Cannot tell yet: Dunlin recovers between .* more per 100 EUR of failed invoices\. A verdict is expected in about \d+ weeks?\./,
  );
  assert.match(out, /2000 failed invoices were counted and 0 were too young/);
  assert.match(out, /^2026-04-12 +2000 +[+-]\d/m);
  assert.match(out, /^Dunlin +1\d{3} +1\d{3} +\d{3} +0\nyour own system +\d{3} +\d{3} +\d{3} +0$/m);
  const shown = JSON.parse((await run(experimentShow, { json: true })).out);
  assert.equal(shown.look.comparisons[0].measure, "EUR");

  assert.match((await run(experimentStop)).out, /stopped 2026-04-12/);
  await assert.rejects(run(experimentStop), /No experiment is running/);
  assert.match((await run(experimentList)).out, /holdout +2026-03-02 +stopped 2026-04-12/);
  const audited = await listAuditEntries(db, merchant.id, {}, 10);
  const entries = audited.map(({ operation, actor, object }) => `${operation} by ${actor}: ${object}`).sort();
  const both = ["experiment.started by command line: holdout", "experiment.stopped by command line: holdout"];
  assert.deepEqual(entries, both, "refused commands are not logged");
  const { details } = audited.find(({ operation }) => operation === "experiment.started")!;
  assert.deepEqual([details.share, details.matters], ["80%", "2.5 points"]);
});

test("wrong options are refused with the values they take", async () => {
  await assert.rejects(run(experimentStart), /--name is missing/);
  await assert.rejects(run(experimentStart, { name: "x", share: "100" }), /--share takes a whole number from 1 to 99/);
  await assert.rejects(run(experimentStart, { name: "x", primary: "euros" }), /--primary takes count or a currency/);
  await assert.rejects(run(experimentStart, { name: "x", margin: "0" }), /--margin takes points from 0.1 to 50/);
});
