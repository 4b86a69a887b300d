import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createPasswords } from "../../auth/password.ts";
import { signIn } from "../../auth/sign-in.ts";
import { changePassword, dropPassword, findPersonByEmail, setPreferences } from "../../tables/people.ts";
import { createTestConsole, PASSWORD, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const NEW_PASSWORD = "sails and sealing wax";
const personOf = async (email: string) => (await findPersonByEmail(at.db, email))!;

test("a stale page does not restore the old password", async () => {
  const browser = await at.as("viewer");
  const { id, email, password: former } = await personOf(browser.person.email);
  // Another request read the session before the change and writes after it.
  assert.ok(await changePassword(at.db, id, former, "another hash"));
  await setPreferences(at.db, id, { zone: "Asia/Tokyo", theme: "dark" });
  assert.partialDeepStrictEqual(await personOf(email), { password: "another hash", zone: "Asia/Tokyo", theme: "dark" });
  assert.equal(await changePassword(at.db, id, former, "a third hash"), false);
  assert.equal((await personOf(email)).password, "another hash");
  await dropPassword(at.db, id);
  await setPreferences(at.db, id, { zone: "UTC", theme: "light" });
  assert.equal((await personOf(email)).password, null);
  assert.equal(await changePassword(at.db, id, "another hash", "a fourth hash"), false);
  assert.ok(await changePassword(at.db, id, null, "a fifth hash"));
});

test("settings saved during a password change keep the new password", async () => {
  const browser = await at.as("viewer");
  const { email } = browser.person;
  const change = browser.post("/account/password", { former: PASSWORD, password: NEW_PASSWORD });
  const saves = Array.from({ length: 20 }, (_, n) =>
    browser.post("/account", { zone: n % 2 === 0 ? "Asia/Tokyo" : "Europe/Berlin", theme: "dark" }),
  );
  const [changed, ...saved] = await Promise.all([change, ...saves]);
  assert.equal(changed!.headers.location, "/account?done=password");
  for (const { headers } of saved) assert.equal(headers.location, "/account?done=saved");
  const { password } = await personOf(email);
  assert.notEqual(password, browser.person.password);
  const again = (typed: string) =>
    signIn(at.db, { email, password: typed, address: "192.0.2.1" }, createPasswords(randomBytes, 4), at.ports);
  assert.ok("person" in (await again(NEW_PASSWORD)));
  assert.ok(!("person" in (await again(PASSWORD))));
});

test("one of two simultaneous password changes wins and the other is refused", async () => {
  const browser = await at.as("viewer");
  const change = (password: string) => browser.post("/account/password", { former: PASSWORD, password });
  const replies = await Promise.all([change(NEW_PASSWORD), change(`${NEW_PASSWORD} too`)]);
  const statuses = replies.map(({ statusCode }) => statusCode).sort();
  assert.deepEqual(statuses, [303, 400]);
  assert.match(
    replies.find(({ statusCode }) => statusCode === 400)!.body,
    /just changed in another browser|current password is wrong/,
  );
});
