import type { Ports } from "../domain/ports.ts";
import type { Database } from "../store/database.ts";
import { deleteOldProviderVisits, insertProviderVisit, takeProviderVisit } from "../store/provider-visits.ts";
import { countSignIn } from "../store/sign-in-counts.ts";
import { networkOf } from "./network.ts";
import { subject, TRIES_MS } from "./sign-in.ts";
import { hashOfToken, newToken } from "./token.ts";

/** Who is away for longer begins anew. */
export const AWAY_MS = 10 * 60_000;
/** A whole office may sit behind one address. */
const STARTS_MAX = 500;

/**
 * Somebody leaves for the provider.
 *
 * @param address  from where it comes: its network counts
 * @returns a token for the browser to keep; null when too many left from this address of late
 */
export async function beginProviderVisit(db: Database, address: string, ports: Ports): Promise<string | null> {
  const realNow = ports.realNow();
  const from = new Date(realNow.getTime() - TRIES_MS);
  if ((await countSignIn(db, subject("provider", networkOf(address)), realNow, from)) > STARTS_MAX) return null;
  const token = newToken(ports.randomBytes);
  await deleteOldProviderVisits(db, new Date(realNow.getTime() - AWAY_MS));
  await insertProviderVisit(db, hashOfToken(token)!, realNow);
  return token;
}

/** Somebody came back; false when it is too late, or they had come back before. */
export async function endProviderVisit(db: Database, token: string, ports: Ports): Promise<boolean> {
  const hash = hashOfToken(token);
  return hash !== null && takeProviderVisit(db, hash, new Date(ports.realNow().getTime() - AWAY_MS));
}
