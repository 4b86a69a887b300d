import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { createModelCache } from "../learning/model-cache.ts";
import { processDueCases } from "../recovery/process-due-cases.ts";
import type { OptionValues } from "./command.ts";
import { runAndCapture } from "./context.fixture.ts";
import { explain } from "./explain.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const run = (invoiceId: string, values: OptionValues = {}) => runAndCapture(database.db, explain, values, [invoiceId]);

test("`explain` finds the merchant of an invoice unless several merchants have the same id", async () => {
  const { db } = database;
  const now = realPorts.now();
  const invoice = { customerId: "cus_1", currency: "EUR", state: "UNPAID" as const, createdAt: now, updatedAt: now };
  const [first, second] = [await makeMerchant(db), await makeMerchant(db)];
  const both = { ...invoice, id: "inv_both" };
  await ingestInvoices(
    db,
    first,
    [
      [
        { ...both, amount: 100 },
        { ...both, id: "inv_1", amount: 200 },
      ],
    ],
    realPorts,
    () => {},
  );
  await ingestInvoices(db, second, [[{ ...both, amount: 300 }]], realPorts, () => {});

  assert.match(await run("inv_1"), /inv_1: EUR 2\.00, UNPAID/);
  assert.match(
    await run("inv_1"),
    /^EUR .*\nTimes are those of .*\nLast done .*\nWhy .*not processed yet.*\n\nHistory/,
  );
  assert.doesNotMatch(await run("inv_1"), /It has not stopped/);
  await assert.rejects(run("inv_both"), /2 merchants have an invoice inv_both\. Choose one with --merchant/);
  assert.match(await run("inv_both", { merchant: second.id }), /inv_both: EUR 3\.00, UNPAID/);
  await assert.rejects(run("inv_2"), /There is no invoice inv_2/);
  await assert.rejects(run("inv_1", { merchant: second.id }), /There is no invoice inv_1/);
});

test("`explain` prints the details only with --all, and each sentence about the zone once", async () => {
  const { db } = database;
  const merchant = await makeMerchant(db);
  const now = realPorts.now();
  const invoice = { customerId: "cus_2", currency: "EUR", state: "UNPAID" as const, createdAt: now, updatedAt: now };
  await ingestInvoices(db, merchant, [[{ ...invoice, id: "inv_all", amount: 4900 }]], realPorts, () => {});
  const log = pino({ level: "silent" });
  const ports = { ...realPorts, now: () => new Date(now.getTime() + 1000) };
  const models = createModelCache({ db, ports, log, prior: null });
  await processDueCases({ db, ports, log, models, onEvents: () => {}, onWithdrawn: () => {} });
  const [summary, all] = [await run("inv_all"), await run("inv_all", { all: true })];
  assert.doesNotMatch(summary, /Input data/);
  assert.match(summary, /\nMore: npx dunlin explain inv_all --all \(/);
  assert.match(all, /\nInput data\n {2}As of /);
  assert.doesNotMatch(all, /\nMore: /);
  assert.equal(summary.split("Times are those of").length, 2);
});
