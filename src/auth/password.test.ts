import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createPasswords, findPasswordProblem } from "./password.ts";

const PASSPHRASE = "sails and sealing wax";

test("a password is told from every other one, however its letters are typed, and two people with one have two hashes", async () => {
  const passwords = createPasswords(randomBytes, 4);
  const stored = await passwords.hash("Zo\u00eb likes cabbages");
  assert.notEqual(stored, await passwords.hash("Zo\u00eb likes cabbages"));
  assert.equal(await passwords.check("Zoe\u0308 likes cabbages", stored), true);
  for (const other of ["zo\u00eb likes cabbages", "Zo\u00eb likes cabbages ", ""])
    assert.equal(await passwords.check(other, stored), false);
});

test("what was hashed at another cost is still checked at that one", async () => {
  const stored = await createPasswords(randomBytes, 5).hash(PASSPHRASE);
  assert.match(stored, /^scrypt\$32\$8\$1\$/);
  assert.equal(await createPasswords(randomBytes, 4).check(PASSPHRASE, stored), true);
});

test("nobody gets in without a password, and that is found out by the same work as a wrong one", async () => {
  const passwords = createPasswords(randomBytes, 14);
  const stored = await passwords.hash(PASSPHRASE);
  // Of the processor: what else runs here does not count.
  const workOf = async (typed: string, of: string | null) => {
    const began = process.cpuUsage();
    assert.equal(await passwords.check(typed, of), false);
    const { user, system } = process.cpuUsage(began);
    return user + system;
  };
  const work = { nobody: [] as number[], wrong: [] as number[] };
  for (let round = 0; round < 9; round++) {
    work.nobody.push(await workOf(PASSPHRASE, null));
    work.wrong.push(await workOf("other words", stored));
  }
  // Without the work it would be a thousandth.
  const [nobody, wrong] = [Math.min(...work.nobody), Math.min(...work.wrong)];
  assert.ok(nobody > wrong / 2 && nobody < wrong * 2, `${nobody} and ${wrong} µs`);
});

test("where more passwords wait than are looked at in a quarter of a minute it is busy, until they are done", async () => {
  const passwords = createPasswords(randomBytes, 4);
  const all = Array.from({ length: 101 }, () => passwords.check(PASSPHRASE, null));
  assert.equal(passwords.isBusy(), false);
  all.push(passwords.check(PASSPHRASE, null));
  assert.equal(passwords.isBusy(), true);
  assert.deepEqual(new Set(await Promise.all(all)), new Set([false]));
  assert.equal(passwords.isBusy(), false);
});

test("a password is long, is not one letter, and is not the address", () => {
  const email = "grace@example.com";
  assert.equal(findPasswordProblem(PASSPHRASE, email), null);
  for (const [password, says] of [
    ["short", /at least 12/],
    ["x".repeat(257), /at most 256/],
    ["abababababab", /5 different/],
    ["Grace-Grace-1", /around your address/],
  ] as const)
    assert.match(findPasswordProblem(password, email)!, says);
});

test("a password passes at each limit, and may hold the address when it is twice as long as it must be", () => {
  const email = "grace@example.com";
  for (const fine of ["abcdeabcdeab", PASSPHRASE.repeat(20).slice(0, 256), "grace and a hopper of it"])
    assert.equal(findPasswordProblem(fine, email), null, fine);
  for (const [password, says] of [
    ["abcdeabcdea", /at least 12/],
    [PASSPHRASE.repeat(20).slice(0, 257), /at most 256/],
    ["abcdabcdabcd", /5 different/],
    ["grace and a hopper of i", /around your address/],
  ] as const)
    assert.match(findPasswordProblem(password, email)!, says);
});
