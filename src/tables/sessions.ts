import type { Person } from "../domain/person.ts";
import { prepared, type Tx } from "../postgres/database.ts";

/** Times are real. */
export interface Session {
  person: Person;
  /** The merchant shown. */
  merchantId: string | null;
  createdAt: Date;
  seenAt: Date;
}

const INSERT = prepared(
  "insert_session",
  "insert into sessions (hash, person_id, merchant_id, created_at, seen_at) values ($1, $2, $3, $4, $4)",
);

/** @param hash  SHA-256 of the token */
export async function insertSession(tx: Tx, hash: Buffer, personId: string, merchantId: string | null, realNow: Date) {
  await tx.run(INSERT, [hash, personId, merchantId, realNow]);
}

const FIND = prepared(
  "find_session",
  `select s.merchant_id as "merchantId", s.created_at as "createdAt", s.seen_at as "seenAt",
     p.id, p.email, p.name, p.password, p.zone, p.theme, p.created_at as "personCreatedAt"
   from sessions s join people p on p.id = s.person_id where s.hash = $1`,
);

interface Row extends Omit<Person, "createdAt"> {
  personCreatedAt: Date;
  merchantId: string | null;
  createdAt: Date;
  seenAt: Date;
}

/** Even if it is over. */
export async function findSession(tx: Tx, hash: Buffer): Promise<Session | null> {
  const row = (await tx.run<Row>(FIND, [hash])).rows[0];
  if (!row) return null;
  const { merchantId, createdAt, seenAt, personCreatedAt, ...person } = row;
  return { person: { ...person, createdAt: personCreatedAt }, merchantId, createdAt, seenAt };
}

const TOUCH = prepared("touch_session", "update sessions set seen_at = $2 where hash = $1 and seen_at < $2");

/** The later of two concurrent times stays. */
export async function touchSession(tx: Tx, hash: Buffer, realNow: Date) {
  await tx.run(TOUCH, [hash, realNow]);
}

const CHOOSE = prepared("choose_merchant", "update sessions set merchant_id = $2 where hash = $1");

export async function chooseMerchant(tx: Tx, hash: Buffer, merchantId: string) {
  await tx.run(CHOOSE, [hash, merchantId]);
}

const DELETE = prepared("delete_session", "delete from sessions where hash = $1");

export async function deleteSession(tx: Tx, hash: Buffer) {
  await tx.run(DELETE, [hash]);
}

const DELETE_OTHERS = prepared("delete_other_sessions", "delete from sessions where person_id = $1 and hash <> $2");

/** Returns how many. */
export async function deleteOtherSessions(tx: Tx, personId: string, hash: Buffer) {
  return (await tx.run(DELETE_OTHERS, [personId, hash])).rowCount;
}

const DELETE_OF = prepared("delete_sessions_of", "delete from sessions where person_id = $1");

export async function deleteSessionsOf(tx: Tx, personId: string) {
  await tx.run(DELETE_OF, [personId]);
}

const DELETE_OVER = prepared("delete_old_sessions", "delete from sessions where seen_at < $1 or created_at < $2");

/** Last used before `seenBefore`, or started before `createdBefore`. */
export async function deleteOldSessions(tx: Tx, seenBefore: Date, createdBefore: Date) {
  await tx.run(DELETE_OVER, [seenBefore, createdBefore]);
}
