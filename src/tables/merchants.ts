import type { Merchant } from "../domain/merchant.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { LISTS_VERSION } from "./merchant-clocks.ts";

const COLUMNS = {
  id: "id",
  name: "name",
  bucket: "bucket",
  webhookUrl: "webhook_url",
  webhookAuth: "webhook_auth",
  webhookCredential: "webhook_credential",
  webhookSecret: "webhook_secret",
  webhookOldSecret: "webhook_old_secret",
  webhookOldSecretUntil: "webhook_old_secret_until",
  webhookSubPaths: "webhook_sub_paths",
  webhookFlat: "webhook_flat",
  webhookCap: "webhook_cap",
  webhookRate: "webhook_rate",
  webhookPaused: "webhook_paused",
  webhookPausedAt: "webhook_paused_at",
  webhookPausedBy: "webhook_paused_by",
  webhookFailingSince: "webhook_failing_since",
  sendsRecoveryEnded: "sends_recovery_ended",
  leadMs: "lead_ms",
  windowDays: "window_days",
  budget: "budget",
  smallestAmount: "smallest_amount",
  engine: "engine",
  shadow: "shadow",
  sharesLearning: "shares_learning",
  explore: "explore",
  ratePerSecond: "rate_per_second",
  rateBurst: "rate_burst",
  createdAt: "created_at",
} as const satisfies Record<keyof Merchant, string>;

const FIELDS = Object.keys(COLUMNS) as (keyof Merchant)[];
const SELECT = `select ${FIELDS.map((field) => `${COLUMNS[field]} as "${field}"`).join(", ")} from merchants`;

const FIND = prepared("find_merchant", `${SELECT} where id = $1`);

export async function findMerchant(tx: Tx, id: string) {
  return (await tx.run<Merchant>(FIND, [id])).rows[0] ?? null;
}

const LOCK_ONE = prepared("hold_merchant", `${SELECT} where id = $1 for update`);

export async function lockMerchant(tx: Tx, id: string) {
  return (await tx.run<Merchant>(LOCK_ONE, [id])).rows[0] ?? null;
}

const LIST = prepared("list_merchants", `${SELECT} order by id`);

/** Oldest first. */
export async function listMerchants(tx: Tx) {
  return (await tx.run<Merchant>(LIST)).rows;
}

// Null with Citus: rows on other servers have the transaction ids of those.
const CHANGE_MARK = prepared(
  "merchants_mark",
  `select case when to_regclass('pg_catalog.pg_dist_partition') is null
     then pg_snapshot_xmin(pg_current_snapshot())::text end as mark`,
);
// Transaction ids wrap around at 32 bits: a later one follows within half of that range.
const CHANGED = prepared(
  "changed_merchants",
  `${SELECT} where ((xmin::text::bigint - $1::bigint) & 4294967295) < 2147483648 order by id`,
);

/** Since `mark`; with the next mark. */
export async function changedMerchants(tx: Tx, mark: string): Promise<{ merchants: Merchant[]; mark: string | null }> {
  const next = await readChangeMark(tx);
  return { merchants: (await tx.run<Merchant>(CHANGED, [mark])).rows, mark: next };
}

/** Every later change is found after it. Null: changes cannot be found, and all merchants have to be read. */
export const readChangeMark = async (tx: Tx): Promise<string | null> =>
  (await tx.run<{ mark: string | null }>(CHANGE_MARK)).rows[0]!.mark;

const INSERT = prepared(
  "insert_merchant",
  `with inserted as (
     insert into merchants (${FIELDS.map((field) => COLUMNS[field]).join(", ")}, updated_at)
     values (${FIELDS.map((_, index) => `$${index + 1}`).join(", ")}, $${FIELDS.length}))
   insert into merchant_clocks (merchant_id, last_at, lists) values ($${FIELDS.indexOf("id") + 1}, $${FIELDS.length}, ${LISTS_VERSION})`,
);

/** Also inserts its clock. */
export async function insertMerchant(tx: Tx, merchant: Merchant) {
  await tx.run(
    INSERT,
    FIELDS.map((field) => merchant[field]),
  );
}

const SETTINGS = FIELDS.filter((field) => field !== "id" && field !== "bucket" && field !== "createdAt");
const UPDATE = prepared(
  "update_merchant",
  `update merchants set ${SETTINGS.map((field, index) => `${COLUMNS[field]} = $${index + 3}`).join(", ")}, updated_at = $2
   where id = $1`,
);

export async function updateMerchant(tx: Tx, merchant: Merchant, now: Date) {
  await tx.run(UPDATE, [merchant.id, now, ...SETTINGS.map((field) => merchant[field])]);
}

const UPDATE_ENCRYPTED = prepared(
  "update_merchant_boxes",
  "update merchants set webhook_credential = $2, webhook_secret = $3, webhook_old_secret = $4 where id = $1",
);

/** Re-encrypted secrets only. */
export async function updateEncryptedFields(
  tx: Tx,
  { id, webhookCredential, webhookSecret, webhookOldSecret }: Merchant,
) {
  await tx.run(UPDATE_ENCRYPTED, [id, webhookCredential, webhookSecret, webhookOldSecret]);
}

const LOCK_TABLE = prepared("lock_merchants", "lock table merchants in share row exclusive mode");

/** No new merchants until the transaction ends. */
export async function lockMerchantsTable(tx: Tx) {
  await tx.run(LOCK_TABLE);
}
