import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import { firstActions } from "../../src/store/action-list.ts";
import { ORDERS } from "../../src/store/action-listing.ts";
import {
  type Address,
  type Database,
  openDatabase,
  plannedOnce,
  prepared,
  type Statement,
} from "../../src/store/database.ts";
import { sqlState } from "../../src/store/database-errors.ts";
import { keepDeliveryLog } from "../../src/store/delivery-log.ts";
import { findInvoices } from "../../src/store/invoices.ts";
import { migrate } from "../../src/store/migrate.ts";
import { insertRequestHeads, requestHead } from "../../src/store/request-heads.ts";
import { keepRequestLog } from "../../src/store/request-log.ts";
import { rolesAreUsable, signedIn, statementsForRoles, wallFacts } from "../../src/store/roles.ts";
import { openWalled } from "../../src/store/walled.ts";
import { stopAutovacuum, testDatabase } from "../database.ts";
import { fill } from "../plans/fill.ts";
import { live, portsOf, rowsOf, shop } from "./life.ts";
import { forgetful, names, through } from "./statements.ts";

const { db, address, drop } = await testDatabase();
const pools: { close(): Promise<void> }[] = [];
const { api, worker } = signedIn(address, true);
const opened = <Pool extends { close(): Promise<void> }>(pool: Pool): Pool => {
  pools.push(pool);
  return pool;
};
const open = (as: Address) => opened(openDatabase(as, 2, () => {}));
const walls = (as: Address) => opened(openWalled(as, 4, () => {}));
after(async () => {
  for (const pool of pools) await pool.close();
  await drop();
});
const text = (sql: string) => prepared("", sql);

test("every table with a merchant_id is behind the wall, partitions of today and tomorrow included", async () => {
  await keepDeliveryLog(db, new Date("2026-03-02"), new Date(0));
  await keepRequestLog(db, new Date("2026-03-02"), new Date(0));
  // A new table needs the three lines of the migration that raised the wall.
  assert.deepEqual((await wallFacts(db)).open, []);
  const unguarded =
    text(`select relname from pg_class c where relkind in ('r', 'p') and not relispartition and relforcerowsecurity
    and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'wall' and p.polcmd = '*')`);
  assert.deepEqual((await db.run(unguarded)).rows, []);
  const open = await testDatabase();
  await open.db.run(text("create table forgotten (merchant_id uuid not null)"));
  assert.deepEqual((await wallFacts(open.db)).open, ["forgotten"]);
  await open.drop();
});

test("no index behind the wall is on an expression, which nobody who is behind it would be let walk", async () => {
  const onExpressions =
    text(`select indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relrowsecurity and i.indexprs is not null`);
  assert.deepEqual((await db.run(onExpressions)).rows, []);
});

test("with the merchant left out of every statement nobody sees or touches anything of another's", async () => {
  const alone = await testDatabase();
  const both = await testDatabase();
  const [one, other] = [walls(signedIn(alone.address, true).api), walls(signedIn(both.address, true).api)];
  const apart = portsOf("aa");
  const merchant = await shop(alone.db, apart);
  const expected = await live(one.of(merchant.id), merchant, apart, "cus");

  const ofB = portsOf("bb");
  const stranger = await shop(both.db, ofB);
  await live(other.of(stranger.id), stranger, ofB, "cus");
  const before = await rowsOf(both.db, stranger.id);
  const ofA = portsOf("aa");
  assert.deepEqual(await shop(both.db, ofA), merchant);
  let forgotten = 0;
  const seen = new Set<string>();
  const careless = through(other.of(merchant.id), (statement) => {
    if (names(statement)) forgotten++;
    seen.add(statement.name);
    return forgetful(statement);
  });
  assert.deepEqual(await live(careless, merchant, ofA, "cus"), expected);
  assert.ok(forgotten > 100 && seen.size > 15, `${forgotten} of ${seen.size} statements`);
  assert.deepEqual(await rowsOf(both.db, merchant.id), await rowsOf(alone.db, merchant.id));
  assert.deepEqual(await rowsOf(both.db, stranger.id), before);
  assert.ok(before.events!.length > 0 && before.recovery_actions!.length > 0);

  // Without the wall the same carelessness does show: this test can fail.
  const bare = through(both.db, forgetful);
  assert.notDeepEqual((await findInvoices(bare, merchant.id, ["inv_1"])).size, 0);
  const listed = await bare.run(prepared("test_all", "select * from invoices where merchant_id = $1"), [merchant.id]);
  assert.equal(listed.rows.length, 10);
  await alone.drop();
  await both.drop();
});

