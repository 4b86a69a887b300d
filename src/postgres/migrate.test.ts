import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import pino from "pino";
import { createTestDatabase } from "../../test/database.ts";
import { prepared } from "./database.ts";
import { migrate } from "./migrate.ts";

const log = pino({ level: "silent" });
const { db, address, drop } = await createTestDatabase();
after(drop);

let folder: string;
const run = () => migrate(address, log, { folder, allowDataLoss: true });
const file = (name: string, sql: string) => writeFile(join(folder, name), sql);
const rows = async (sql: string) => (await db.run(prepared("", sql))).rows;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "dunlin-migrations-"));
  await file("0001_one.sql", "create table one (n int4);\ninsert into one values (1);");
  await db.run(prepared("", "drop schema public cascade; create schema public"));
});
afterEach(() => rm(folder, { recursive: true }));

test("each migration is applied once when four processes start at once", async () => {
  await file("0002_two.sql", "select pg_sleep(0.2); insert into one values (2);");
  const results = await Promise.all([run(), run(), run(), run()]);
  assert.deepEqual(results.map(({ applied }) => applied).sort(), [0, 0, 0, 2]);
  assert.deepEqual(await rows("select n from one order by n"), [{ n: 1 }, { n: 2 }]);
});

test("a later start applies only new migrations", async () => {
  assert.deepEqual(await run(), { applied: 1, spread: [] });
  assert.deepEqual(await run(), { applied: 0, spread: [] });
  await file("0002_two.sql", "insert into one values (2)");
  assert.deepEqual(await run(), { applied: 1, spread: [] });
  assert.deepEqual(await rows("select number, name from schema_migrations order by number"), [
    { number: 1, name: "0001_one.sql" },
    { number: 2, name: "0002_two.sql" },
  ]);
});

test("a new database is logged in one line, and each later migration in a line", async () => {
  const lines: string[] = [];
  const told = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });
  const upTo = () => migrate(address, told, { folder, allowDataLoss: true });
  await file("0002_two.sql", "insert into one values (2)");
  await upTo();
  await file("0003_three.sql", "insert into one values (3)");
  await upTo();
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [
      { level: 30, migrations: 2, msg: "schema.created" },
      { level: 30, migration: "0003_three.sql", msg: "migration.applied" },
    ],
  );
});

test("a migration is refused by name when it was changed after it was applied", async () => {
  await run();
  await file("0001_one.sql", "create table one (n int8);");
  await assert.rejects(run(), /0001_one\.sql was changed after it was applied/);
});

test("a database from a newer version is refused", async () => {
  await file("0002_two.sql", "insert into one values (2)");
  await run();
  await rm(join(folder, "0002_two.sql"));
  await assert.rejects(run(), /migration 0002_two\.sql, which this version does not know/);
});

test("a migration that fails changes nothing and reports the line", async () => {
  await file("0002_two.sql", "create table two (n int4);\ninsert into one values (2);\nselect nothing from nowhere;");
  await assert.rejects(run(), /migration 0002_two\.sql failed at line 3: relation "nowhere" does not exist/);
  assert.deepEqual(await rows("select n from one"), [{ n: 1 }]);
  assert.deepEqual(await rows("select to_regclass('two') as two"), [{ two: null }]);
  await file("0002_two.sql", "insert into one values (2)");
  assert.deepEqual(await run(), { applied: 1, spread: [] });
});

test("a migration marked `no-transaction` runs outside a transaction while other processes wait", async () => {
  await file("0002_index.sql", "-- no-transaction\ncreate index concurrently if not exists one_n on one (n);");
  const results = await Promise.all([run(), run(), run()]);
  assert.deepEqual(results.map(({ applied }) => applied).sort(), [0, 0, 2]);
  assert.deepEqual(await rows("select indisvalid as valid from pg_index where indexrelid = 'one_n'::regclass"), [
    { valid: true },
  ]);
});

test("a gap in the migration numbers is refused", async () => {
  await file("0003_three.sql", "select 1");
  await assert.rejects(run(), /0003_three\.sql: its number must be 2/);
});

test("a server is refused when it may lose acknowledged writes", async () => {
  await assert.rejects(migrate(address, log, { folder }), /fsync=off/);
});

test("the migrations of this repository apply to an empty database", async () => {
  const { applied } = await migrate(address, log, { allowDataLoss: true });
  assert.ok(applied > 0);
  assert.deepEqual(await migrate(address, log, { allowDataLoss: true }), { applied: 0, spread: [] });
});
