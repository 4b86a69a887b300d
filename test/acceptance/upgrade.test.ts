import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { prepared } from "../../src/postgres/database.ts";
import type { TestDatabase } from "../database.ts";
import { fillMerchants } from "../plans/fill-plans.ts";
import { readSchemaText } from "../schema/schema-text.ts";
import { SCHEMA_FILE } from "../schema/write-schema.ts";
import { createEmptyDatabase, LAST_OF_0_2_0, migrateTo, pretendHistory } from "../schema-versions.ts";

const text = (sql: string) => prepared("", sql);

/** Released versions, by the last migration of each. */
const RELEASES = { "0.2.0": 40 };
/** Columns that a later migration rewrites on purpose, as `table.column`; separate tests check the result. */
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
    await pretendHistory(old, LAST_OF_0_2_0);
    await fillMerchants(old.db, { first: 1, last: 2, invoices: 200 });
    const columns = await columnsOf(old);
    assert.ok(columns.size > 30);
    const before = await sumsOf(old, columns);
    await migrateTo(old.address);
    // Migration 0047 queues each case once more.
    const queued = await old.db.run(text("delete from case_pokes where id::text !~ '^01' returning case_ids"));
    assert.equal(queued.rows.flatMap(({ case_ids: ids }) => ids as string[]).length, 400);
    assert.deepEqual(await sumsOf(old, columns), before);
  });

test("a database of 0.2.0 has the schema of a new one after the upgrade", async (t) => {
  const [old, fresh] = [await createEmptyDatabase(), await createEmptyDatabase()];
  t.after(() => Promise.all([old.drop(), fresh.drop()]));
  await migrateTo(old.address, LAST_OF_0_2_0.number);
  await pretendHistory(old, LAST_OF_0_2_0);
  assert.ok((await migrateTo(old.address)) > 0);
  await migrateTo(fresh.address);
  assert.equal(await readSchemaText(old.db), await readSchemaText(fresh.db));
});

test("a database from before 0.2.0 is refused in one line with the upgrade path, and stays unchanged", async (t) => {
  const old = await createEmptyDatabase();
  t.after(() => old.drop());
  await migrateTo(old.address, LAST_OF_0_2_0.number);
  await pretendHistory(old, { number: 30, name: "0030_latest_attempts.sql", checksum: "30" });
  await assert.rejects(migrateTo(old.address), {
    message:
      "the database is at migration 0030_latest_attempts.sql, and this version begins after 0040_baseline.sql: start Dunlin 0.2.0 on it once, then this version",
  });
  assert.equal((await old.db.run(text("select from schema_migrations"))).rowCount, 30);
});

test("a database whose last migration is not that of 0.2.0 is refused", async (t) => {
  const old = await createEmptyDatabase();
  t.after(() => old.drop());
  await migrateTo(old.address, LAST_OF_0_2_0.number);
  await pretendHistory(old, { ...LAST_OF_0_2_0, checksum: "0".repeat(64) });
  await assert.rejects(migrateTo(old.address), /0040_baseline\.sql was changed after it was applied/);
});

test("schema.sql is the schema of a new database: run npm run generate", async (t) => {
  const fresh = await createEmptyDatabase();
  t.after(() => fresh.drop());
  await migrateTo(fresh.address);
  assert.equal(readFileSync(SCHEMA_FILE, "utf8"), await readSchemaText(fresh.db));
});

test("schema.sql creates that schema", async (t) => {
  const [fresh, copy] = [await createEmptyDatabase(), await createEmptyDatabase()];
  t.after(() => Promise.all([fresh.drop(), copy.drop()]));
  await migrateTo(fresh.address);
  await copy.db.run(text(readFileSync(SCHEMA_FILE, "utf8")));
  assert.equal(await readSchemaText(copy.db), await readSchemaText(fresh.db));
});