test("without a merchant nothing is there, and what belongs to another can't be written", async () => {
  const bare = open(api);
  assert.equal((await bare.run(text("select from merchants"))).rowCount, 0);
  const [a, b] = [portsOf("ca"), portsOf("cb")];
  const [mine, theirs] = [await shop(db, a), await shop(db, b)];
  const walled = walls(api).of(mine.id);
  assert.equal((await walled.run(text("select from merchants"))).rowCount, 1);
  const write = insertRequestHeads(walled, [requestHead(theirs.id, "x")]);
  await assert.rejects(write, (error) => sqlState(error) === "42501");
  assert.equal((await open(worker).run(text("select from merchants"))).rowCount, 2);
});

test("the loops' statements are planned once, not for the values of each run", async () => {
  const loops = open(worker);
  const some = prepared("planned_once", "select from cases where merchant_id = $1 and id = any($2::uuid[])");
  for (let run = 0; run < 3; run++) await loops.run(some, [randomUUID(), [randomUUID()]]);
  const plans = "select generic_plans::int4 as generic, custom_plans::int4 as custom from pg_prepared_statements";
  const { rows } = await loops.run(text(`${plans} where name = 'planned_once'`));
  assert.deepEqual(rows, [{ generic: 3, custom: 0 }]);
});

test("what says so is planned once behind the wall, too, and the next one is not", async () => {
  const ports = portsOf("da");
  const walled = walls(api).of((await shop(db, ports)).id);
  const mode = "select current_setting('plan_cache_mode') as mode";
  assert.deepEqual((await walled.run(plannedOnce("", mode))).rows, [{ mode: "force_generic_plan" }]);
  assert.deepEqual((await walled.run(prepared("", mode))).rows, [{ mode: "auto" }]);
});

test("neither role may change a table, see a partition by its name, or, for the API, claim to be for everybody", async () => {
  await keepRequestLog(db, new Date("2026-03-02"), new Date(0));
  for (const as of [api, worker]) {
    const pool = open(as);
    for (const sql of [
      "alter table invoices disable row level security",
      "create table mine (id int4)",
      "select from request_log_2026_03_02",
      "update schema_migrations set number = 0",
      "drop policy wall on invoices",
    ])
      await assert.rejects(pool.run(text(sql)), (error) => sqlState(error) === "42501", sql);
  }
  const liar = open({ ...api, session: `${api.session} -c dunlin.every_merchant=on` });
  assert.equal((await liar.run(text("select from merchants"))).rowCount, 0);
});

