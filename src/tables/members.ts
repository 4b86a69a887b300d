import type { Role } from "../domain/role.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface Member {
  personId: string;
  email: string;
  name: string;
  role: Role;
  createdAt: Date;
  /** Real time; null if unknown. */
  seenAt: Date | null;
}

const LIST = prepared(
  "members_of_merchant",
  `select b.person_id as "personId", p.email, p.name, b.role, b.created_at as "createdAt",
     (select max(s.seen_at) from sessions s where s.person_id = p.id) as "seenAt"
   from members b join people p on p.id = b.person_id where b.merchant_id = $1
   order by array_position(array['owner','admin','developer','viewer'], b.role), p.email`,
);

/** Owners first. */
export async function membersOf(tx: Tx, merchantId: string) {
  return (await tx.run<Member>(LIST, [merchantId])).rows;
}

const LOCK = prepared(
  "hold_members",
  `select person_id as "personId", role from members where merchant_id = $1 order by person_id for update`,
);

export async function lockMembers(tx: Tx, merchantId: string) {
  return (await tx.run<{ personId: string; role: Role }>(LOCK, [merchantId])).rows;
}

const ADD = prepared(
  "add_member",
  `insert into members (merchant_id, person_id, role, created_at) values ($1, $2, $3, $4)
   on conflict (merchant_id, person_id) do nothing`,
);

/** False if already a member in any role. */
export async function addMember(tx: Tx, merchantId: string, personId: string, role: Role, now: Date) {
  return (await tx.run(ADD, [merchantId, personId, role, now])).rowCount === 1;
}

const SET_ROLE = prepared("set_role", "update members set role = $3 where merchant_id = $1 and person_id = $2");

/** Lock the members first, so that an owner remains. */
export async function setRole(tx: Tx, merchantId: string, personId: string, role: Role) {
  await tx.run(SET_ROLE, [merchantId, personId, role]);
}

const REMOVE = prepared("remove_member", "delete from members where merchant_id = $1 and person_id = $2");

export async function removeMember(tx: Tx, merchantId: string, personId: string) {
  await tx.run(REMOVE, [merchantId, personId]);
}
