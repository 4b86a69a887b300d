import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { Person } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Role } from "../domain/role.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { findInvite, type Invite, insertInvite, useInvite } from "../tables/invites.ts";
import { addMember } from "../tables/members.ts";
import { insertPerson } from "../tables/people.ts";
import { countSignInAttempt } from "../tables/sign-in-counts.ts";
import { ATTEMPT_WINDOW_MS, hashSubject } from "./sign-in.ts";
import { hashOfToken, newToken } from "./token.ts";

export const SETUP_INVITE_LIFETIME_MS = HOUR_MS;
export const INVITE_LIFETIME_MS = 7 * DAY_MS;

/** Creates an invite. `token` is never available again. */
export async function createInvite(
  tx: Tx,
  merchantId: string,
  invite: { role: Role; email: string | null; lifeMs: number; createdBy: string | null },
  ports: Ports,
): Promise<{ id: string; token: string }> {
  const { role, email, lifeMs, createdBy } = invite;
  const id = ports.newId();
  const token = newToken(ports.randomBytes);
  const expiresAt = new Date(ports.realNow().getTime() + lifeMs);
  await insertInvite(
    tx,
    { merchantId, id, role, email, createdAt: ports.now(), expiresAt, createdBy },
    hashOfToken(token)!,
  );
  return { id, token };
}

export async function findValidInvite(tx: Tx, token: string, ports: Ports): Promise<Invite | null> {
  const hash = hashOfToken(token);
  const invite = hash && (await findInvite(tx, hash));
  const isOpen = invite && !invite.usedAt && !invite.revokedAt && invite.expiresAt > ports.realNow();
  return isOpen ? invite : null;
}

/** Each attempt costs as much as a sign-in. */
const MAX_JOIN_ATTEMPTS = 20;

/** Counts an attempt to join, before a password is checked or hashed. Returns false if there were too many. */
export async function countJoinAttempt(db: Database, { id }: Invite, ports: Ports): Promise<boolean> {
  const realNow = ports.realNow();
  const from = new Date(realNow.getTime() - ATTEMPT_WINDOW_MS);
  return (await countSignInAttempt(db, hashSubject("join", id), realNow, from)) <= MAX_JOIN_ATTEMPTS;
}

export type JoinRefusal = "invalid_invite" | "already_member";

/**
 * Adds a person as a member. On a refusal, the caller must roll back.
 *
 * @param auditDetails  added to the audit log entry
 */
export async function joinMerchant(
  tx: Tx,
  invite: Invite,
  person: Person,
  address: string,
  ports: Ports,
  auditDetails: Record<string, string> = {},
): Promise<JoinRefusal | null> {
  if (invite.email !== null && invite.email !== person.email) return "invalid_invite";
  const { merchantId, role } = invite;
  if (!(await useInvite(tx, invite, ports.now(), ports.realNow()))) return "invalid_invite";
  if (!(await addMember(tx, merchantId, person.id, role, ports.now()))) return "already_member";
  const actor = { personId: person.id, name: person.email, address };
  const details = { role, ...auditDetails };
  await writeAuditEntry(tx, merchantId, actor, { operation: "member.joined", object: person.email, details }, ports);
  return null;
}

/**
 * Adds a new or existing person as a member, in a transaction.
 *
 * @returns why it was refused, or null
 */
export async function acceptInvite(
  db: Database,
  invite: Invite,
  person: Person,
  isNew: boolean,
  address: string,
  ports: Ports,
): Promise<"taken" | JoinRefusal | null> {
  const outcome = { reason: null as "taken" | JoinRefusal | null };
  await db
    .transaction(async (tx) => {
      const isTaken = isNew && !(await insertPerson(tx, person));
      outcome.reason = isTaken ? "taken" : await joinMerchant(tx, invite, person, address, ports);
      if (outcome.reason !== null) throw new InviteRefused();
    })
    .catch((error) => {
      if (!(error instanceof InviteRefused)) throw error;
    });
  return outcome.reason;
}

/** Rolls back the transaction. */
class InviteRefused extends Error {}
