import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import pino from "pino";
import { readSettings } from "../../src/config/config.ts";
import { analyzeTable, findGrownTables } from "../../src/postgres/analyze-tables.ts";
import { type Database, openDatabase, prepared, type Statement } from "../../src/postgres/database.ts";
import { roleAddresses } from "../../src/postgres/roles.ts";
import { openTenantDatabase } from "../../src/postgres/tenant-database.ts";
import { openStore } from "../../src/process/open-store.ts";
import { readFirstPage, readPageAfter } from "../../src/tables/actions-list/action-list.ts";
import { LISTING_ORDERS } from "../../src/tables/actions-list/action-listing.ts";
import { recordAttempts } from "../../src/tables/delivery-attempts.ts";
import { merchantsWithTrainingExamples, trainingExamplesAfter } from "../../src/tables/learned-models.ts";
import { recordObservedRetries } from "../../src/tables/observed-retries.ts";
import { latestSuccessBefore } from "../../src/tables/transactions.ts";
import { eventually } from "../contract/running-service.ts";
import { createTestDatabase, stopAutovacuum } from "../database.ts";
import { removeAtExit } from "../test-server.ts";
import { createPorts, createShop, runMerchantLife } from "../wall/merchant-life.ts";
import { withRewrittenStatements } from "../wall/unscoped-statements.ts";
import { fillMerchants, LIST_ACTIONS, type MerchantRange } from "./fill-plans.ts";

const FILL_SIZES: Readonly<Record<string, readonly MerchantRange[]>> = {
  "of one merchant": [{ first: 1, last: 1, invoices: 6_000 }],
  "of a merchant with whom nothing has ended yet": [{ first: 1, last: 1, invoices: 6_000, young: true }],
  "of a big merchant among many small ones": [
    { first: 1, last: 600, invoices: 10 },
    { first: 601, last: 601, invoices: 6_000 },
  ],
};

/** Statements about one customer or invoice are planned for their parameters. */
const LIST_STATEMENTS = /^list_(first|next)_/;
/** Statements that take the first rows in an order of a merchant's rows. */
const BOUNDED_STATEMENTS =
  /^(due_merchants|poked_merchants|next_due_case|due_cases|first_pokes|merchants_with_lessons|lessons)$/;
const TABLES = ["invoices", "cases", "recovery_actions", "listed_actions", "events", "deliveries"];

for (const [whose, shops] of Object.entries(FILL_SIZES))
  test(`in a database ${whose} every statement finds its rows by all of their keys`, async (t) => {
    const { db, address, drop } = await createTestDatabase();
    await stopAutovacuum(db); // else PostgreSQL might be the one who reads the statistics, and before all is filled
    const { api, worker } = roleAddresses(address, true);
    const pools = [
      openTenantDatabase(api, 4, () => {}),
      openDatabase(api, 1, () => {}),
      openDatabase(worker, 4, () => {}),
    ] as const;
    t.after(async () => {
      for (const pool of pools) await pool.close();
      await drop();
    });
    const [walled, asApi, asWorker] = pools;
    const ports = createPorts("fa");
    const merchant = await createShop(db, ports);
    const [requests, loops] = [new Map<string, Statement>(), new Map<string, Statement>()];
    const kept = (on: Database, statements: Map<string, Statement>) =>
      withRewrittenStatements(on, (statement) => {
        const isPlanned = !LIST_STATEMENTS.test(statement.name) || statement.isPlannedOnce;
        if (isPlanned && !/^set /.test(statement.text)) statements.set(statement.text, statement);
        return statement;
      });
    await runMerchantLife(kept(walled.of(merchant.id), requests), merchant, ports, "cus");
    await listAll(kept(walled.of(merchant.id), requests), merchant.id);
    const ports2 = createPorts("fb");
    await runMerchantLife(kept(asWorker, loops), await createShop(db, ports2), ports2, "cus2");
    await recordAttempts(kept(asWorker, loops), [], ports.newId());
    await merchantsWithTrainingExamples(kept(asWorker, loops), ports.now(), [], 20);
    await trainingExamplesAfter(kept(asWorker, loops), merchant.id, ports.now(), null, 100);
    await recordObservedRetries(kept(asWorker, loops), merchant.id, [], ports.now());
    await latestSuccessBefore(kept(asWorker, loops), merchant.id, ["card"], ports.now());
    for (const each of shops) await fillMerchants(db, each);
    await db.run(LIST_ACTIONS);
    const grown = await findGrownTables(db, []);
    for (const table of TABLES) assert.ok(grown.includes(table), `${table} grew, and ${grown} were found`);
    for (const table of grown) await analyzeTable(db, table);
    assert.deepEqual(await findGrownTables(db, []), []);
    for (const [pool, statements] of [
      [asApi, requests],
      [asWorker, loops],
    ] as const) {
      assert.ok(statements.size > 20, `${statements.size} statements`);
      for (const statement of statements.values())
        assert.deepEqual(await findCostlyReads(pool, statement), [], statement.name);
    }
  });

