import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import pino from "pino";
import {
  type Address,
  type Database,
  openDatabase,
  prepared,
  preparedGeneric,
  type Statement,
} from "../../src/postgres/database.ts";
import { sqlState } from "../../src/postgres/database-errors.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { listRoleStatements, readTenantIsolation, roleAddresses, rolesAreUsable } from "../../src/postgres/roles.ts";
import { openTenantDatabase } from "../../src/postgres/tenant-database.ts";
import { readFirstPage } from "../../src/tables/actions-list/action-list.ts";
import { LISTING_ORDERS } from "../../src/tables/actions-list/action-listing.ts";
import { maintainDeliveryLogPartitions } from "../../src/tables/delivery-log.ts";
import { findInvoices } from "../../src/tables/invoices.ts";
import { createRequestHead, insertRequestHeads } from "../../src/tables/request-heads.ts";
import { maintainRequestLogPartitions } from "../../src/tables/request-log.ts";
import { createTestDatabase, stopAutovacuum } from "../database.ts";
import { fillMerchants } from "../plans/fill-plans.ts";
import { createPorts, createShop, readMerchantRows, runMerchantLife } from "./merchant-life.ts";
import { hasMerchantCondition, withoutMerchantCondition, withRewrittenStatements } from "./unscoped-statements.ts";

const { db, address, drop } = await createTestDatabase();
const pools: { close(): Promise<void> }[] = [];
const { api, worker } = roleAddresses(address, true);
const opened = <Pool extends { close(): Promise<void> }>(pool: Pool): Pool => {
  pools.push(pool);
  return pool;
};
const open = (as: Address) => opened(openDatabase(as, 2, () => {}));
const openTenantPool = (as: Address) => opened(openTenantDatabase(as, 4, () => {}));
after(async () => {
  for (const pool of pools) await pool.close();
  await drop();
});
const text = (sql: string) => prepared("", sql);

test("every table with a merchant_id has row-level security, including partitions of today and tomorrow", async () => {
  await maintainDeliveryLogPartitions(db, new Date("2026-03-02"), new Date(0));
  await maintainRequestLogPartitions(db, new Date("2026-03-02"), new Date(0));
  // A new table needs the three lines of the migration that introduced row-level security.
  assert.deepEqual((await readTenantIsolation(db)).unprotectedTables, []);
  const unguarded =
    text(`select relname from pg_class c where relkind in ('r', 'p') and not relispartition and relforcerowsecurity
    and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'wall' and p.polcmd = '*')`);
  assert.deepEqual((await db.run(unguarded)).rows, []);
  const open = await createTestDatabase();
  await open.db.run(text("create table forgotten (merchant_id uuid not null)"));
  assert.deepEqual((await readTenantIsolation(open.db)).unprotectedTables, ["forgotten"]);
  await open.drop();
});

test("no index of an isolated table is on an expression, which row-level security would not let a role use", async () => {
  const onExpressions =
    text(`select indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relrowsecurity and i.indexprs is not null`);
  assert.deepEqual((await db.run(onExpressions)).rows, []);
});

