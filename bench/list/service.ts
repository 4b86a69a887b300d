// A process of `bench:list`: the API over a merchant's many actions.
import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { PAGE_SIZE_MAX, parseListQuery, toListing } from "../../src/actions-api/list-query.ts";
import { pageTokenKeys, signPageToken } from "../../src/actions-api/page-token.ts";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import { prepared } from "../../src/postgres/database.ts";
import { start } from "../../src/start.ts";
import { conditionsSql } from "../../src/tables/actions-list/action-conditions.ts";
import { buildListingSql, type Cursor } from "../../src/tables/actions-list/action-listing.ts";
import { createScratchSettings, readDatabaseFacts } from "../scratch-database.ts";
import { serveRequests } from "../worker-process.ts";
import { fillActions } from "./fill-actions.ts";

export interface ListFacts extends TableSizes {
  port: number;
  ca: string;
  apiKey: string;
  server: string;
  postmaster: number;
}

interface TableSizes {
  heap: number;
  indexes: number;
}

/** Counted one by one. */
export interface CountedListing {
  total: number;
}

/** Far behind the first; its number may be approximate. */
export interface DeepPage {
  token: string;
  page: string;
}

/** For index sorts and the system. */
const FREE_BYTES_PER_ACTION = 2_200;
const DEEP_PAGE = 10_000;

const SIZES = prepared(
  "",
  `select sum(pg_table_size(oid))::int8 as heap, sum(pg_indexes_size(oid))::int8 as indexes
   from pg_class where oid = any('{recovery_actions,listed_actions}'::regclass[])`,
);
const FIND_EXISTING = prepared(
  "",
  `select id, (select coalesce(sum(actions), 0)::int8 from action_counts where merchant_id = m.id) as actions,
     exists (select from recovery_actions where merchant_id = m.id) as "areThere"
   from merchants m`,
);

const { settings, log, remove } = await createScratchSettings({}, process.argv[2]);
const running = await start({
  settings,
  roles: new Set(["api"]),
  log,
  onFatal: (error) => {
    throw error;
  },
});
const { store, caPath } = running;
// Creates indexes and bypasses the service.
const { owner: db, ports, secretKeys, address } = store;
let merchantId = "";

async function make({ actions, until }: { actions: number; until: Date }): Promise<ListFacts> {
  merchantId = (await findExistingMerchant(actions)) ?? (await fillDatabase(actions, until));
  const { apiKey } = await createApiKey(db, { merchantId, permissions: ["read:recovery_actions"] }, ports);
  const { server, postmaster } = await readDatabaseFacts(db, address, settings.dataDir);
  const sizes = (await db.run<TableSizes>(SIZES)).rows[0]!;
  return { port: settings.port, ca: readFileSync(caPath!, "utf8"), apiKey, server, postmaster, ...sizes };
}

/** Of an earlier run, in a kept folder. */
async function findExistingMerchant(actions: number): Promise<string | null> {
  const found = (await db.run<{ id: string; actions: number; areThere: boolean }>(FIND_EXISTING)).rows[0];
  if (!found) return null;
  // The table was unlogged during the fill: after a crash its rows are gone.
  if (found.actions === 0 || !found.areThere) throw new Error(`${settings.dataDir} was left half filled: remove it`);
  if (found.actions !== actions) throw new Error(`${settings.dataDir} has ${found.actions} actions, not ${actions}`);
  return found.id;
}

async function fillDatabase(actions: number, until: Date): Promise<string> {
  const { bavail, bsize } = await statfs(settings.dataDir);
  const needed = actions * FREE_BYTES_PER_ACTION;
  if (bavail * bsize < needed)
    throw new Error(`${Math.ceil(needed / 1e9)} GB of disk are needed in ${settings.dataDir}`);
  const limits = { ratePerSecond: 1_000_000, rateBurst: 1_000_000 };
  const merchant = await createMerchant(db, "Bench", limits, secretKeys, ports);
  await fillActions(db, { merchantId: merchant.id, actions, until }, (line) => process.stderr.write(`  ${line}\n`));
  return merchant.id;
}

async function count(search: string): Promise<CountedListing> {
  const { filters, orderBy = "created_at", direction = "desc" } = parseListQuery(search);
  const listing = buildListingSql(merchantId, toListing(filters, orderBy, direction));
  const text = `select count(*) as total from recovery_actions where ${conditionsSql(listing)}`;
  return (await db.run<CountedListing>(prepared("", text), listing.values)).rows[0]!;
}

/** Avoids walking a million actions. */
async function deep({ search, middle, total }: { search: string; middle: Date; total: number }): Promise<DeepPage> {
  const { filters, orderBy = "created_at", direction = "desc" } = parseListQuery(search);
  const walk = { filters, orderBy, direction, total };
  const listing = toListing(filters, orderBy, direction);
  const sign = (cursor: Cursor) =>
    signPageToken(pageTokenKeys(settings.pageTokenKeys, secretKeys), merchantId, { ...walk, cursor }, new Date());
  const before = (DEEP_PAGE - 1) * PAGE_SIZE_MAX;
  if (Object.keys(filters).length > 0 || total <= before)
    return {
      token: sign({ at: middle.toISOString(), id: "00000000-0000-0000-0000-000000000000" }),
      page: `about ${Math.round(total / 2 / PAGE_SIZE_MAX)}`,
    };
  const text = buildListingSql(merchantId, listing);
  const last = `select ${orderBy}::text as at, id from recovery_actions where ${conditionsSql(text)}
    ${text.orderClause(orderBy)} limit 1 offset ${text.parameter(before - 1)}`;
  const cursor = (await db.run<Cursor>(prepared("", last), text.values)).rows[0]!;
  return { token: sign(cursor), page: String(DEEP_PAGE) };
}

serveRequests({ make, count, deep }, async () => {
  await running.stop();
  await remove();
});
