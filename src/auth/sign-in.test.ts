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

test("a person signs in only with their password, in any spelling of their address", async () => {
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD), EMAIL);
  assert.equal(await trySignIn("  Ada@Example.COM ", CLIENT_ADDRESS, PASSWORD), EMAIL);
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD.toUpperCase()), "wrong");
  assert.equal(await trySignIn("nobody@example.com", CLIENT_ADDRESS, PASSWORD), "wrong");
  for (const password of ["", "null", PASSWORD])
    assert.equal(await trySignIn("sso@example.com", CLIENT_ADDRESS, password), "wrong");
});

test("a successful sign-in resets the attempts of this person, and of no other", async () => {
  for (let attempt = 0; attempt < 9; attempt++) assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS), "wrong");
  for (let attempt = 0; attempt < 10; attempt++)
    assert.equal(await trySignIn("eve@example.com", CLIENT_ADDRESS), "wrong");
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD), EMAIL);
  for (let attempt = 0; attempt < 10; attempt++) assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS), "wrong");
  assert.equal(await trySignIn(EMAIL, CLIENT_ADDRESS, PASSWORD), "too_many");
  assert.equal(await trySignIn("eve@example.com", CLIENT_ADDRESS), "too_many");
});

test("two pairs with the same concatenated text are counted separately", async () => {
  for (let attempt = 0; attempt < 10; attempt++) assert.equal(await trySignIn("ada@example.com1", "1.2.3.4"), "wrong");
  assert.equal(await trySignIn("ada@example.com1", "1.2.3.4"), "too_many");
  assert.equal(await trySignIn(EMAIL, "11.2.3.4"), "wrong");
});

test("a long password is truncated before it is hashed", async () => {
  const checked: string[] = [];
  const recording = { ...passwords, check: async (password: string) => checked.push(password) === 0 };
  await signIn(db, { email: EMAIL, password: "p".repeat(1e6), address: CLIENT_ADDRESS }, recording, ports);
  assert.deepEqual(checked, ["p".repeat(256)]);
});

test("a busy server refuses an attempt without counting it", async () => {
  const busy = { ...passwords, isBusy: () => true };
  const result = await signIn(db, { email: EMAIL, password: PASSWORD, address: CLIENT_ADDRESS }, busy, ports);
  assert.deepEqual(result, { refused: "busy" });
  assert.equal(await countRows(), 0);
});

test("an e-mail address is a single ASCII address of at most 255 characters", () => {
  const long = (length: number) => `${"a".repeat(64)}@${"b".repeat(length - 68)}.co`;
  for (const valid of [EMAIL, "a.b+c@mail.example.co.uk", long(255)]) assert.equal(isEmail(valid), true, valid);
  const others = ["", "ada", "ada@example", "@example.com", "ada@.com", "ada@example.c", "a@b@example.com", long(256)];
  const twoOrOdd = [
    "ada@example.com,eve@example.com",
    "Ada <ada@example.com>",
    "ada@example.com ",
    "ada@exa\nmple.com",
  ];
  const notAscii = ["ad\u00e4@example.com", "ada@example.\u212aom", `${"a".repeat(65)}@example.com`];
  for (const invalid of [...others, ...twoOrOdd, ...notAscii]) assert.equal(isEmail(invalid), false, invalid);
});

test("attempts that are refused for their network create no rows for other people", async () => {
  for (let attempt = 0; attempt < 50; attempt++)
    assert.equal(await trySignIn(`p${attempt}@example.com`, "203.0.113.9"), "wrong");
  const before = await countRows();
  assert.equal(before, 101);
  for (let attempt = 50; attempt < 80; attempt++)
    assert.equal(await trySignIn(`p${attempt}@example.com`, "203.0.113.9"), "too_many");
  assert.equal(await countRows(), before);
});

test("counts are deleted after a quarter of an hour by the next attempt, even if it fails", async () => {
  for (let attempt = 0; attempt < 20; attempt++) await trySignIn(`p${attempt}@example.com`, `203.0.113.${attempt}`);
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

test("addresses of one /64 network are counted together, and another /64 separately", async () => {
  for (let attempt = 0; attempt < 10; attempt++)
    assert.equal(await trySignIn("somebody@example.com", `2001:db8:1:2::${attempt + 1}`), "wrong");
  assert.equal(await trySignIn("somebody@example.com", "2001:db8:1:2:ffff::1"), "too_many");
  assert.equal(await trySignIn("somebody@example.com", "2001:db8:1:3::1"), "wrong");
});
