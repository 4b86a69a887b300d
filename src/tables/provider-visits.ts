import { prepared, type Tx } from "../postgres/database.ts";

const INSERT = prepared("insert_provider_visit", "insert into provider_visits (hash, started_at) values ($1, $2)");

/** @param hash  SHA-256 of the browser's token */
export async function insertProviderVisit(tx: Tx, hash: Buffer, realNow: Date) {
  await tx.run(INSERT, [hash, realNow]);
}

const TAKE = prepared("take_provider_visit", "delete from provider_visits where hash = $1 and started_at > $2");

/** True once, and only for a visit started after `from`. */
export async function takeProviderVisit(tx: Tx, hash: Buffer, from: Date) {
  return (await tx.run(TAKE, [hash, from])).rowCount === 1;
}

const DELETE_OLD = prepared("delete_old_provider_visits", "delete from provider_visits where started_at <= $1");

export async function deleteOldProviderVisits(tx: Tx, until: Date) {
  await tx.run(DELETE_OLD, [until]);
}
