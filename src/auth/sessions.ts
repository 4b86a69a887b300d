import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { Person } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { membershipsOf } from "../tables/people.ts";
import {
  deleteOldSessions,
  deleteSession,
  findSession,
  insertSession,
  type Session,
  touchSession,
} from "../tables/sessions.ts";
import { hashOfToken, newToken } from "./token.ts";

/** A person who was inactive for this long must sign in again. */
const SESSION_IDLE_MS = 12 * HOUR_MS;
/** Every session ends after this time. */
export const SESSION_LIFETIME_MS = 14 * DAY_MS;
/** Writing the last use at most once a minute saves a statement per page. */
const TOUCH_INTERVAL_MS = 60_000;

/**
 * Starts a session under a new token, to prevent session fixation.
 *
 * @param former  the token of the session that it replaces
 * @returns the token, which is stored only in the browser
 */
export async function beginSession(tx: Tx, person: Person, former: string | undefined, ports: Ports): Promise<string> {
  const formerHash = former === undefined ? null : hashOfToken(former);
  if (formerHash) await deleteSession(tx, formerHash);
  const realNow = ports.realNow();
  await deleteOldSessions(
    tx,
    new Date(realNow.getTime() - SESSION_IDLE_MS),
    new Date(realNow.getTime() - SESSION_LIFETIME_MS),
  );
  const token = newToken(ports.randomBytes);
  const [first] = await membershipsOf(tx, person.id);
  await insertSession(tx, hashOfToken(token)!, person.id, first?.merchantId ?? null, realNow);
  return token;
}

/** Returns the session of a token, or null if it has ended. */
export async function findValidSession(db: Database, token: string, ports: Ports): Promise<Session | null> {
  const hash = hashOfToken(token);
  const session = hash && (await findSession(db, hash));
  if (!hash || !session) return null;
  const realNow = ports.realNow();
  const idleMs = realNow.getTime() - session.seenAt.getTime();
  if (idleMs >= SESSION_IDLE_MS || realNow.getTime() - session.createdAt.getTime() >= SESSION_LIFETIME_MS) return null;
  if (idleMs >= TOUCH_INTERVAL_MS) await touchSession(db, hash, realNow);
  return session;
}

export async function endSession(tx: Tx, token: string) {
  const hash = hashOfToken(token);
  if (hash) await deleteSession(tx, hash);
}