test("every process that works on a database reloads statistics while its tables fill up", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "dunlin-plans-"));
  removeAtExit(folder);
  const { settings } = readSettings({ DUNLIN_DATA: folder }, () => null, new Date());
  const store = await openStore(settings, "own", 2, pino({ level: "silent" }), (error) => assert.fail(error));
  t.after(store.close);
  await stopAutovacuum(store.owner);
  await fillMerchants(store.db, { first: 1, last: 1, invoices: 2_000 });
  const known = prepared("known", "select reltuples::int4 as rows from pg_class where oid = 'invoices'::regclass");
  // If it looked before the rows were committed, it looks again ten seconds later.
  const found = async () => (await store.db.run<{ rows: number }>(known)).rows[0]!.rows === 2_000;
  await eventually(found, "a reading of statistics", 20_000);
});

test("every table with merchants' rows is planned for its biggest merchant, except small tables and those with one index", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const { rows } = await db.run<{ name: string }>(AVERAGE_LIST_TIME);
  const names = rows.map(({ name }) => name);
  assert.deepEqual(names, SMALL_TABLES, "a new table needs the line of migration 15, or to be named here");
});

/** A merchant has few rows of these, or they have only one index that begins with the merchant. */
const SMALL_TABLES = [
  "api_keys",
  "audit_log",
  "decisions",
  "delivery_attempts",
  "experiment_looks",
  "experiment_tallies",
  "experiments",
  "invites",
  "invoice_conflicts",
  "jobs",
  "learned_merchants",
  "learned_models",
  "learned_parts",
  "members",
  "merchant_clocks",
  "rate_buckets",
  "request_heads",
  "request_log",
  "sessions",
];
const AVERAGE_LIST_TIME = prepared(
  "planned_for_the_average",
  `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'merchant_id'
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and not coalesce(a.attoptions @> array['n_distinct=1'], false) order by 1`,
);

/**
 * Runs every kind of list statement that is planned once: with a filter, a range of time, both and none, in every order, with
 * first pages of 50 and of 100, and later ones.
 */
async function listAll(db: Database, merchantId: string) {
  const executedAfter = new Date("2026-03-01");
  const cursor = { at: executedAfter.toISOString(), id: randomUUID() };
  for (const filter of [{}, { cardCountry: "DE" }])
    for (const filters of [filter, { ...filter, executedAfter }])
      for (const orderBy of LISTING_ORDERS)
        for (const descending of [false, true]) {
          const listing = { filters, orderBy, descending };
          for (const limit of [51, 101]) {
            await readFirstPage(db, merchantId, listing, limit);
            await readPageAfter(db, merchantId, listing, cursor, 1_000, limit);
          }
        }
}

// For a bitmap scan the line names the index, whose name contains its table.
const LARGE_TABLES =
  /\bon (subscriptions|invoices|transactions|cases|due_cases|case_pokes|recovery_actions|listed_actions|watched_retries|events|deliver(ies|y_attempts))/;
/** A key besides the merchant. A range of time alone can match many rows of any merchant. */
const TWO_KEYS = /merchant_id = .* AND \(\w+ = /;

/** A range of time: the listing bounds the rows that are sorted or counted, or PostgreSQL sorts only the rows after a page. */
const RANGE = /merchant_id = .* AND \(executed_at [<>]/;

/**
 * Finds scans of large tables that read all rows of a merchant or of all merchants. Scans of lists may stop after the first rows
 * of an order.
 */
async function findCostlyReads(pool: Database, { name, text }: Statement): Promise<string[]> {
  const { rows } = await pool.run<{ "QUERY PLAN": string }>(prepared("", `explain (generic_plan, costs off) ${text}`));
  const lines = rows.map((row) => row["QUERY PLAN"]);
  return lines.filter((line, index) => {
    if (!LARGE_TABLES.test(line) || !/Scan/.test(line)) return false;
    const condition = /^ *(Index Cond: .*)/.exec(lines[index + 1] ?? "")?.[1];
    if (/Seq Scan/.test(line)) return true;
    if (condition === undefined || BOUNDED_STATEMENTS.test(name) || TWO_KEYS.test(condition)) return false;
    return !(LIST_STATEMENTS.test(name) && (RANGE.test(condition) || /Limit/.test(parentOf(lines, index))));
  });
}

/** Returns the plan node that a node feeds. A result that only checks the merchant passes rows on. */
function parentOf(lines: readonly string[], index: number): string {
  const depth = (line: string) => line.search(/->/);
  const isParent = (line: string) => /->|^\w/.test(line) && !/-> {2}Result$/.test(line);
  return lines.slice(0, index).findLast((line) => isParent(line) && depth(line) < depth(lines[index]!)) ?? "";
}
