import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createPasswords, findPasswordProblem } from "./password.ts";

const PASSPHRASE = "sails and sealing wax";

test("a password matches in any Unicode form, and its hash is salted", async () => {
  const passwords = createPasswords(randomBytes, 4);
  const stored = await passwords.hash("Zo\u00eb likes cabbages");
  assert.notEqual(stored, await passwords.hash("Zo\u00eb likes cabbages"));
  assert.equal(await passwords.check("Zoe\u0308 likes cabbages", stored), true);
  for (const other of ["zo\u00eb likes cabbages", "Zo\u00eb likes cabbages ", ""])
    assert.equal(await passwords.check(other, stored), false);
});

test("a password that was hashed at another cost is checked at that cost", async () => {
  const stored = await createPasswords(randomBytes, 5).hash(PASSPHRASE);
  assert.match(stored, /^scrypt\$32\$8\$1\$/);
  assert.equal(await createPasswords(randomBytes, 4).check(PASSPHRASE, stored), true);
});

test("a person without a password cannot sign in, and the check takes as long as for a wrong password", async () => {
  const passwords = createPasswords(randomBytes, 14);
  const stored = await passwords.hash(PASSPHRASE);
  // CPU time, because other work on the machine must not count.
  const cpuTimeOf = async (password: string, hash: string | null) => {
    const start = process.cpuUsage();
    assert.equal(await passwords.check(password, hash), false);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  const cpuTimes = { noPassword: [] as number[], wrong: [] as number[] };
  for (let round = 0; round < 9; round++) {
    cpuTimes.noPassword.push(await cpuTimeOf(PASSPHRASE, null));
    cpuTimes.wrong.push(await cpuTimeOf("other words", stored));
  }
  // Without the hash, it would be a thousandth.
  const [noPassword, wrong] = [Math.min(...cpuTimes.noPassword), Math.min(...cpuTimes.wrong)];
  assert.ok(noPassword > wrong / 2 && noPassword < wrong * 2, `${noPassword} and ${wrong} µs`);
});

test("the password check is busy while 100 hashes wait", async () => {
  const passwords = createPasswords(randomBytes, 4);
  const all = Array.from({ length: 101 }, () => passwords.check(PASSPHRASE, null));
  assert.equal(passwords.isBusy(), false);
  all.push(passwords.check(PASSPHRASE, null));
  assert.equal(passwords.isBusy(), true);
  assert.deepEqual(new Set(await Promise.all(all)), new Set([false]));
  assert.equal(passwords.isBusy(), false);
});

test("a password that is short, repetitive or like the address is refused", () => {
  const email = "grace@example.com";
  assert.equal(findPasswordProblem(PASSPHRASE, email), null);
  for (const [password, problem] of [
    ["short", /at least 12/],
    ["x".repeat(257), /at most 256/],
    ["abababababab", /5 different/],
    ["Grace-Grace-1", /name in your e-mail address/],
  ] as const)
    assert.match(findPasswordProblem(password, email)!, problem);
});

test("a password is accepted at each limit, and can contain the address name when it is twice the minimum length", () => {
  const email = "grace@example.com";
  for (const accepted of ["abcdeabcdeab", PASSPHRASE.repeat(20).slice(0, 256), "grace and a hopper of it"])
    assert.equal(findPasswordProblem(accepted, email), null, accepted);
  for (const [password, problem] of [
    ["abcdeabcdea", /at least 12/],
    [PASSPHRASE.repeat(20).slice(0, 257), /at most 256/],
    ["abcdabcdabcd", /5 different/],
    ["grace and a hopper of i", /name in your e-mail address/],
  ] as const)
    assert.match(findPasswordProblem(password, email)!, problem);
});