test("no statement sees or changes another merchant's data when it lacks its merchant condition", async () => {
  const alone = await createTestDatabase();
  const both = await createTestDatabase();
  const [one, other] = [
    openTenantPool(roleAddresses(alone.address, true).api),
    openTenantPool(roleAddresses(both.address, true).api),
  ];
  const apart = createPorts("aa");
  const merchant = await createShop(alone.db, apart);
  const expected = await runMerchantLife(one.of(merchant.id), merchant, apart, "cus");

  const ofB = createPorts("bb");
  const stranger = await createShop(both.db, ofB);
  await runMerchantLife(other.of(stranger.id), stranger, ofB, "cus");
  const before = await readMerchantRows(both.db, stranger.id);
  const ofA = createPorts("aa");
  assert.deepEqual(await createShop(both.db, ofA), merchant);
  let forgotten = 0;
  const seen = new Set<string>();
  const careless = withRewrittenStatements(other.of(merchant.id), (statement) => {
    if (hasMerchantCondition(statement)) forgotten++;
    seen.add(statement.name);
    return withoutMerchantCondition(statement);
  });
  assert.deepEqual(await runMerchantLife(careless, merchant, ofA, "cus"), expected);
  assert.ok(forgotten > 100 && seen.size > 15, `${forgotten} of ${seen.size} statements`);
  assert.deepEqual(await readMerchantRows(both.db, merchant.id), await readMerchantRows(alone.db, merchant.id));
  assert.deepEqual(await readMerchantRows(both.db, stranger.id), before);
  assert.ok(before.events!.length > 0 && before.recovery_actions!.length > 0);

  // Without row-level security the same mistake shows, so this test can fail.
  const bare = withRewrittenStatements(both.db, withoutMerchantCondition);
  assert.notDeepEqual((await findInvoices(bare, merchant.id, ["inv_1"])).size, 0);
  const listed = await bare.run(prepared("test_all", "select * from invoices where merchant_id = $1"), [merchant.id]);
  assert.equal(listed.rows.length, 10);
  await alone.drop();
  await both.drop();
});

