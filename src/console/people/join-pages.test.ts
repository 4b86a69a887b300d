import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createInvite, INVITE_LIFETIME_MS, SETUP_INVITE_LIFETIME_MS } from "../../auth/invites.ts";
import type { Role } from "../../domain/role.ts";
import { membersOf } from "../../tables/members.ts";
import { createTestConsole, PASSWORD, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const invite = (role: Role, email: string | null = null, lifeMs = INVITE_LIFETIME_MS) =>
  createInvite(at.db, at.merchant.id, { role, email, lifeMs, createdBy: null }, at.ports);
const answers = (t: string, email: string, over = {}) => ({
  t,
  email,
  name: "Grace",
  password: "sails and sealing wax",
  zone: "Europe/Berlin",
  ...over,
});
const roleOf = async (email: string) =>
  (await membersOf(at.db, at.merchant.id)).find((each) => each.email === email)?.role;

test("the set-up link makes its first user a signed-in owner once, within an hour", async () => {
  const { token } = await invite("owner", null, SETUP_INVITE_LIFETIME_MS);
  const page = await at.http.inject({ url: `/setup?t=${token}` });
  assert.match(page.body, /Join Harbor Coffee Club/);
  assert.equal(page.headers["referrer-policy"], "no-referrer");
  const joined = await at.post("/join", answers(token, "First@Example.com"));
  assert.equal(joined.statusCode, 303);
  assert.equal(await roleOf("first@example.com"), "owner");
  const cookie = String(joined.headers["set-cookie"]).split(";")[0]!;
  const account = await at.http.inject({ url: "/account", headers: { cookie } });
  assert.match(account.body, /Europe\/Berlin/);
  assert.equal((await at.post("/join", answers(token, "second@example.com"))).statusCode, 404);
  assert.equal(await roleOf("second@example.com"), undefined);
  const late = await invite("owner", null, SETUP_INVITE_LIFETIME_MS);
  at.clock.realMs += SETUP_INVITE_LIFETIME_MS;
  assert.equal((await at.http.inject({ url: `/setup?t=${late.token}` })).statusCode, 404);
  const [entry] = await at.audited();
  assert.deepEqual(
    [entry?.operation, entry?.object, entry?.details],
    ["member.joined", "first@example.com", { role: "owner" }],
  );
});

test("one of two people gets in when they use a link at the same time", async () => {
  const { token } = await invite("viewer");
  const replies = await Promise.all(
    ["a@example.com", "b@example.com"].map((email) => at.post("/join", answers(token, email))),
  );
  assert.deepEqual(
    replies
      .map(({ statusCode }) => statusCode)
      .sort((a, b) => a - b)
      .at(0),
    303,
  );
  const roles = await Promise.all([roleOf("a@example.com"), roleOf("b@example.com")]);
  assert.equal(roles.filter((role) => role === "viewer").length, 1);
});

test("a link for an address works for that address only", async () => {
  const { token } = await invite("admin", "right@example.com");
  assert.equal((await at.post("/join", answers(token, "wrong@example.com"))).statusCode, 400);
  assert.equal(await roleOf("wrong@example.com"), undefined);
  assert.equal((await at.post("/join", answers(token, "right@example.com"))).statusCode, 303);
});

test("a person with an account joins with their password, and cannot join as another person", async () => {
  const known = await at.person(null);
  const { token } = await invite("developer");
  assert.equal((await at.post("/join", answers(token, known.email))).statusCode, 400);
  assert.equal(await roleOf(known.email), undefined);
  assert.equal((await at.post("/join", answers(token, known.email, { password: PASSWORD }))).statusCode, 303);
  assert.equal(await roleOf(known.email), "developer");
  const again = await invite("owner");
  assert.equal((await at.post("/join", answers(again.token, known.email, { password: PASSWORD }))).statusCode, 400);
  assert.equal(await roleOf(known.email), "developer", "a link raises nobody who is a member already");
});

test("weak passwords and invalid addresses are refused, and the link still works", async () => {
  const { token } = await invite("viewer");
  const wrong: [object, RegExp][] = [
    [{ email: "grace" }, /not a valid e-mail address/],
    [{ password: "short" }, /at least 12 characters/],
    [{ password: "aaaaaaaaaaaaaa" }, /5 different characters/],
    [{ password: "grace12345678" }, /name in your e-mail address/],
    [{ name: " " }, /Enter your name/],
  ];
  for (const [over, says] of wrong) {
    const reply = await at.post("/join", answers(token, "grace@example.com", over));
    assert.equal(reply.statusCode, 400);
    assert.match(reply.body, says);
  }
  assert.equal((await at.post("/join", answers(token, "grace@example.com"))).statusCode, 303);
});

test("a link for another person runs no password hash, and a link allows twenty attempts in 15 minutes", async () => {
  const bound = await invite("viewer", "bound@example.com");
  const begunMs = performance.now();
  for (let n = 0; n < 30; n++) {
    const reply = await at.post("/join", answers(bound.token, `eve-${n}@example.com`));
    assert.equal(reply.statusCode, 400);
    assert.match(reply.body, /for another address/);
  }
  assert.ok(performance.now() - begunMs < 5_000);
  const { email } = await at.person(null);
  const { token } = await invite("viewer");
  const wrong = () => at.post("/join", answers(token, email, { password: "not the password" }));
  const statuses: number[] = [];
  for (let n = 0; n < 22; n++) statuses.push((await wrong()).statusCode);
  assert.deepEqual([statuses.slice(0, 20).every((status) => status === 400), statuses.slice(20)], [true, [429, 429]]);
  at.clock.realMs += 15 * 60_000;
  assert.equal((await at.post("/join", answers(token, "patient@example.com"))).statusCode, 303);
});
