import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { deleteOldProviderVisits, insertProviderVisit, takeProviderVisit } from "../tables/provider-visits.ts";
import { countSignInAttempt } from "../tables/sign-in-counts.ts";
import { networkOf } from "./client-network.ts";
import { ATTEMPT_WINDOW_MS, hashSubject } from "./sign-in.ts";
import { hashOfToken, newToken } from "./token.ts";

/** Who is away for longer begins anew. */
export const REDIRECT_TIMEOUT_MS = 10 * 60_000;
/** A whole office may sit behind one address. */
const MAX_REDIRECTS_PER_NETWORK = 500;

/**
 * Somebody leaves for the provider.
 *
 * @param address  from where it comes: its network counts
 * @returns a token for the browser to keep; null when too many left from this address of late
 */
export async function beginProviderRedirect(db: Database, address: string, ports: Ports): Promise<string | null> {
  const realNow = ports.realNow();
  const from = new Date(realNow.getTime() - ATTEMPT_WINDOW_MS);
  if (
    (await countSignInAttempt(db, hashSubject("provider", networkOf(address)), realNow, from)) >
    MAX_REDIRECTS_PER_NETWORK
  )
    return null;
  const token = newToken(ports.randomBytes);
  await deleteOldProviderVisits(db, new Date(realNow.getTime() - REDIRECT_TIMEOUT_MS));
  await insertProviderVisit(db, hashOfToken(token)!, realNow);
  return token;
}

/** Somebody came back; false when it is too late, or they had come back before. */
export async function completeProviderRedirect(db: Database, token: string, ports: Ports): Promise<boolean> {
  const hash = hashOfToken(token);
  return hash !== null && takeProviderVisit(db, hash, new Date(ports.realNow().getTime() - REDIRECT_TIMEOUT_MS));
}
