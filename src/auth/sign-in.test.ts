import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import { testDatabase } from "../../test/database.ts";
import { testClock, testPorts } from "../api/api.fixture.ts";
import { prepared } from "../store/database.ts";
import { createPasswords } from "./password.ts";
import { beginProviderVisit } from "./provider-visit.ts";
import { signIn, TRIES_MS } from "./sign-in.ts";

const database = await testDatabase();
after(() => database.drop());
const { db } = database;
const clock = testClock();
const ports = testPorts(clock);
const passwords = createPasswords(randomBytes, 4);
const guess = async (email: string, address: string) => {
  const result = await signIn(db, { email, password: "x", address }, passwords, ports);
  return "refused" in result ? result.refused : "in";
};
const COUNT = prepared("count_rows", "select count(*)::int4 as rows from sign_in_counts");
const rows = async () => (await db.run<{ rows: number }>(COUNT)).rows[0]!.rows;
beforeEach(() => db.run(prepared("clear_counts", "truncate sign_in_counts")));

test("who is refused for guessing from one place leaves nothing behind, whoever they say they are", async () => {
  for (let tries = 0; tries < 50; tries++) assert.equal(await guess(`p${tries}@example.com`, "203.0.113.9"), "wrong");
  const before = await rows();
  assert.equal(before, 101);
  for (let tries = 50; tries < 80; tries++)
    assert.equal(await guess(`p${tries}@example.com`, "203.0.113.9"), "too_many");
  assert.equal(await rows(), before);
});

test("what was counted is cleared away after a quarter of an hour by whoever comes next, though nobody gets in", async () => {
  for (let tries = 0; tries < 20; tries++) await guess(`p${tries}@example.com`, `203.0.113.${tries}`);
  clock.realMs += TRIES_MS - 1;
  await guess("somebody@example.com", "198.51.100.1");
  assert.equal(await rows(), 63);
  clock.realMs += 1;
  await guess("another@example.com", "198.51.100.2");
  assert.equal(await rows(), 6);
  clock.realMs += TRIES_MS;
  await beginProviderVisit(db, "198.51.100.3", ports);
  assert.equal(await rows(), 1);
});

test("two addresses of one /64 are counted together, and another /64 by itself", async () => {
  for (let tries = 0; tries < 10; tries++)
    assert.equal(await guess("somebody@example.com", `2001:db8:1:2::${tries + 1}`), "wrong");
  assert.equal(await guess("somebody@example.com", "2001:db8:1:2:ffff::1"), "too_many");
  assert.equal(await guess("somebody@example.com", "2001:db8:1:3::1"), "wrong");
});