test("a role sees no rows without a merchant, and cannot write another merchant's rows", async () => {
  const bare = open(api);
  assert.equal((await bare.run(text("select from merchants"))).rowCount, 0);
  const [a, b] = [createPorts("ca"), createPorts("cb")];
  const [mine, theirs] = [await createShop(db, a), await createShop(db, b)];
  const walled = openTenantPool(api).of(mine.id);
  assert.equal((await walled.run(text("select from merchants"))).rowCount, 1);
  const write = insertRequestHeads(walled, [createRequestHead(theirs.id, "x")]);
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

test("a statement marked so is also planned once under row-level security, and the next one is not", async () => {
  const ports = createPorts("da");
  const walled = openTenantPool(api).of((await createShop(db, ports)).id);
  const mode = "select current_setting('plan_cache_mode') as mode";
  assert.deepEqual((await walled.run(preparedGeneric("", mode))).rows, [{ mode: "force_generic_plan" }]);
  assert.deepEqual((await walled.run(prepared("", mode))).rows, [{ mode: "auto" }]);
});

test("a start gives the loops back a policy that a dump lost", async () => {
  const lost = await createTestDatabase();
  const worker = roleAddresses(lost.address, true).worker;
  await createShop(lost.db, createPorts("dc"));
  await lost.db.run(text("drop policy every_merchant on merchants"));
  const loops = openDatabase(worker, 1, () => {});
  assert.equal((await loops.run(text("select from merchants"))).rowCount, 0);
  await migrate(lost.address, pino({ level: "silent" }), { allowDataLoss: true });
  assert.equal((await loops.run(text("select from merchants"))).rowCount, 1);
  await loops.close();
  await lost.drop();
});

test("neither role may change a table or read a partition by name, and the API's role may not act for all merchants", async () => {
  await maintainRequestLogPartitions(db, new Date("2026-03-02"), new Date(0));
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

test("a login that may not create roles works as the owner with the same tenant isolation, and is reported", async () => {
  const login = `plain_${randomBytes(4).toString("hex")}`;
  const name = `test_${login}`;
  await db.run(text(`create role ${login} login`));
  await db.run(text(`create database ${name} owner ${login}`));
  const plain = { ...(address as Exclude<Address, { url: string }>), user: login, database: name };
  const lines: string[] = [];
  await migrate(plain, pino({ level: "warn" }, { write: (line) => void lines.push(line) }), { allowDataLoss: true });
  const as = roleAddresses(plain, false);
  const owner = openDatabase(as.owner, 1, () => {});
  const walled = openTenantDatabase(as.api, 2, () => {});
  assert.equal(await rolesAreUsable(owner), false);
  const grants = [`grant dunlin_api to ${login}`, `grant dunlin_worker to ${login}`];
  assert.deepEqual(await listRoleStatements(owner), grants, "the server has the roles already");
  assert.ok(lines.join("").includes(`as a superuser, run: ${grants.join("; ")};`), lines.join(""));
  assert.equal(await rolesAreUsable(open(worker)), true);
  assert.deepEqual(await readTenantIsolation(owner), { login, bypassesRowSecurity: false, unprotectedTables: [] });
  const [a, b] = [createPorts("da"), createPorts("db")];
  const [mine] = [await createShop(owner, a), await createShop(owner, b)];
  assert.equal((await owner.run(text("select from merchants"))).rowCount, 2);
  assert.equal((await walled.of(mine.id).run(text("select from merchants"))).rowCount, 1);
  assert.ok((await runMerchantLife(walled.of(mine.id), mine, a, "cus")).length > 0);
  await maintainRequestLogPartitions(owner, new Date("2026-03-02"), new Date(0));
  // Its migrations still change the rows of all merchants.
  const folder = await mkdtemp(join(tmpdir(), "dunlin-migrations-"));
  await cp(join(import.meta.dirname, "../../migrations"), folder, { recursive: true });
  const last = (await readdir(folder))
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .at(-1)!;
  const next = `${String(Number(last.slice(0, 4)) + 1).padStart(4, "0")}_shout.sql`;
  await writeFile(join(folder, next), "update merchants set name = upper(name);");
  await migrate(plain, pino({ level: "silent" }), { allowDataLoss: true, folder });
  await rm(folder, { recursive: true });
  assert.deepEqual((await owner.run(text("select distinct upper(name) = name as loud from merchants"))).rows, [
    { loud: true },
  ]);
  await owner.close();
  await walled.close();
  await db.run(text(`drop database ${name} with (force)`));
  await db.run(text(`drop role ${login}`));
});

test("statements use the same indexes with and without row-level security", async () => {
  const ports = createPorts("ea");
  const merchant = await createShop(db, ports);
  const statements = new Map<string, Statement>();
  const collecting = withRewrittenStatements(openTenantPool(api).of(merchant.id), (statement) => {
    if (/^\s*(select|with|insert|update|delete)/.test(statement.text)) statements.set(statement.text, statement);
    return statement;
  });
  await runMerchantLife(collecting, merchant, ports, "cus");
  const dates = { executedAfter: new Date("2026-03-01"), executedBefore: new Date("2026-03-20T05:00:00Z") };
  for (const filters of [{}, dates, { status: "SUCCEEDED" as const }, { ...dates, cardCountry: "DE" }])
    for (const orderBy of LISTING_ORDERS)
      for (const descending of [true, false])
        await readFirstPage(collecting, merchant.id, { filters, orderBy, descending }, 101);
  await stopAutovacuum(db);
  await fillMerchants(db, { first: 1, last: 40, invoices: 500 });
  await db.run(text("vacuum analyze"));
  const [bare, one, all] = [address, api, worker].map(open);
  let indexed = 0;
  for (const statement of statements.values()) {
    const { name, text: sql } = statement;
    const plain = await indexesOf(bare!, sql);
    // A statement of the loops finds only one merchant's rows as the API, and may use that merchant's index.
    if (hasMerchantCondition(statement)) assert.deepEqual(await indexesOf(one!, sql), plain, name);
    assert.deepEqual(await indexesOf(all!, sql), plain, name);
    if (plain.length > 0) indexed++;
  }
  assert.ok(indexed > 10, `${indexed} of ${statements.size}`);
});

/** Returns the indexes that a plan uses, and their purposes. */
async function indexesOf(pool: Database, sql: string): Promise<string[]> {
  const { rows } = await pool.run<{ "QUERY PLAN": string }>(text(`explain (generic_plan, costs off) ${sql}`));
  return rows.flatMap((row) => {
    const line = row["QUERY PLAN"].trim().replace(/InitPlan \d+/g, "InitPlan");
    return /Index Cond: .*/.exec(line) ?? /(?<=Index (Only )?Scan (using|on) )\w+/.exec(line)?.[0] ?? [];
  });
}
