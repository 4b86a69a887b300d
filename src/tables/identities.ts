import type { Person } from "../domain/person.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const FIND = prepared(
  "find_person_by_identity",
  `select p.id, p.email, p.name, p.password, p.zone, p.theme, p.created_at as "createdAt"
   from identities i join people p on p.id = i.person_id where i.issuer = $1 and i.subject = $2`,
);

export async function findPersonByIdentity(tx: Tx, issuer: string, subject: string) {
  return (await tx.run<Person>(FIND, [issuer, subject])).rows[0] ?? null;
}

const INSERT = prepared(
  "insert_identity",
  "insert into identities (issuer, subject, person_id, created_at) values ($1, $2, $3, $4) on conflict do nothing",
);

/** False if either is linked already. */
export async function insertIdentity(tx: Tx, issuer: string, subject: string, personId: string, now: Date) {
  return (await tx.run(INSERT, [issuer, subject, personId, now])).rowCount === 1;
}

const FORGET = prepared(
  "forget_identities",
  "delete from identities i where i.person_id = $1 and not exists (select from members m where m.person_id = i.person_id)",
);

/** So that a new invite starts over. */
export async function forgetIdentities(tx: Tx, personId: string) {
  await tx.run(FORGET, [personId]);
}
