import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { openDatabase, prepared } from "../../src/postgres/database.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { digestTables } from "../faults/harness/stored-rows.ts";
import { fillMerchants } from "../plans/fill-plans.ts";
import { CITUS_SKIP, CITUS_URL, createCitusDatabase } from "./citus-database.ts";

const SERVERS_WITH_INVOICES = prepared(
  "test_servers",
  `select count(distinct p.groupid)::int4 as n from pg_dist_placement p join pg_dist_shard s using (shardid)
   where s.logicalrelid = 'invoices'::regclass`,
);

test("a database with records is spread over the servers, and every row stays as it was", {
  skip: CITUS_SKIP,
}, async (t) => {
  const { address, drop } = await createCitusDatabase(CITUS_URL!, { distribute: false });
  t.after(drop);
  const db = openDatabase(address, 1, () => {});
  t.after(() => db.close());
  await fillMerchants(db, { first: 1, last: 20, invoices: 50 });
  const before = await digestTables(db);
  assert.match(before.get("invoices")!, /^1000 rows/);
  await migrate(address, pino({ level: "error" }), { distribute: true });
  assert.deepEqual(await digestTables(db), before);
  const { rows } = await db.run<{ n: number }>(SERVERS_WITH_INVOICES);
  t.diagnostic(`${rows[0]!.n} servers`);
  assert.ok(rows[0]!.n >= 1);
});
