import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { DAY_MS } from "../domain/durations.ts";
import { countMatureInvoices } from "../experiments/count-mature-invoices.ts";
import { planInvoiceCount } from "../experiments/statistics/sample-size.ts";
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

test("start and show print the planned number of invoices and the date, which the results replace", async () => {
  const { db } = database;
  const merchant = await makeMerchant(db);
  const runOwn = (command: Command, values = {}) => run(command, { merchant: merchant.id, ...values });
  const push = async (name: string, count: number, isPaid = (_: number) => false) => {
    const invoices = Array.from({ length: count }, (_, n) => ({
      ...{ id: `${name}_${n}`, state: "UNPAID" as const, customerId: `${name}_${n}`, amount: 1000, currency: "EUR" },
      ...{ createdAt: now, updatedAt: now },
    }));
    await ingestInvoices(db, merchant, [[...invoices]], ports, () => {});
    const updatedAt = new Date(now.getTime() + 1);
    const paid = invoices.filter((_, n) => isPaid(n)).map((each) => ({ ...each, state: "PAID" as const, updatedAt }));
    if (paid.length > 0) await ingestInvoices(db, merchant, [[...paid]], ports, () => {});
  };
  await push("old", 500, (n) => n % 10 < 3);
  now = new Date(now.getTime() + 40 * DAY_MS);
  for (let day = 0; day < 28; day++) {
    await push(`day${day}`, 10);
    now = new Date(now.getTime() + DAY_MS);
  }
  const count = { customers: 500, due: 500, got: 150, dueDue: 500, dueGot: 150, gotGot: 150 };
  const needed = planInvoiceCount(count, 500, { share: 0.5, margin: 0.03 })!;
  const reachedAt = new Date(now.getTime() + (needed / 10 + 35) * DAY_MS);
  const started = (await runOwn(experimentStart, { name: "planned" })).out;
  const planLine = new RegExp(
    `^plan +0 of ${needed} failed invoices counted, enough by about ${reachedAt.toISOString().slice(0, 10)}$`,
    "m",
  );
  assert.match(started, planLine);
  assert.match(started, /^rate +10 failed invoices a day, as in the last 28 days$/m);
  assert.match((await runOwn(experimentShow)).out, planLine);
  const plan = JSON.parse((await runOwn(experimentShow, { json: true })).out).plan;
  assert.deepEqual(plan, {
    ...{ counted: 0, needed, isUpperBound: false, state: "expected" },
    reachedAt: reachedAt.toISOString(),
  });
  await push("in", 600, (n) => n % 3 === 0);
  now = new Date(now.getTime() + 40 * DAY_MS);
  await countMatureInvoices({ db, ports, log });
  const later = JSON.parse((await runOwn(experimentShow, { json: true })).out).plan;
  assert.equal(later.counted, 600);
  assert.notEqual(later.needed, needed, "by the spread that the experiment has measured");
  await runOwn(experimentStop);
  assert.match((await runOwn(experimentShow)).out, /^plan +600 of \d+ failed invoices counted, not reached: no more/m);
  const byMoney = JSON.parse((await runOwn(experimentStart, { name: "money", primary: "USD", json: true })).out).plan;
  assert.deepEqual([byMoney.needed, byMoney.state, byMoney.reachedAt], [null, "unplanned", null]);
  assert.match(
    (await runOwn(experimentShow)).out,
    /^plan +unknown until the first results: it depends on your amounts in USD$/m,
  );
});

test("without a history the plan is an upper bound, and has no date if no invoice fails", async () => {
  const merchant = await makeMerchant(database.db);
  const { out } = await run(experimentStart, { merchant: merchant.id, name: "first" });
  assert.match(out, /^plan +0 of at most \d+ failed invoices counted, no date: no invoice has failed lately$/m);
  assert.match(out, /^rate +no invoice has failed in the last 28 days$/m);
});

test("wrong options are refused with the values they take", async () => {
  await assert.rejects(run(experimentStart), /--name is missing/);
  await assert.rejects(run(experimentStart, { name: "x", share: "100" }), /--share takes a whole number from 1 to 99/);
  await assert.rejects(run(experimentStart, { name: "x", primary: "euros" }), /--primary takes count or a currency/);
  await assert.rejects(run(experimentStart, { name: "x", margin: "0" }), /--margin takes points from 0.1 to 50/);
});
