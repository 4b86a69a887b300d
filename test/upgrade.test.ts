import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { prepared } from "../src/store/database.ts";
import type { TestDatabase } from "./database.ts";
import { emptyDatabase, migrateTo } from "./old-schema.ts";
import { fill } from "./plans/fill.ts";

/** The last migration before versions, balances and conflicts were kept. */
const BEFORE = 30;
let database: TestDatabase;
before(async () => {
  database = await emptyDatabase();
});
after(() => database.drop());

const text = (sql: string) => prepared("", sql);

test("a database from before versions keeps its rows, and knows since when each invoice is unpaid", async () => {
  await migrateTo(database.address, BEFORE);
  const { db } = database;
  await fill(db, { first: 1, last: 3, invoices: 400 });
  await db.run(
    text("update invoices set state = 'PAID', updated_at = updated_at + interval '1 day' where right(id, 1) = '7'"),
  );
  await db.run(text("update cases set unpaid_at = unpaid_at - interval '3 days' where right(invoice_id, 1) = '3'"));
  await db.run(text("update cases set invoice_left = true where right(invoice_id, 1) = '4'"));
  const counts = async () => {
    const found = new Map<string, number>();
    for (const table of ["subscriptions", "invoices", "transactions", "cases", "events", "recovery_actions"])
      found.set(table, (await db.run<{ n: number }>(text(`select count(*) as n from ${table}`))).rows[0]!.n);
    return found;
  };
  const outcomes = async () =>
    (await db.run(text("select outcome, count(*) as n from cases group by 1 order by 1"))).rows;
  const [rows, results] = [await counts(), await outcomes()];
  assert.ok((await migrateTo(database.address)) > 0);
  assert.deepEqual([await counts(), await outcomes()], [rows, results]);
  const since = await db.run<{ last: string; n: number; expected: boolean }>(
    text(`select right(i.id, 1) as last, count(*) as n,
              bool_and(i.unpaid_since is not distinct from case right(i.id, 1)
                when '7' then null when '4' then i.updated_at else c.unpaid_at end) as expected
            from invoices i join cases c on c.merchant_id = i.merchant_id and c.invoice_id = i.id group by 1 order by 1`),
  );
  assert.equal(since.rows.length, 10);
  for (const { last, n, expected } of since.rows) assert.deepEqual([last, n, expected], [last, 120, true]);
});
