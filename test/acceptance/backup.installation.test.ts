import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { type Address, openDatabase, prepared } from "../../src/postgres/database.ts";
import { readDump, type TableChecksum } from "../../src/postgres/database-dump.ts";
import { type EmbeddedDatabase, startEmbedded } from "../../src/postgres/embedded/start.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { roleAddresses } from "../../src/postgres/roles.ts";
import { maintainDecisionPartitions } from "../../src/tables/decisions.ts";
import { maintainDeliveryLogPartitions } from "../../src/tables/delivery-log.ts";
import { databaseUrlOf } from "../database-url.ts";
import { createProgram } from "../dunlin-program.ts";
import { fillMerchants } from "../plans/fill-plans.ts";
import { LAST_OF_0_2_0, migrateTo, pretendHistory } from "../schema-versions.ts";
import { removeAtExit, runOnServer, withDatabaseName } from "../test-server.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-backup-"));
removeAtExit(folder);
const log = pino({ level: "silent" });
const { run, start } = createProgram(folder, () => ({ DUNLIN_DATA: join(folder, "data") }));
const file = join(folder, "all.backup");
const OWNER = "dunlin_owner_of_backup";
let server: EmbeddedDatabase;
let source: Address;

/** A separate server, with databases of a login that is no superuser, so that tenant isolation applies to it. */
before(async () => {
  server = await startEmbedded({ dataDir: join(folder, "postgres"), log });
  await runOnServer(server.address, `create role ${OWNER} login`);
  source = await createDatabase("filled");
  const { owner } = roleAddresses(source, false);
  await migrate(owner, log);
  const db = openDatabase(owner, 2, () => {});
  const now = new Date("2026-05-10T00:00:00Z");
  await maintainDecisionPartitions(db, now, new Date(0));
  await maintainDeliveryLogPartitions(db, now, new Date(0));
  await fillMerchants(db, { first: 1, last: 3, invoices: 400 });
  const decided = "select merchant_id, id, 1, opened_at, 'static', 'wait', '', '{\"a\": [1, null]}' from cases";
  await db.run(
    prepared(
      "",
      `insert into decisions (merchant_id, case_id, number, made_at, engine, kind, facts, account) ${decided}`,
    ),
  );
  await db.run(prepared("", `update merchants set name = E'tab\\there, \\\\ line\\nbreak, nothing \\u2205'`));
  await db.close();
});
after(() => server.stop());

/** Creates a new database of the login. */
async function createDatabase(name: string): Promise<Address> {
  await runOnServer(server.address, `create database ${name} owner ${OWNER}`);
  return { ...(withDatabaseName(server.address, name) as Exclude<Address, { url: string }>), user: OWNER };
}

/** Returns the checksum of each table's rows. */
async function checks(address: Address): Promise<Map<string, TableChecksum>> {
  const found = new Map<string, TableChecksum>();
  let table = "";
  for await (const piece of readDump(address)) {
    if (piece.kind === "table") table = piece.table;
    if (piece.kind === "end") found.set(table, piece.check);
  }
  return found;
}

const restoring = (name: Address, from = file) => run(["restore", from], { DATABASE_URL: databaseUrlOf(name) });

test("a backup made by a login without privileges holds every row, and restores every row", async () => {
  const { code, out, err } = await run(["backup", file], { DATABASE_URL: databaseUrlOf(source) });
  assert.equal(code, 0, err);
  assert.match(
    out,
    /^Backed up [\d,]+ rows of \d\d tables \(\d+\.\d MB\) in .*, and verified the file\.\n.*secret\.key/,
  );
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const target = await createDatabase("restored");
  const restored = await restoring(target);
  assert.equal(restored.code, 0, restored.err);
  assert.match(restored.out, /^Copied [\d,]+ rows of \d\d tables in .*, and verified them\.\n/);
  const [before, there] = [await checks(source), await checks(target)];
  assert.deepEqual(there, before);
  for (const table of [
    "merchants",
    "invoices",
    "transactions",
    "cases",
    "recovery_actions",
    "events",
    "decisions",
    "delivery_attempts",
  ])
    assert.ok(there.get(table)!.rows > 0, table);
});

test("a restore creates partitions with their row-level security, and fills them", async () => {
  const target = openDatabase(roleAddresses(withDatabaseName(server.address, "restored"), false).owner, 1, () => {});
  const parts = prepared(
    "",
    `select i.inhparent::regclass::text as table, count(*)::int4 as parts,
       count(*) filter (where exists (select from pg_policy p where p.polrelid = i.inhrelid))::int4 as walled
     from pg_inherits i join pg_class c on c.oid = i.inhrelid and c.relkind = 'r' group by 1 order by 1`,
  );
  const { rows } = await target.run<{ table: string; parts: number; walled: number }>(parts);
  await target.close();
  assert.ok(rows.length === 3 && rows.every(({ parts, walled }) => parts === walled), JSON.stringify(rows));
  assert.ok(
    rows.some(({ table, parts }) => table === "decisions" && parts >= 3),
    JSON.stringify(rows),
  );
});

