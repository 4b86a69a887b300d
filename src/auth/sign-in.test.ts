import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { testDatabase } from "../../test/database.ts";
import { testClock, testPorts } from "../api/api.fixture.ts";
import { prepared } from "../store/database.ts";
import { insertPerson } from "../store/people.ts";
import { createPasswords } from "./password.ts";
import { beginProviderVisit } from "./provider-visit.ts";
import { isEmail, signIn, TRIES_MS } from "./sign-in.ts";

const database = await testDatabase();
after(() => database.drop());
const { db } = database;
const clock = testClock();
const ports = testPorts(clock);
const passwords = createPasswords(randomBytes, 4);
const guess = async (email: string, address: string, password = "x") => {
  const result = await signIn(db, { email, password, address }, passwords, ports);
  return "refused" in result ? result.refused : result.person.email;
};
const PASSWORD = "sails and sealing wax";
const EMAIL = "ada@example.com";
const HERE = "203.0.113.9";
const newPerson = (email: string, password: string | null) =>
  insertPerson(db, {
    ...{ id: ports.newId(), email, name: "Ada", zone: "UTC", theme: "system", createdAt: ports.now() },
    password,
  });
before(async () => {
  await newPerson(EMAIL, await passwords.hash(PASSWORD));
  await newPerson("sso@example.com", null);
});
const COUNT = prepared("count_rows", "select count(*)::int4 as rows from sign_in_counts");
const rows = async () => (await db.run<{ rows: number }>(COUNT)).rows[0]!.rows;
beforeEach(() => db.run(prepared("clear_counts", "truncate sign_in_counts")));

test("only the right password of a person signs them in, however they write their address", async () => {
  assert.equal(await guess(EMAIL, HERE, PASSWORD), EMAIL);
  assert.equal(await guess("  Ada@Example.COM ", HERE, PASSWORD), EMAIL);
  assert.equal(await guess(EMAIL, HERE, PASSWORD.toUpperCase()), "wrong");
  assert.equal(await guess("nobody@example.com", HERE, PASSWORD), "wrong");
  for (const password of ["", "null", PASSWORD]) assert.equal(await guess("sso@example.com", HERE, password), "wrong");
});

test("a person who gets in has ten tries again, and others do not", async () => {
  for (let tries = 0; tries < 9; tries++) assert.equal(await guess(EMAIL, HERE), "wrong");
  for (let tries = 0; tries < 10; tries++) assert.equal(await guess("eve@example.com", HERE), "wrong");
  assert.equal(await guess(EMAIL, HERE, PASSWORD), EMAIL);
  for (let tries = 0; tries < 10; tries++) assert.equal(await guess(EMAIL, HERE), "wrong");
  assert.equal(await guess(EMAIL, HERE, PASSWORD), "too_many");
  assert.equal(await guess("eve@example.com", HERE), "too_many");
});

test("two pairs whose texts together read the same are counted apart", async () => {
  for (let tries = 0; tries < 10; tries++) assert.equal(await guess("ada@example.com1", "1.2.3.4"), "wrong");
  assert.equal(await guess("ada@example.com1", "1.2.3.4"), "too_many");
  assert.equal(await guess(EMAIL, "11.2.3.4"), "wrong");
});

test("a password is cut before it is hashed, so that a long one takes no more time", async () => {
  const checked: string[] = [];
  const noting = { ...passwords, check: async (password: string) => checked.push(password) === 0 };
  await signIn(db, { email: EMAIL, password: "p".repeat(1e6), address: HERE }, noting, ports);
  assert.deepEqual(checked, ["p".repeat(256)]);
});

test("a server that is too busy to look at a password says so and counts no try", async () => {
  const busy = { ...passwords, isBusy: () => true };
  const result = await signIn(db, { email: EMAIL, password: PASSWORD, address: HERE }, busy, ports);
  assert.deepEqual(result, { refused: "busy" });
  assert.equal(await rows(), 0);
});

test("an e-mail address is one address in ASCII of at most 255 characters", () => {
  const long = (length: number) => `${"a".repeat(64)}@${"b".repeat(length - 68)}.co`;
  for (const one of [EMAIL, "a.b+c@mail.example.co.uk", long(255)]) assert.equal(isEmail(one), true, one);
  const others = ["", "ada", "ada@example", "@example.com", "ada@.com", "ada@example.c", "a@b@example.com", long(256)];
  const twoOrOdd = [
    "ada@example.com,eve@example.com",
    "Ada <ada@example.com>",
    "ada@example.com ",
    "ada@exa\nmple.com",
  ];
  const notAscii = ["ad\u00e4@example.com", "ada@example.\u212aom", `${"a".repeat(65)}@example.com`];
  for (const none of [...others, ...twoOrOdd, ...notAscii]) assert.equal(isEmail(none), false, none);
});

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
