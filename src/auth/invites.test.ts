import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { DAY_MS } from "../domain/durations.ts";
import type { Person } from "../domain/person.ts";
import type { Role } from "../domain/role.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { revokeInvite } from "../tables/invites.ts";
import { membersOf } from "../tables/members.ts";
import { findPersonByEmail } from "../tables/people.ts";
import {
  acceptInvite,
  createInvite,
  findValidInvite,
  INVITE_LIFETIME_MS,
  SETUP_INVITE_LIFETIME_MS,
} from "./invites.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const clock = testClock();
const ports = testPorts(clock);
const FROM = "192.0.2.7";

const aPerson = (email: string): Person => ({
  ...{ id: ports.newId(), email, name: "Ada", password: null },
  ...{ zone: "UTC", theme: "system", createdAt: ports.now() },
});

async function createTestInvite(over: { role?: Role; email?: string | null; lifeMs?: number } = {}) {
  const merchant = await testMerchant(db, ports);
  const settings = { role: "viewer" as const, email: null, lifeMs: INVITE_LIFETIME_MS, createdBy: null, ...over };
  const { id, token } = await createInvite(db, merchant.id, settings, ports);
  const invite = (await findValidInvite(db, token, ports))!;
  const members = async () => (await membersOf(db, merchant.id)).map(({ email, role }) => `${email} ${role}`);
  return { merchant, id, token, invite, members };
}

test("a new person joins with the role of the invite, and the audit log records it", async () => {
  const { merchant, invite, token, members } = await createTestInvite({ role: "developer" });
  const ada = aPerson("ada@example.com");
  assert.equal(await acceptInvite(db, invite, ada, true, FROM, ports), null);
  assert.deepEqual(await members(), ["ada@example.com developer"]);
  assert.equal(await findValidInvite(db, token, ports), null, "a link works once");
  const [entry, ...others] = await listAuditEntries(db, merchant.id, {}, 10);
  assert.deepEqual(others, []);
  assert.partialDeepStrictEqual(entry, {
    ...{ operation: "member.joined", object: "ada@example.com", details: { role: "developer" } },
    ...{ actor: "ada@example.com", address: FROM },
  });
});

test("an invite for an address refuses another person, creates nobody, and still works for its owner", async () => {
  const { invite, token, members } = await createTestInvite({ email: "grace@example.com" });
  assert.equal(await acceptInvite(db, invite, aPerson("eve@example.com"), true, FROM, ports), "invalid_invite");
  assert.equal(await findPersonByEmail(db, "eve@example.com"), null);
  assert.deepEqual(await members(), []);
  assert.ok(await findValidInvite(db, token, ports));
  assert.equal(await acceptInvite(db, invite, aPerson("grace@example.com"), true, FROM, ports), null);
  assert.deepEqual(await members(), ["grace@example.com viewer"]);
});

test("an invite that was used or revoked concurrently is refused", async () => {
  const used = await createTestInvite();
  await acceptInvite(db, used.invite, aPerson("first@example.com"), true, FROM, ports);
  assert.equal(await acceptInvite(db, used.invite, aPerson("second@example.com"), true, FROM, ports), "invalid_invite");
  assert.deepEqual(await used.members(), ["first@example.com viewer"]);
  const revoked = await createTestInvite();
  await revokeInvite(db, revoked.merchant.id, revoked.id, ports.now());
  assert.equal(await findValidInvite(db, revoked.token, ports), null);
  assert.equal(
    await acceptInvite(db, revoked.invite, aPerson("third@example.com"), true, FROM, ports),
    "invalid_invite",
  );
  assert.deepEqual(await revoked.members(), []);
});

test("a new person cannot join under another person's address, and nobody joins twice", async () => {
  const first = await createTestInvite();
  const mary = aPerson("mary@example.com");
  assert.equal(await acceptInvite(db, first.invite, mary, true, FROM, ports), null);
  const second = await createTestInvite();
  assert.equal(await acceptInvite(db, second.invite, aPerson("mary@example.com"), true, FROM, ports), "taken");
  assert.deepEqual(await second.members(), []);
  assert.equal(await acceptInvite(db, second.invite, mary, false, FROM, ports), null);
  assert.deepEqual(await second.members(), ["mary@example.com viewer"]);
  const { token } = await createInvite(
    db,
    second.merchant.id,
    { role: "owner", email: null, lifeMs: SETUP_INVITE_LIFETIME_MS, createdBy: null },
    ports,
  );
  const third = (await findValidInvite(db, token, ports))!;
  assert.equal(await acceptInvite(db, third, mary, false, FROM, ports), "already_member");
  assert.ok(await findValidInvite(db, token, ports), "a person who is a member already does not use up the invite");
  assert.deepEqual(await second.members(), ["mary@example.com viewer"]);
});

test("an invite expires after seven days, or after an hour for the first user", async () => {
  assert.deepEqual([INVITE_LIFETIME_MS, SETUP_INVITE_LIFETIME_MS], [7 * DAY_MS, DAY_MS / 24]);
  const { invite, token } = await createTestInvite();
  clock.realMs += INVITE_LIFETIME_MS - 1;
  assert.ok(await findValidInvite(db, token, ports));
  clock.realMs += 1;
  assert.equal(await findValidInvite(db, token, ports), null);
  assert.equal(await acceptInvite(db, invite, aPerson("late@example.com"), true, FROM, ports), "invalid_invite");
  assert.equal(await findValidInvite(db, "no token", ports), null);
});

test("a database error during a join is not reported as a refusal", async () => {
  const { invite } = await createTestInvite();
  const broken = { ...db, transaction: () => Promise.reject(new Error("the database is gone")) };
  await assert.rejects(acceptInvite(broken, invite, aPerson("x@example.com"), true, FROM, ports), /is gone/);
});
