// A process of `bench:list`: the API as the service runs it, over a database with a merchant of many actions.
import { readFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { signPageToken, tokenKeys } from "../../src/api/list/page-token.ts";
import { PAGE_SIZE_MAX, readQuery, toListing } from "../../src/api/list/query.ts";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { createMerchant } from "../../src/recovery/merchants.ts";
import { start } from "../../src/start.ts";
import { listingText } from "../../src/store/action-listing.ts";
import { conditions } from "../../src/store/action-total.ts";
import { prepared } from "../../src/store/database.ts";
import { answer } from "../part.ts";
import { databaseFacts, scratchSettings } from "../scratch.ts";
import { fill } from "./fill.ts";

export interface ListFacts {
  port: number;
  ca: string;
  apiKey: string;
  server: string;
  /** Bytes of the table and of its indexes. */
  heap: number;
  indexes: number;
}

/** How many a listing has, counted one by one, and the token of a page far behind its first. */
export interface Walked {
  total: number;
  page: number;
  token: string | null;
}

/** Beside the table: sorting for indexes, and what the machine needs. */
const FREE_BYTES_PER_ACTION = 1_700;
const DEEP_PAGE = 10_000;

const { settings, log, remove } = await scratchSettings();
const running = await start({
  settings,
  roles: new Set(["api"]),
  log,
  onFatal: (error) => {
    throw error;
  },
});
const { store, caPath } = running;
const { db, ports, secretKey, address } = store;
let merchantId = "";

async function make({ actions, until }: { actions: number; until: Date }): Promise<ListFacts> {
  const { bavail, bsize } = await statfs(settings.dataDir);
  const needed = actions * FREE_BYTES_PER_ACTION;
  if (bavail * bsize < needed)
    throw new Error(`${Math.ceil(needed / 1e9)} GB of disk are needed in ${settings.dataDir}`);
  const limits = { ratePerSecond: 1_000_000, rateBurst: 1_000_000 };
  const merchant = await createMerchant(db, "Bench", limits, secretKey, ports);
  merchantId = merchant.id;
  const { apiKey } = await createApiKey(db, { merchantId, permissions: ["read:recovery_actions"] }, ports);
  const sizes = await fill(db, { merchantId, actions, until }, (line) => process.stderr.write(`  ${line}\n`));
  const { server } = await databaseFacts(db, address, settings.dataDir);
  return { port: settings.port, ca: readFileSync(caPath!, "utf8"), apiKey, server, ...sizes };
}

/** Without the pages before it: nobody has to walk a million actions to measure the last of them. */
async function walked(search: string): Promise<Walked> {
  const { filters, orderBy = "created_at", direction = "desc" } = readQuery(search);
  const text = () => listingText(merchantId, toListing(filters, orderBy, direction));
  const counting = text();
  const count = `select count(*) as total from recovery_actions where ${conditions(counting)}`;
  const { total } = (await db.run<{ total: number }>(prepared("", count), counting.values)).rows[0]!;
  // The page after this one is full.
  const page = Math.min(DEEP_PAGE, Math.floor(total / PAGE_SIZE_MAX)) - 1;
  if (page < 2) return { total, page: 0, token: null };
  const listing = text();
  const last = `select to_char(${orderBy} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, id
    from recovery_actions where ${conditions(listing)} ${listing.sorted(orderBy)} limit 1 offset ${listing.value(page * PAGE_SIZE_MAX - 1)}`;
  const cursor = (await db.run<{ at: string; id: string }>(prepared("", last), listing.values)).rows[0]!;
  const walk = { filters, orderBy, direction, cursor, total };
  return {
    total,
    page: page + 1,
    token: signPageToken(tokenKeys(settings.pageTokenKeys, secretKey), merchantId, walk, new Date()),
  };
}

answer({ make, walked }, async () => {
  await running.stop();
  await remove();
});
