import type { IntegrationType } from "../domain/integration.ts";
import type { Permission } from "../domain/permission.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface ApiKey {
  id: string;
  merchantId: string;
  prefix: string;
  lastFour: string;
  permissions: Permission[];
  note: string | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
  /** As named in the audit log. */
  createdBy: string | null;
  replaces: string | null;
  /** The billing system whose connector uses it; null for a merchant's own program. */
  integrationType: IntegrationType | null;
}

const COLUMNS = `id, merchant_id as "merchantId", prefix, last_four as "lastFour", permissions, note, created_at as "createdAt",
  expires_at as "expiresAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt",
  made_by as "createdBy", replaces, integration_type as "integrationType"`;

const INSERT = prepared(
  "insert_api_key",
  `insert into api_keys (id, merchant_id, hash, prefix, last_four, permissions, note, created_at, expires_at, made_by, replaces,
     integration_type)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
);

/** @param key  `hash` is the SHA-256 of the key's text */
export async function insertApiKey(
  tx: Tx,
  key: Omit<ApiKey, "revokedAt" | "lastUsedAt" | "permissions"> & { hash: Buffer; permissions: readonly Permission[] },
) {
  const { id, merchantId, hash, prefix, lastFour, permissions, note, createdAt, expiresAt, createdBy, replaces } = key;
  const { integrationType } = key;
  const details = [prefix, lastFour, permissions, note, createdAt, expiresAt, createdBy, replaces, integrationType];
  await tx.run(INSERT, [id, merchantId, hash, ...details]);
}

const FIND = prepared("find_api_key", `select ${COLUMNS} from api_keys where hash = $1`);

/** Even if revoked or expired. */
export async function findApiKey(tx: Tx, hash: Buffer) {
  return (await tx.run<ApiKey>(FIND, [hash])).rows[0] ?? null;
}

const BY_IDS = prepared("api_keys_by_ids", `select ${COLUMNS} from api_keys where id = any($1::uuid[])`);

/** Of any merchant, so that replicas notice revocations. */
export async function apiKeysByIds(tx: Tx, ids: readonly string[]) {
  return (await tx.run<ApiKey>(BY_IDS, [ids])).rows;
}

const OF_MERCHANT = prepared(
  "api_keys_of_merchant",
  `select ${COLUMNS} from api_keys where merchant_id = $1 order by id`,
);

/** Oldest first. */
export async function apiKeysOfMerchant(tx: Tx, merchantId: string) {
  return (await tx.run<ApiKey>(OF_MERCHANT, [merchantId])).rows;
}

const REVOKE = prepared(
  "revoke_api_key",
  "update api_keys set revoked_at = $3 where merchant_id = $1 and id = $2 and revoked_at is null",
);

/** False if unknown or already revoked. */
export async function revokeApiKey(tx: Tx, merchantId: string, id: string, now: Date) {
  return (await tx.run(REVOKE, [merchantId, id, now])).rowCount === 1;
}

const LOCK = prepared("hold_api_key", `select ${COLUMNS} from api_keys where merchant_id = $1 and id = $2 for update`);

export async function lockApiKey(tx: Tx, merchantId: string, id: string) {
  return (await tx.run<ApiKey>(LOCK, [merchantId, id])).rows[0] ?? null;
}

const SUCCESSOR = prepared(
  "find_successor",
  `select ${COLUMNS} from api_keys where merchant_id = $1 and replaces = $2 and revoked_at is null order by id desc limit 1`,
);

export async function findSuccessor(tx: Tx, merchantId: string, id: string) {
  return (await tx.run<ApiKey>(SUCCESSOR, [merchantId, id])).rows[0] ?? null;
}

const EXPIRE = prepared(
  "expire_api_key",
  `update api_keys set expires_at = least(expires_at, $3) where merchant_id = $1 and id = $2 and revoked_at is null
   returning expires_at as "expiresAt"`,
);

/** Never postponed (service time). Null for a revoked key. */
export async function expireApiKey(tx: Tx, merchantId: string, id: string, at: Date) {
  return (await tx.run<{ expiresAt: Date }>(EXPIRE, [merchantId, id, at])).rows[0]?.expiresAt ?? null;
}

const TOUCH = prepared(
  "touch_api_keys",
  `update api_keys set last_used_at = used.at
   from unnest($1::uuid[], $2::timestamptz[]) as used (id, at)
   where api_keys.id = used.id and (last_used_at is null or last_used_at < used.at)`,
);

/** @param used  sorted by id, so that replicas lock in the same order */
export async function touchApiKeys(tx: Tx, used: readonly (readonly [id: string, at: Date])[]) {
  await tx.run(TOUCH, [used.map(([id]) => id), used.map(([, at]) => at.toISOString())]);
}
