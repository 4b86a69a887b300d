import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { runOnServer, startTestServer, withDatabaseName } from "../../test/test-server.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import type { Invoice } from "../domain/invoice.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { type Database, openDatabase, prepared } from "../postgres/database.ts";
import { migrate } from "../postgres/migrate.ts";

let server: Awaited<ReturnType<typeof startTestServer>>;
let db: Database;
before(async () => {
  server = await startTestServer();
  const locale = "encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' locale 'C'";
  await runOnServer(server.address, `create database turkish template template0 ${locale}`);
  const address = withDatabaseName(server.address, "turkish");
  await migrate(address, pino({ level: "silent" }), { allowDataLoss: true });
  db = openDatabase(address, 2, () => {});
});
after(async () => {
  await db.close();
  await server.stop();
});

test("cases end in a database with a Turkish locale", async () => {
  const ports = testPorts(testClock());
  const merchant = await testMerchant(db, ports);
  const now = ports.now();
  const unpaid: Invoice = {
    id: "inv_1",
    state: "UNPAID",
    customerId: "cus_1",
    amount: 4900,
    currency: "TRY",
    createdAt: now,
    updatedAt: now,
  };
  const paid: Invoice = { ...unpaid, state: "PAID", updatedAt: new Date(now.getTime() + 1000) };
  for (const copy of [unpaid, paid]) await ingestInvoices(db, merchant, [[copy]], ports, () => {});
  const { rows } = await db.run(prepared("test_ends", "select end_reason from cases"));
  assert.deepEqual(rows, [{ end_reason: "paid" }]);
});
