import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import pino from "pino";
import { readSettings } from "../../src/config.ts";
import { openStore } from "../../src/open.ts";
import { type Database, openDatabase, prepared, type Statement } from "../../src/store/database.ts";
import { signedIn } from "../../src/store/roles.ts";
import { refreshStatistics } from "../../src/store/statistics.ts";
import { openWalled } from "../../src/store/walled.ts";
import { eventually } from "../contract/running.ts";
import { testDatabase } from "../database.ts";
import { removeAtExit } from "../server.ts";
import { live, portsOf, shop } from "../wall/life.ts";
import { through } from "../wall/statements.ts";
import { fill, type Shops } from "./fill.ts";

const SIZES: Readonly<Record<string, readonly Shops[]>> = {
  "of one merchant": [{ first: 1, last: 1, invoices: 6_000 }],
  "of a merchant with whom nothing has ended yet": [{ first: 1, last: 1, invoices: 6_000, young: true }],
  "of a big merchant among many small ones": [
    { first: 1, last: 600, invoices: 10 },
    { first: 601, last: 601, invoices: 6_000 },
  ],
};

/** Those that look at all merchants, or walk an order: they take the first row of many, or a page. */
const WALKS = /^(first_due_cases|first_deliveries_due|due_cases|first_pokes|(first|next)_actions_\w+)$/;

for (const [whose, shops] of Object.entries(SIZES))
  test(`in a database ${whose} every statement finds its rows by all of their keys`, async (t) => {
    const { db, address, drop } = await testDatabase();
    const { api, worker } = signedIn(address, true);
    const pools = [
      openWalled(api, 4, () => {}),
      openDatabase(api, 1, () => {}),
      openDatabase(worker, 4, () => {}),
    ] as const;
    t.after(async () => {
      for (const pool of pools) await pool.close();
      await drop();
    });
    const [walled, asApi, asWorker] = pools;
    const ports = portsOf("fa");
    const merchant = await shop(db, ports);
    const [requests, loops] = [new Map<string, Statement>(), new Map<string, Statement>()];
    const kept = (on: Database, statements: Map<string, Statement>) =>
      through(on, (statement) => {
        if (!WALKS.test(statement.name)) statements.set(statement.text, statement);
        return statement;
      });
    await live(kept(walled.of(merchant.id), requests), merchant, ports, "cus");
    const ports2 = portsOf("fb");
    await live(kept(asWorker, loops), await shop(db, ports2), ports2, "cus2");
    for (const each of shops) await fill(db, each);
    const refreshed = await refreshStatistics(db);
    for (const table of ["invoices", "cases", "recovery_actions", "events", "deliveries"])
      assert.ok(refreshed.includes(table), `${table} grew, and ${refreshed} were read anew`);
    assert.deepEqual(await refreshStatistics(db), []);
    for (const [pool, statements] of [
      [asApi, requests],
      [asWorker, loops],
    ] as const) {
      assert.ok(statements.size > 20, `${statements.size} statements`);
      for (const { name, text } of statements.values()) assert.deepEqual(await readsTooMuch(pool, text), [], name);
    }
  });

test("whoever works on a database reads statistics anew while its tables fill up", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "dunlin-plans-"));
  removeAtExit(folder);
  const { settings } = readSettings({ DUNLIN_DATA: folder }, () => null, new Date());
  const store = await openStore(settings, "own", 2, pino({ level: "silent" }), (error) => assert.fail(error));
  t.after(store.close);
  // Else PostgreSQL might be the one who does it.
  await store.owner.run(prepared("", "alter table invoices set (autovacuum_enabled = false)"));
  await fill(store.db, { first: 1, last: 1, invoices: 2_000 });
  const known = prepared("known", "select reltuples::int4 as rows from pg_class where oid = 'invoices'::regclass");
  await eventually(async () => (await store.db.run<{ rows: number }>(known)).rows[0]!.rows === 2_000);
});

// Of a bitmap the line names the index, which is named by its table.
const BIG =
  /\bon (subscriptions|invoices|transactions|cases|due_cases|recovery_actions|events|deliver(ies|y_attempts))/;

/** Scans of big tables that read all rows of a merchant, or of everybody. */
async function readsTooMuch(pool: Database, sql: string): Promise<string[]> {
  const { rows } = await pool.run<{ "QUERY PLAN": string }>(prepared("", `explain (generic_plan, costs off) ${sql}`));
  const lines = rows.map((row) => row["QUERY PLAN"].trim());
  return lines.filter((line, index) => {
    const [table] = BIG.exec(line) ?? [];
    if (table === undefined || !/Scan/.test(line)) return false;
    return /Seq Scan/.test(line) || /^Index Cond: \((\w+\.)?merchant_id = \$1(::uuid)?\)$/.test(lines[index + 1] ?? "");
  });
}
