import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { prepared } from "../postgres/database.ts";
import { enqueueCasesOfCustomers } from "./reevaluation-queue.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const ports = testPorts(testClock());
/** Each customer has ten open cases. */
const INVOICES = prepared(
  "test_invoices_of_customers",
  `insert into invoices (merchant_id, id, state, customer_id, amount, currency, created_at, updated_at)
   select $1, 'in_' || n, 'UNPAID', 'cus_' || n % $2::int, 100, 'EUR', $3, $3 from generate_series(0, 10 * $2::int - 1) n`,
);
const CASES = prepared(
  "test_cases_of_customers",
  `insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at, arm)
   select merchant_id, gen_random_uuid(), id, customer_id, amount, currency, updated_at, updated_at + interval '28 days', 6, updated_at, 'dunlin'
   from invoices where merchant_id = $1`,
);
const READ_QUEUED = prepared(
  "test_poked_cases",
  "select sum(cardinality(case_ids))::int4 as n from case_pokes where merchant_id = $1",
);

test("the open cases of customers are found by one lookup each when statistics are missing", {
  timeout: 60_000,
}, async () => {
  const { db } = database;
  const { id } = await testMerchant(db, ports);
  const customers = 2_000;
  await db.run(INVOICES, [id, customers, ports.now()]);
  await db.run(CASES, [id]);
  const customerIds = Array.from({ length: customers }, (_, n) => `cus_${n}`);
  const invoiceIds = Array.from({ length: customers }, (_, n) => `in_${n}`);
  const begun = performance.now();
  await enqueueCasesOfCustomers(db, id, customerIds, invoiceIds, ports.newId());
  const took = performance.now() - begun;
  assert.equal((await db.run<{ n: number }>(READ_QUEUED, [id])).rows[0]!.n, 9 * customers);
  assert.ok(took < 3_000, `${took} ms`);
});
