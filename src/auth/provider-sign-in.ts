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

/** Why nobody signs in: the address is not verified, nobody invited it, or it was somebody else's at the provider before. */
export type ProviderRefusal = "unverified" | "unknown" | "another";
export type ProviderSignIn =
  | { person: Person; lostPassword: boolean }
  | { refused: ProviderRefusal; email: string | null };

/**
 * The person behind what a provider says. The first time, the person is found by the verified address: one who is here, or one
 * who is invited. Nobody else gets in. From then on the provider's name for the person counts, not the address.
 *
 * @param invite  whose link was followed, if one was
 * @param address  of the network, from where it comes
 */
export function signInByProvider(
  db: Database,
  claims: Claims,
  invite: Invite | null,
  address: string,
  ports: Ports,
): Promise<ProviderSignIn> {
  const inTransaction = db.transaction(async (tx): Promise<ProviderSignIn> => {
    const known = await findPersonByIdentity(tx, claims.issuer, claims.subject);
    const found: ProviderSignIn = known
      ? { person: known, lostPassword: false }
      : await signInFirstTime(tx, claims, invite, address, ports);
    if ("person" in found && invite) await joinUnlessMember(tx, invite, found.person, claims, address, ports);
    return found;
  });
  return inTransaction.catch((error) => {
    if (!(error instanceof Uninvited)) throw error;
    return { refused: "unknown", email: error.message };
  });
}

/** The last invite was used a moment ago: ends the transaction, so that the person is not made. */
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
  const person = existing ?? (await createInvitedPerson(tx, email, claims, invite, address, ports));
  if (!person) return { refused: "unknown", email };
  if (!(await insertIdentity(tx, claims.issuer, claims.subject, person.id, ports.now()))) {
    const linked = await findPersonByIdentity(tx, claims.issuer, claims.subject); // a moment ago, by a second window
    return linked ? { person: linked, lostPassword: false } : { refused: "another", email };
  }
  if (!existing) return { person, lostPassword: false };
  // Whoever typed this address when they joined need not have been its owner: nothing of theirs opens the account any more.
  await dropPassword(tx, person.id);
  await deleteSessionsOf(tx, person.id);
  const actor = { personId: person.id, name: email, address };
  const change = { deed: "member.linked", object: email, details: { provider: claims.issuer } };
  for (const { merchantId } of await membershipsOf(tx, person.id))
    await writeAuditEntry(tx, merchantId, actor, change, ports);
  return { person: { ...person, password: null }, lostPassword: person.password !== null };
}

/** Make the person whom somebody invited: by the link that was followed, or under this address. */
async function createInvitedPerson(
  tx: Tx,
  email: string,
  claims: Claims,
  followed: Invite | null,
  address: string,
  ports: Ports,
): Promise<Person | null> {
  const isForThem = followed !== null && (followed.email === null || followed.email === email);
  const invites = isForThem ? [followed] : await invitesForAddress(tx, email, ports.realNow());
  if (invites.length === 0) return null;
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
  if (!(await insertPerson(tx, person))) return findPersonByEmail(tx, email); // made a moment ago, by a second window
  for (const invite of invites) await joinUnlessMember(tx, invite, person, claims, address, ports);
  if ((await membershipsOf(tx, person.id)).length === 0) throw new Uninvited(email);
  return person;
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
