import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { testClock, testPorts } from "../api/api.fixture.ts";
import { prepared } from "../postgres/database.ts";
import { insertPerson } from "../tables/people.ts";
import { createPasswords } from "./password.ts";
import { beginProviderRedirect } from "./provider-redirect.ts";
import { ATTEMPT_WINDOW_MS, isEmail, signIn } from "./sign-in.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const clock = testClock();
const ports = testPorts(clock);
const passwords = createPasswords(randomBytes, 4);
const trySignIn = async (email: string, address: string, password = "x") => {
  const result = await signIn(db, { email, password, address }, passwords, ports);
  return "refused" in result ? result.refused : result.person.email;
};
const PASSWORD = "sails and sealing wax";
const EMAIL = "ada@example.com";
const CLIENT_ADDRESS = "203.0.113.9";
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
const countRows = async () => (await db.run<{ rows: number }>(COUNT)).rows[0]!.rows;
beforeEach(() => db.run(prepared("clear_counts", "truncate sign_in_counts")));

test("only the right password of a person signs them in, however they write their address", async () => {
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD), EMAIL);
  assert.equal(await trySignIn("  Ada@Example.COM ", CLIENT_ADDRESS, PASSWORD), EMAIL);
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD.toUpperCase()), "wrong");
  assert.equal(await trySignIn("nobody@example.com", CLIENT_ADDRESS, PASSWORD), "wrong");
  for (const password of ["", "null", PASSWORD])
    assert.equal(await trySignIn("sso@example.com", CLIENT_ADDRESS, password), "wrong");
});

test("a person who gets in has ten tries again, and others do not", async () => {
  for (let tries = 0; tries < 9; tries++) assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS), "wrong");
  for (let tries = 0; tries < 10; tries++) assert.equal(await trySignIn("eve@example.com", CLIENT_ADDRESS), "wrong");
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD), EMAIL);
  for (let tries = 0; tries < 10; tries++) assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS), "wrong");
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD), "too_many");
  assert.equal(await trySignIn("eve@example.com", CLIENT_ADDRESS), "too_many");
});

test("two pairs whose texts together read the same are counted apart", async () => {
  for (let tries = 0; tries < 10; tries++) assert.equal(await trySignIn("ada@example.com1", "1.2.3.4"), "wrong");
  assert.equal(await trySignIn("ada@example.com1", "1.2.3.4"), "too_many");
  assert.equal(await trySignIn(EMAIL, "11.2.3.4"), "wrong");
});

test("a password is cut before it is hashed, so that a long one takes no more time", async () => {
  const checked: string[] = [];
  const noting = { ...passwords, check: async (password: string) => checked.push(password) === 0 };
  await signIn(db, { email: EMAIL, password: "p".repeat(1e6), address: CLIENT_ADDRESS }, noting, ports);
  assert.deepEqual(checked, ["p".repeat(256)]);
});

test("a server that is too busy to look at a password says so and counts no try", async () => {
  const busy = { ...passwords, isBusy: () => true };
  const result = await signIn(db, { email: EMAIL, password: PASSWORD, address: CLIENT_ADDRESS }, busy, ports);
  assert.deepEqual(result, { refused: "busy" });
  assert.equal(await countRows(), 0);
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
  for (let tries = 0; tries < 50; tries++)
    assert.equal(await trySignIn(`p${tries}@example.com`, "203.0.113.9"), "wrong");
  const before = await countRows();
  assert.equal(before, 101);
  for (let tries = 50; tries < 80; tries++)
    assert.equal(await trySignIn(`p${tries}@example.com`, "203.0.113.9"), "too_many");
  assert.equal(await countRows(), before);
});

test("what was counted is cleared away after a quarter of an hour by whoever comes next, though nobody gets in", async () => {
  for (let tries = 0; tries < 20; tries++) await trySignIn(`p${tries}@example.com`, `203.0.113.${tries}`);
  clock.realMs += ATTEMPT_WINDOW_MS - 1;
  await trySignIn("somebody@example.com", "198.51.100.1");
  assert.equal(await countRows(), 63);
  clock.realMs += 1;
  await trySignIn("another@example.com", "198.51.100.2");
  assert.equal(await countRows(), 6);
  clock.realMs += ATTEMPT_WINDOW_MS;
  await beginProviderRedirect(db, "198.51.100.3", ports);
  assert.equal(await countRows(), 1);
});

test("two addresses of one /64 are counted together, and another /64 by itself", async () => {
  for (let tries = 0; tries < 10; tries++)
    assert.equal(await trySignIn("somebody@example.com", `2001:db8:1:2::${tries + 1}`), "wrong");
  assert.equal(await trySignIn("somebody@example.com", "2001:db8:1:2:ffff::1"), "too_many");
  assert.equal(await trySignIn("somebody@example.com", "2001:db8:1:3::1"), "wrong");
});
