import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
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
  assert.match(await run("inv_1"), /^Times are those of .*\nLast done .*\nWhy .*not processed yet.*\n\nWhat happened/);
  assert.doesNotMatch(await run("inv_1"), /It has not stopped/);
  await assert.rejects(run("inv_both"), /2 merchants have an invoice inv_both\. Choose one with --merchant/);
  assert.match(await run("inv_both", { merchant: second.id }), /inv_both: EUR 3\.00, UNPAID/);
  await assert.rejects(run("inv_2"), /There is no invoice inv_2/);
  await assert.rejects(run("inv_1", { merchant: second.id }), /There is no invoice inv_1/);
});
