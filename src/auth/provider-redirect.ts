import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { deleteOldProviderVisits, insertProviderVisit, takeProviderVisit } from "../tables/provider-visits.ts";
import { countSignInAttempt } from "../tables/sign-in-counts.ts";
import { networkOf } from "./client-network.ts";
import { ATTEMPT_WINDOW_MS, hashSubject } from "./sign-in.ts";
import { hashOfToken, newToken } from "./token.ts";

/** A person who takes longer must start again. */
export const REDIRECT_TIMEOUT_MS = 10 * 60_000;
/** A whole office may share an address. */
const MAX_REDIRECTS_PER_NETWORK = 500;

/**
 * Starts a redirect to the provider. Counts redirects by the network of `address`.
 *
 * @returns a token for the browser, or null if there were too many redirects from this network
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

/** Completes a redirect. Returns false if it was completed before or timed out. */
export async function completeProviderRedirect(db: Database, token: string, ports: Ports): Promise<boolean> {
  const hash = hashOfToken(token);
  return hash !== null && takeProviderVisit(db, hash, new Date(ports.realNow().getTime() - REDIRECT_TIMEOUT_MS));
}
