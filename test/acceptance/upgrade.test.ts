import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { prepared } from "../../src/postgres/database.ts";
import type { TestDatabase } from "../database.ts";
import { fillMerchants } from "../plans/fill-plans.ts";
import { createEmptyDatabase, migrateTo } from "../schema-versions.ts";

/** The last migration before versions, balances and conflicts were kept. */
const BEFORE = 30;
let database: TestDatabase;
before(async () => {
  database = await createEmptyDatabase();
});
after(() => database.drop());

const text = (sql: string) => prepared("", sql);

test("a database from before versions keeps its rows, and knows since when each invoice is unpaid", async () => {
  await migrateTo(database.address, BEFORE);
  const { db } = database;
  await fillMerchants(db, { first: 1, last: 3, invoices: 400 });
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

/** Released versions, by the last migration that each has. */
const RELEASES = { "0.2.0": 40 };
/** Columns that a later migration rewrites on purpose, as `table.column`: what it makes of them has a test of its own. */
const REWRITTEN: ReadonlySet<string> = new Set();

/** Returns each table's columns. */
async function columnsOf({ db }: TestDatabase): Promise<Map<string, string[]>> {
  const found = await db.run<{ table: string; columns: string[] }>(
    text(`select c.relname::text as table, array_agg(a.attname::text order by a.attname) as columns
          from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
          where c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'schema_migrations'
            and c.relnamespace = current_schema()::regnamespace group by 1`),
  );
  return new Map(found.rows.map(({ table, columns }) => [table, columns]));
}

/** Returns the number of rows and a sum of hashes over these columns of each table. */
async function sumsOf({ db }: TestDatabase, columns: ReadonlyMap<string, readonly string[]>) {
  const sums = new Map<string, unknown>();
  for (const [table, names] of columns) {
    const kept = names.filter((name) => !REWRITTEN.has(`${table}.${name}`));
    const sum = `select count(*) as n, sum(hashtextextended(row(${kept.join(", ")})::text, 0))::text as sum from ${table}`;
    sums.set(table, (await db.run(text(sum))).rows[0]);
  }
  return sums;
}

for (const [release, last] of Object.entries(RELEASES))
  test(`a filled database of ${release} keeps every row and every value`, async (t) => {
    const old = await createEmptyDatabase();
    t.after(() => old.drop());
    await migrateTo(old.address, last);
    await fillMerchants(old.db, { first: 1, last: 2, invoices: 200 });
    const columns = await columnsOf(old);
    assert.ok(columns.size > 30);
    const before = await sumsOf(old, columns);
    await migrateTo(old.address);
    assert.deepEqual(await sumsOf(old, columns), before);
  });
