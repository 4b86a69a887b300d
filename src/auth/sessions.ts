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

/** Who was away for so long signs in again. */
const SESSION_IDLE_MS = 12 * HOUR_MS;
/** And so does everybody after this. */
export const SESSION_LIFETIME_MS = 14 * DAY_MS;
/** A page more or less within a minute changes nothing, so it need not be written. */
const TOUCH_INTERVAL_MS = 60_000;

/**
 * Begin a session under a token that was never seen before: what a browser brought along is not used.
 *
 * @param former  the token of the session that ends with it
 * @returns the new token, known to the browser alone
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

/** The session behind a token, or null when there is none or it is over. */
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

/** Sign out. A token that means nothing ends nothing. */
export async function endSession(tx: Tx, token: string) {
  const hash = hashOfToken(token);
  if (hash) await deleteSession(tx, hash);
}
