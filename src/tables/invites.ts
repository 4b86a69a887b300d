import type { Role } from "../domain/role.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export interface Invite {
  merchantId: string;
  id: string;
  role: Role;
  /** Person; null: the command line. */
  createdBy: string | null;
  /** Null: anyone with the link. */
  email: string | null;
  createdAt: Date;
  /** Real time. */
  expiresAt: Date;
  usedAt: Date | null;
  revokedAt: Date | null;
}

const COLUMNS = `merchant_id as "merchantId", id, role, made_by as "createdBy", email, created_at as "createdAt", expires_at as "expiresAt",
  used_at as "usedAt", revoked_at as "revokedAt"`;

const INSERT = prepared(
  "insert_invite",
  "insert into invites (merchant_id, id, hash, role, email, created_at, expires_at, made_by) values ($1, $2, $3, $4, $5, $6, $7, $8)",
);

const FORGET_SETUP = prepared(
  "forget_setup_invites",
  "delete from invites where merchant_id = $1 and role = 'owner' and email is null and used_at is null",
);

/** By which the first owner could have signed up. */
export async function forgetSetupInvites(tx: Tx, merchantId: string) {
  await tx.run(FORGET_SETUP, [merchantId]);
}

/** @param hash  SHA-256 of the token in the link */
export async function insertInvite(tx: Tx, invite: Omit<Invite, "usedAt" | "revokedAt">, hash: Buffer) {
  const { merchantId, id, role, email, createdAt, expiresAt, createdBy } = invite;
  await tx.run(INSERT, [merchantId, id, hash, role, email, createdAt, expiresAt, createdBy]);
}

const FIND = prepared("find_invite", `select ${COLUMNS} from invites where hash = $1`);

/** Even if it is used or expired. */
export async function findInvite(tx: Tx, hash: Buffer) {
  return (await tx.run<Invite>(FIND, [hash])).rows[0] ?? null;
}

const USE = prepared(
  "use_invite",
  `update invites set used_at = $3 where merchant_id = $1 and id = $2 and used_at is null and revoked_at is null and expires_at > $4`,
);

/** False if used, revoked or expired. */
export async function useInvite(tx: Tx, { merchantId, id }: Invite, now: Date, realNow: Date) {
  return (await tx.run(USE, [merchantId, id, now, realNow])).rowCount === 1;
}

const OPEN = prepared(
  "open_invites",
  `select ${COLUMNS} from invites where merchant_id = $1 and used_at is null and revoked_at is null and expires_at > $2 order by id`,
);

export async function openInvites(tx: Tx, merchantId: string, realNow: Date) {
  return (await tx.run<Invite>(OPEN, [merchantId, realNow])).rows;
}

const FOR_ADDRESS = prepared(
  "invites_for_address",
  `select ${COLUMNS} from invites where email = $1 and used_at is null and revoked_at is null and expires_at > $2
   order by merchant_id, id`,
);

/** Valid ones for this address only, of any merchant. */
export async function invitesForAddress(tx: Tx, email: string, realNow: Date) {
  return (await tx.run<Invite>(FOR_ADDRESS, [email, realNow])).rows;
}

const REVOKE = prepared(
  "revoke_invite",
  `update invites set revoked_at = $3 where merchant_id = $1 and id = $2 and used_at is null and revoked_at is null
   returning ${COLUMNS}`,
);

/** Null if already used or revoked. */
export async function revokeInvite(tx: Tx, merchantId: string, id: string, now: Date) {
  return (await tx.run<Invite>(REVOKE, [merchantId, id, now])).rows[0] ?? null;
}

const REVOKE_OF = prepared(
  "revoke_invites_of",
  `update invites set revoked_at = $3
   where merchant_id = $1 and made_by = $2 and role = any($4::text[]) and used_at is null and revoked_at is null`,
);

/** Unused ones to these roles. Returns how many. */
export async function revokeInvitesOf(tx: Tx, merchantId: string, personId: string, roles: readonly Role[], now: Date) {
  return (await tx.run(REVOKE_OF, [merchantId, personId, now, roles])).rowCount;
}