test("a backup of 0.2.0 is restored and migrated", async () => {
  const old = await createDatabase("old");
  await migrateTo(roleAddresses(old, false).owner, LAST_OF_0_2_0.number);
  const db = openDatabase(roleAddresses(old, false).owner, 1, () => {});
  await pretendHistory({ db }, LAST_OF_0_2_0);
  await fillMerchants(db, { first: 1, last: 2, invoices: 50 });
  await db.close();
  const oldFile = join(folder, "old.backup");
  const backedUp = await run(["backup", oldFile], { DATABASE_URL: databaseUrlOf(old) });
  assert.equal(backedUp.code, 0, backedUp.err);
  const target = await createDatabase("newer");
  const restored = await restoring(target, oldFile);
  assert.equal(restored.code, 0, restored.err);
  const [before, there] = [await checks(old), await checks(target)];
  for (const table of [
    "subscriptions",
    "invoices",
    "transactions",
    "cases",
    "recovery_actions",
    "events",
    "deliveries",
  ])
    assert.equal(there.get(table)!.rows, before.get(table)!.rows, table);
  assert.equal(await migrateTo(roleAddresses(target, false).owner), 0);
});

test("a backup overwrites no existing file, and a restore needs an empty database", async () => {
  const again = await run(["backup", file], { DATABASE_URL: databaseUrlOf(source) });
  assert.equal(again.code, 1);
  assert.match(again.err, /already exists\. To replace it, add --force\./);
  const full = await restoring(source);
  assert.equal(full.code, 1);
  assert.match(full.err, /^dunlin restore: Nothing was written: the database is not empty: there are rows in \w+\n$/);
});

test("a truncated or changed file is refused, and leaves no rows", async () => {
  const bytes = readFileSync(file);
  const target = await createDatabase("broken");
  const broken = join(folder, "broken.backup");
  for (const [content, says] of [
    [bytes.subarray(0, Math.floor(bytes.length / 2)), /Cannot read .*broken\.backup: /],
    [Buffer.from("a file of somebody else's"), /Cannot read .*broken\.backup: /],
    [Buffer.concat([bytes.subarray(0, 5_000), Buffer.alloc(50, 7), bytes.subarray(5_050)]), /Nothing was written: /],
  ] as const) {
    writeFileSync(broken, content);
    const { code, err } = await restoring(target, broken);
    assert.equal(code, 1, err);
    assert.match(err, says);
    assert.ok(!/\n\s+at /.test(err), err);
  }
  const { code, err } = await restoring(target);
  assert.equal(code, 0, err);
  assert.deepEqual(await checks(target), await checks(source));
});

test("a killed restore leaves no rows, and can run again", { timeout: 60_000 }, async () => {
  const target = await createDatabase("killed");
  for (const afterMs of [700, 1_000, 1_300]) {
    const child = start(["restore", file], { DATABASE_URL: databaseUrlOf(target) });
    const closed = once(child, "close");
    await sleep(afterMs);
    child.kill("SIGKILL");
    await closed;
  }
  const { code, err } = await restoring(target);
  if (code !== 0) assert.match(err, /not empty/, "one of them was quicker than its end");
  assert.deepEqual(await checks(target), await checks(source));
});

test("all data moves from the embedded database to another server when the service is stopped", async () => {
  const embedded = { DUNLIN_DATA: join(folder, "embedded") };
  const put = await run(["restore", file], embedded);
  assert.equal(put.code, 0, put.err);
  const target = await createDatabase("moved");
  const inUse = openDatabase(source, 1, () => {});
  await inUse.run(prepared("", "select 1"));
  const refused = await run(["move", "--to", databaseUrlOf(target)], { DATABASE_URL: databaseUrlOf(source) });
  await inUse.close();
  assert.equal(refused.code, 1);
  assert.match(refused.err, /The service is running\. Stop it first/);
  const { code, out, err } = await run(["move", "--to", databaseUrlOf(target)], embedded);
  assert.equal(code, 0, err);
  assert.match(out, /and verified them\.\nSet DATABASE_URL to the new database/);
  assert.deepEqual(await checks(target), await checks(source));
  const again = await run(["move", "--to", databaseUrlOf(target)], embedded);
  assert.match(again.err, /not empty/);
});

test("a command that copies a database reports missing programs or settings", async () => {
  const nothing = { DUNLIN_DATA: join(folder, "nothing") };
  assert.match((await run(["backup", join(folder, "x.backup")], nothing)).err, /There is no database in .*nothing/);
  assert.match((await run(["restore", join(folder, "none.backup")], nothing)).err, /There is no file/);
  assert.match((await run(["move"], nothing)).err, /--to and --to-file take the URL of a database/);
  const far = await run(["backup", join(folder, "no-such-folder", "x.backup")], {
    DATABASE_URL: databaseUrlOf(source),
  });
  assert.equal(far.code, 1);
  assert.match(far.err, /Cannot write .*ENOENT/);
});