test("a login that may make no roles works as the owner behind the same wall, and is told apart", async () => {
  const login = `plain_${randomBytes(4).toString("hex")}`;
  const name = `test_${login}`;
  await db.run(text(`create role ${login} login`));
  await db.run(text(`create database ${name} owner ${login}`));
  const plain = { ...(address as Exclude<Address, { url: string }>), user: login, database: name };
  const lines: string[] = [];
  await migrate(plain, pino({ level: "warn" }, { write: (line) => void lines.push(line) }), { volatile: true });
  const as = signedIn(plain, false);
  const owner = openDatabase(as.owner, 1, () => {});
  const walled = openWalled(as.api, 2, () => {});
  assert.equal(await rolesAreUsable(owner), false);
  const grants = [`grant dunlin_api to ${login}`, `grant dunlin_worker to ${login}`];
  assert.deepEqual(await statementsForRoles(owner), grants, "the server has the roles already");
  assert.ok(lines.join("").includes(`let a superuser run: ${grants.join("; ")};`), lines.join(""));
  assert.equal(await rolesAreUsable(open(worker)), true);
  assert.deepEqual(await wallFacts(owner), { login, isAbove: false, open: [] });
  const [a, b] = [portsOf("da"), portsOf("db")];
  const [mine] = [await shop(owner, a), await shop(owner, b)];
  assert.equal((await owner.run(text("select from merchants"))).rowCount, 2);
  assert.equal((await walled.of(mine.id).run(text("select from merchants"))).rowCount, 1);
  assert.ok((await live(walled.of(mine.id), mine, a, "cus")).length > 0);
  await keepRequestLog(owner, new Date("2026-03-02"), new Date(0));
  // Its migrations change the rows of all merchants all the same.
  const folder = await mkdtemp(join(tmpdir(), "dunlin-migrations-"));
  await cp(join(import.meta.dirname, "../../migrations"), folder, { recursive: true });
  const next = `${String((await readdir(folder)).length + 1).padStart(4, "0")}_shout.sql`;
  await writeFile(join(folder, next), "update merchants set name = upper(name);");
  await migrate(plain, pino({ level: "silent" }), { volatile: true, folder });
  await rm(folder, { recursive: true });
  assert.deepEqual((await owner.run(text("select distinct upper(name) = name as loud from merchants"))).rows, [
    { loud: true },
  ]);
  await owner.close();
  await walled.close();
  await db.run(text(`drop database ${name} with (force)`));
  await db.run(text(`drop role ${login}`));
});

test("behind the wall statements are planned with the same indexes as without it", async () => {
  const ports = portsOf("ea");
  const merchant = await shop(db, ports);
  const statements = new Map<string, Statement>();
  const collecting = through(walls(api).of(merchant.id), (statement) => {
    if (/^\s*(select|with|insert|update|delete)/.test(statement.text)) statements.set(statement.text, statement);
    return statement;
  });
  await live(collecting, merchant, ports, "cus");
  const dates = { executedAfter: new Date("2026-03-01"), executedBefore: new Date("2026-03-20T05:00:00Z") };
  for (const filters of [{}, dates, { status: "SUCCEEDED" as const }, { ...dates, cardCountry: "DE" }])
    for (const orderBy of ORDERS)
      for (const descending of [true, false])
        await firstActions(collecting, merchant.id, { filters, orderBy, descending }, 101);
  await stopAutovacuum(db);
  await fill(db, { first: 1, last: 40, invoices: 500 });
  await db.run(text("vacuum analyze"));
  const [bare, one, all] = [address, api, worker].map(open);
  let indexed = 0;
  for (const { name, text: sql } of statements.values()) {
    const plain = await indexesOf(bare!, sql);
    assert.deepEqual(await indexesOf(one!, sql), plain, name);
    assert.deepEqual(await indexesOf(all!, sql), plain, name);
    if (plain.length > 0) indexed++;
  }
  assert.ok(indexed > 10, `${indexed} of ${statements.size}`);
});

/** Which indexes a plan uses, and for what. */
async function indexesOf(pool: Database, sql: string): Promise<string[]> {
  const { rows } = await pool.run<{ "QUERY PLAN": string }>(text(`explain (generic_plan, costs off) ${sql}`));
  return rows.flatMap((row) => {
    const line = row["QUERY PLAN"].trim().replace(/InitPlan \d+/g, "InitPlan"); // the wall has some of its own
    return /Index Cond: .*/.exec(line) ?? /(?<=Index (Only )?Scan (using|on) )\w+/.exec(line)?.[0] ?? [];
  });
}
