import type { Person } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { findPersonByIdentity, insertIdentity } from "../tables/identities.ts";
import { type Invite, invitesForAddress } from "../tables/invites.ts";
import { dropPassword, findPersonByEmail, insertPerson, membershipsOf } from "../tables/people.ts";
import { deleteSessionsOf } from "../tables/sessions.ts";
import { joinMerchant } from "./invites.ts";
import type { Claims } from "./oidc.ts";
import { isEmail, normalizeEmail } from "./sign-in.ts";

const NAME_LENGTH_MAX = 100;

/** "unverified": there is no valid, verified address. "unknown": it is not invited. "another": it is linked to another identity. */
export type ProviderRefusal = "unverified" | "unknown" | "another";
export type ProviderSignIn =
  | { person: Person; passwordRemoved: boolean }
  | { refused: ProviderRefusal; email: string | null };

/**
 * Signs in a person by a provider's claims. The first time, the verified address must belong to a person or an invite, or the
 * followed invite must be open to any address. Afterwards only the provider's subject counts.
 *
 * @param invite  the invite whose link was followed
 * @param address  the client's IP address, for the audit log
 */
export function signInByProvider(
  db: Database,
  claims: Claims,
  invite: Invite | null,
  address: string,
  ports: Ports,
): Promise<ProviderSignIn> {
  const inTransaction = db.transaction(async (tx): Promise<ProviderSignIn> => {
    const linkedPerson = await findPersonByIdentity(tx, claims.issuer, claims.subject);
    const result: ProviderSignIn = linkedPerson
      ? { person: linkedPerson, passwordRemoved: false }
      : await signInFirstTime(tx, claims, invite, address, ports);
    if ("person" in result && invite) await joinUnlessMember(tx, invite, result.person, claims, address, ports);
    return result;
  });
  return inTransaction.catch((error) => {
    if (!(error instanceof Uninvited)) throw error;
    return { refused: "unknown", email: error.message };
  });
}

/** Rolls back the new person, because the last invite was used concurrently. */
class Uninvited extends Error {}

async function signInFirstTime(
  tx: Tx,
  claims: Claims,
  invite: Invite | null,
  address: string,
  ports: Ports,
): Promise<ProviderSignIn> {
  if (claims.email === null || !claims.isVerified || !isEmail(claims.email))
    return { refused: "unverified", email: claims.email };
  const email = normalizeEmail(claims.email);
  const existing = await findPersonByEmail(tx, email);
  const created = existing ? null : await createInvitedPerson(tx, email, claims, invite, address, ports);
  const person = existing ?? created?.person;
  if (!person) return { refused: "unknown", email };
  if (!(await insertIdentity(tx, claims.issuer, claims.subject, person.id, ports.now()))) {
    const linked = await findPersonByIdentity(tx, claims.issuer, claims.subject); // linked concurrently, from a second window
    return linked ? { person: linked, passwordRemoved: false } : { refused: "another", email };
  }
  if (created?.isNew) return { person, passwordRemoved: false };
  // The person who joined under this address may not be its owner, so their password and sessions stop working.
  await dropPassword(tx, person.id);
  await deleteSessionsOf(tx, person.id);
  const actor = { personId: person.id, name: email, address };
  const change = { operation: "member.linked", object: email, details: { provider: claims.issuer } };
  for (const { merchantId } of await membershipsOf(tx, person.id))
    await writeAuditEntry(tx, merchantId, actor, change, ports);
  return { person: { ...person, password: null }, passwordRemoved: person.password !== null };
}

/** Creates the person if the followed invite, or one for this address, allows it. */
async function createInvitedPerson(
  tx: Tx,
  email: string,
  claims: Claims,
  followed: Invite | null,
  address: string,
  ports: Ports,
): Promise<{ person: Person | null; isNew: boolean }> {
  const isFollowedValid = followed !== null && (followed.email === null || followed.email === email);
  const invites = isFollowedValid ? [followed] : await invitesForAddress(tx, email, ports.realNow());
  if (invites.length === 0) return { person: null, isNew: false };
  const name = claims.name?.trim().slice(0, NAME_LENGTH_MAX) || email;
  const person: Person = {
    id: ports.newId(),
    email,
    name,
    password: null,
    zone: "UTC",
    theme: "system",
    createdAt: ports.now(),
  };
  // Created concurrently: from a second window, or with a password by an invite.
  if (!(await insertPerson(tx, person))) return { person: await findPersonByEmail(tx, email), isNew: false };
  for (const invite of invites) await joinUnlessMember(tx, invite, person, claims, address, ports);
  if ((await membershipsOf(tx, person.id)).length === 0) throw new Uninvited(email);
  return { person, isNew: true };
}

async function joinUnlessMember(
  tx: Tx,
  invite: Invite,
  person: Person,
  { issuer }: Claims,
  address: string,
  ports: Ports,
) {
  const memberships = await membershipsOf(tx, person.id);
  if (memberships.some(({ merchantId }) => merchantId === invite.merchantId)) return;
  await joinMerchant(tx, invite, person, address, ports, { provider: issuer });
}
