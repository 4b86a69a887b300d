import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase, waitForLockWait } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import type { Person } from "../domain/person.ts";
import { findPersonByEmail, insertPerson } from "../tables/people.ts";
import { createInvite, findValidInvite, INVITE_LIFETIME_MS } from "./invites.ts";
import { signInByProvider } from "./provider-sign-in.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const ports = testPorts(testClock());
const FROM = "192.0.2.7";

test("a password that an invite sets concurrently is removed when the address's owner signs in by a provider", async () => {
  const merchant = await testMerchant(db, ports);
  const settings = { role: "viewer" as const, email: null, lifeMs: INVITE_LIFETIME_MS, createdBy: null };
  const { token } = await createInvite(db, merchant.id, settings, ports);
  const invite = (await findValidInvite(db, token, ports))!;
  const email = "ada@example.com";
  const impostor: Person = {
    ...{ id: ports.newId(), email, name: "Ada", password: "scrypt$of-somebody-else" },
    ...{ zone: "UTC", theme: "system", createdAt: ports.now() },
  };
  const claims = { issuer: "https://login.example", subject: "ada-1", email, isVerified: true, name: "Ada" };
  let signIn: ReturnType<typeof signInByProvider> | undefined;
  await db.transaction(async (tx) => {
    await insertPerson(tx, impostor);
    signIn = signInByProvider(db, claims, invite, FROM, ports);
    await waitForLockWait(db);
  });
  const result = await signIn!;
  assert.ok("person" in result && result.passwordRemoved);
  assert.equal(result.person.password, null);
  assert.equal((await findPersonByEmail(db, email))!.password, null);
});
