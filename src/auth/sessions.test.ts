import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { Person } from "../domain/person.ts";
import { addMember } from "../tables/members.ts";
import { insertPerson } from "../tables/people.ts";
import { beginSession, endSession, findValidSession } from "./sessions.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const clock = testClock();
const ports = testPorts(clock);
const person: Person = {
  ...{ id: ports.newId(), email: "ada@example.com", name: "Ada", password: null },
  ...{ zone: "UTC", theme: "system", createdAt: ports.now() },
};
await insertPerson(db, person);

test("a session starts at a merchant of the person, and ends the session that it replaces", async () => {
  const first = await beginSession(db, person, undefined, ports);
  assert.equal((await findValidSession(db, first, ports))?.merchantId, null);
  const merchant = await testMerchant(db, ports);
  await addMember(db, merchant.id, person.id, "owner", ports.now());
  const next = await beginSession(db, person, first, ports);
  assert.equal((await findValidSession(db, next, ports))?.merchantId, merchant.id);
  assert.equal(await findValidSession(db, first, ports), null);
  await endSession(db, "no token");
  assert.ok(await findValidSession(db, next, ports));
  await endSession(db, next);
  assert.equal(await findValidSession(db, next, ports), null);
});

test("a session in use ends after exactly 14 days", async () => {
  const token = await beginSession(db, person, undefined, ports);
  const beganMs = clock.realMs;
  for (let hours = 8; hours < 14 * 24; hours += 8) {
    clock.realMs = beganMs + hours * HOUR_MS;
    assert.ok(await findValidSession(db, token, ports), `after ${hours} h`);
  }
  clock.realMs = beganMs + 14 * DAY_MS - 1;
  assert.ok(await findValidSession(db, token, ports));
  clock.realMs += 1;
  assert.equal(await findValidSession(db, token, ports), null);
});

test("the last use of a session is written at most once a minute", async () => {
  const token = await beginSession(db, person, undefined, ports);
  const beganMs = clock.realMs;
  const seenMs = async () => (await findValidSession(db, token, ports))!.seenAt.getTime();
  clock.realMs += 59_999;
  await seenMs();
  assert.equal(await seenMs(), beganMs);
  clock.realMs += 1;
  await seenMs();
  assert.equal(await seenMs(), beganMs + 60_000);
});
