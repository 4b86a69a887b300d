import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { completeSignIn, startOidcProvider, USUAL_TIMES } from "../../../test/oidc/identity-provider.ts";
import { testMerchant } from "../../api/api.fixture.ts";
import { createInvite, INVITE_LIFETIME_MS } from "../../auth/invites.ts";
import { OIDC_CALLBACK } from "../../auth/oidc.ts";
import type { Role } from "../../domain/role.ts";
import { membersOf } from "../../tables/members.ts";
import { findPersonByEmail, membershipsOf } from "../../tables/people.ts";
import { createTestConsole, ORIGIN, PASSWORD, type TestConsole } from "../console.fixture.ts";
import { SESSION_COOKIE } from "../visit.ts";
import {
  cookieOf,
  createConsoleWithProvider,
  type Reply,
  sessionOf,
  setCookiesOf,
  verifiedClaims,
} from "./oidc-provider.fixture.ts";

const REDIRECT_URI = ORIGIN + OIDC_CALLBACK;
let at: TestConsole;
let provider: Awaited<ReturnType<typeof startOidcProvider>>;
let pages: Awaited<ReturnType<typeof createConsoleWithProvider>>;
before(async () => {
  at = await createTestConsole();
  provider = await startOidcProvider(REDIRECT_URI);
  pages = await createConsoleWithProvider(at, provider.issuer);
});
after(async () => {
  await pages.close();
  await at.close();
  await provider.stop();
});

const invite = (role: Role, email: string | null, merchantId = at.merchant.id) =>
  createInvite(at.db, merchantId, { role, email, lifeMs: INVITE_LIFETIME_MS, createdBy: null }, at.ports);
const roleOf = async (email: string) =>
  (await membersOf(at.db, at.merchant.id)).find((each) => each.email === email)?.role;
const refused = (reply: Reply & { statusCode: number; body: string }, status: number, says: RegExp) => {
  assert.equal(reply.statusCode, status, reply.body);
  assert.match(reply.body, says);
  assert.equal(sessionOf(reply), undefined);
};

test("an invited person signs in with the provider, becomes a member, and is recognized the next time", async () => {
  assert.match((await pages.get("/sign-in")).body, /href="\/sign-in\/oidc\?next=%2Foverview">Sign in with Harbor ID</);
  await invite("developer", "ada@example.com");
  const { reply } = await pages.signIn(verifiedClaims("Ada@Example.com", "ada"), "?next=/account");
  assert.equal(reply.statusCode, 303, reply.body);
  assert.equal(reply.headers.location, "/account");
  assert.match(
    setCookiesOf(reply).join("\n"),
    /^__Host-dunlin=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=1209600$/m,
  );
  assert.match(setCookiesOf(reply).join("\n"), /^__Host-dunlin-provider=; .*Max-Age=0$/m);
  const account = (await pages.get("/account", sessionOf(reply))).body;
  assert.match(account, /Ada Lovelace/);
  assert.match(account, /You sign in without a password/);
  assert.equal(await roleOf("ada@example.com"), "developer");
  const [entry] = await at.audited();
  assert.deepEqual(
    [entry?.operation, entry?.object, entry?.details],
    ["member.joined", "ada@example.com", { role: "developer", provider: provider.issuer }],
  );
  // She is the same person although her address changed at the provider.
  const again = await pages.signIn({ ...verifiedClaims("ada@new.example", "ada"), email_verified: "false" });
  assert.equal(again.reply.statusCode, 303);
  assert.match((await pages.get("/account", sessionOf(again.reply))).body, /ada@example\.com/);
});

test("a person without an invite or a verified address cannot sign in", async () => {
  const { email } = await at.person("owner");
  refused(
    (await pages.signIn(verifiedClaims("stranger@example.com"))).reply,
    403,
    /stranger@example\.com has no account here/,
  );
  assert.equal(await findPersonByEmail(at.db, "stranger@example.com"), null);
  const unverified = { sub: "eve", email, email_verified: "false" };
  refused((await pages.signIn(unverified)).reply, 403, /has not verified that owner-\w+@example\.com is yours/);
  refused((await pages.signIn({ sub: "eve" })).reply, 403, /has not verified an e-mail address of yours/);
  // KELVIN SIGN is a K whose lower case is a plain k.
  await invite("owner", "kim@example.com");
  refused((await pages.signIn(verifiedClaims("\u212aim@example.com"))).reply, 403, /has not verified/);
  const { token } = await invite("admin", null);
  refused((await pages.signIn(unverified, `?t=${token}`)).reply, 403, /has not verified/);
});

test("an invite can be accepted once through the provider, also with an existing account", async () => {
  const { token } = await invite("viewer", null);
  assert.match(
    (await pages.get(`/join?t=${token}`)).body,
    new RegExp(`action="/join/oidc"><input type="hidden" name="t" value="${token}">`),
  );
  assert.equal((await pages.signIn(verifiedClaims("grace@example.com"), `?t=${token}`)).reply.statusCode, 303);
  assert.equal(await roleOf("grace@example.com"), "viewer");
  refused((await pages.signIn(verifiedClaims("heidi@example.com"), `?t=${token}`)).reply, 403, /has no account here/);
  const other = await testMerchant(at.db, at.ports, { name: "Zebra Books" });
  const second = await invite("admin", "grace@example.com", other.id);
  await pages.signIn(verifiedClaims("grace@example.com"));
  const grace = (await findPersonByEmail(at.db, "grace@example.com"))!;
  assert.equal((await membershipsOf(at.db, grace.id)).length, 1, "who has an account joins by the link alone");
  await pages.signIn(verifiedClaims("grace@example.com"), `?t=${second.token}`);
  assert.deepEqual(
    (await membershipsOf(at.db, grace.id)).map(({ name, role }) => [name, role]),
    [
      ["Harbor Coffee Club", "viewer"],
      ["Zebra Books", "admin"],
    ],
  );
  const third = await invite("owner", "frank@example.com");
  refused(
    (await pages.signIn(verifiedClaims("ivan@example.com"), `?t=${third.token}`)).reply,
    403,
    /has no account here/,
  );
});

test("a link on another site makes no member: an invite is accepted from its own page", async () => {
  const { token } = await invite("admin", null);
  const member = await at.person("viewer");
  await pages.signIn(verifiedClaims(member.email, "clicked"));
  const other = await testMerchant(at.db, at.ports, { name: "Evil Books" });
  const evil = await invite("admin", null, other.id);
  const { url, cookie } = await pages.leave(`?t=${evil.token}`);
  const callback = await completeSignIn(url, verifiedClaims(member.email, "clicked"));
  assert.equal((await pages.get(callback.pathname + callback.search, cookie)).statusCode, 303);
  assert.equal((await membershipsOf(at.db, member.id)).length, 1);
  for (const site of ["cross-site", "same-site", "none"]) {
    const { left } = await pages.join(token, site);
    assert.deepEqual([left.statusCode, cookieOf(left)], [403, ""], site);
  }
  const joined = await pages.join(token);
  assert.match(joined.left.body, /Continue to Harbor ID/);
  assert.ok(joined.url.startsWith(provider.issuer), joined.url);
});

test("one of two people becomes a member when they use a link at the same time, and the other gets no account", async () => {
  const { token } = await invite("viewer", null);
  const logins = ["niaj@example.com", "olga@example.com"];
  const backs = await Promise.all(
    logins.map(async (email) => {
      const { cookie, url } = await pages.join(token);
      const callback = await completeSignIn(url, verifiedClaims(email));
      return () => pages.get(callback.pathname + callback.search, cookie);
    }),
  );
  const replies = await Promise.all(backs.map((comeBack) => comeBack()));
  assert.deepEqual(replies.map(({ statusCode }) => statusCode).sort(), [303, 403]);
  const people = await Promise.all(logins.map((email) => findPersonByEmail(at.db, email)));
  assert.equal(people.filter((person) => person !== null).length, 1);
});

test("a password account is linked by its verified address, and its password and old sessions stop working", async () => {
  const who = await at.person("admin");
  const before = await at.browser(who);
  const { reply } = await pages.signIn(verifiedClaims(who.email, "linked"), "?next=/actions");
  assert.equal(reply.headers.location, "/account?done=linked");
  assert.match((await pages.get("/account?done=linked", sessionOf(reply))).body, /sign in as you just did/);
  assert.equal((await before.get("/account")).statusCode, 303);
  assert.equal((await at.post("/sign-in", { email: who.email, password: PASSWORD })).statusCode, 401);
  const [entry] = await at.audited();
  assert.deepEqual([entry?.operation, entry?.object], ["member.linked", who.email]);
  // The provider gave the address to another person.
  refused((await pages.signIn(verifiedClaims(who.email, "successor"))).reply, 403, /is linked to a different/);
  const owner = await at.as("owner");
  await owner.post("/org/members/remove", { person: who.id });
  await invite("viewer", who.email);
  assert.equal((await pages.signIn(verifiedClaims(who.email, "successor"))).reply.statusCode, 303);
  assert.equal(await roleOf(who.email), undefined, "who has an account joins by the link alone");
});

test("a password can be set shortly after a sign-in, and later only after another one", async () => {
  const who = await at.person("viewer");
  const { reply } = await pages.signIn(verifiedClaims(who.email, "both"));
  const headers = { "sec-fetch-site": "same-origin", cookie: sessionOf(reply)! };
  const set = () => at.post("/account/password", { password: "a tune on the harmonica" }, headers);
  at.clock.realMs += 11 * 60_000;
  assert.equal((await set()).statusCode, 400);
  at.clock.realMs -= 11 * 60_000;
  assert.equal((await set()).statusCode, 303);
  const signed = await at.post("/sign-in", { email: who.email, password: "a tune on the harmonica" });
  assert.equal(signed.statusCode, 303);
});

test("a state works once, in its browser, for ten minutes", async () => {
  const { email } = await at.person("viewer");
  const { reply, callback, cookie } = await pages.signIn(verifiedClaims(email, "once"));
  assert.equal(reply.statusCode, 303);
  const path = callback.pathname + callback.search;
  refused(await pages.get(path, cookie), 400, /started in another browser, was already completed, or took too long/);
  const mine = await pages.leave();
  const theirs = await completeSignIn(mine.url, verifiedClaims(email, "once"));
  const to = theirs.pathname + theirs.search;
  refused(await pages.get(to), 400, /started in another browser/);
  const victim = await pages.leave();
  refused(await pages.get(to, victim.cookie), 400, /started in another browser/);
  at.clock.realMs += 10 * 60_000;
  refused(await pages.get(to, mine.cookie), 400, /took too long/);
  const next = await pages.leave();
  const back = await completeSignIn(next.url, verifiedClaims(email, "once"));
  assert.equal((await pages.get(back.pathname + back.search, next.cookie)).statusCode, 303);
});

test("a request from another site does not end a sign-in in progress", async () => {
  const { email } = await at.person("viewer");
  const { url, cookie } = await pages.leave();
  refused(await pages.get(`${OIDC_CALLBACK}?state=forged&code=x`, cookie), 400, /started in another browser/);
  const callback = await completeSignIn(url, verifiedClaims(email, "under way"));
  assert.equal((await pages.get(callback.pathname + callback.search, cookie)).statusCode, 303);
});

test("a token with a wrong nonce, verifier or provider signs no person in", async () => {
  const { email } = await at.person("viewer");
  const tampered = async (name: string, value: string) => {
    const { url, cookie } = await pages.leave();
    const changed = new URL(url);
    changed.searchParams.set(name, value);
    const callback = await completeSignIn(changed.href, verifiedClaims(email, "nonce"));
    return pages.get(callback.pathname + callback.search, cookie);
  };
  refused(await tampered("nonce", "n".repeat(43)), 400, /could not be verified/);
  assert.match(pages.lines.find((line) => line.includes("oidc.failed"))!, /unexpected ID Token .{1,2}nonce/);
  refused(await tampered("code_challenge", "c".repeat(43)), 400, /could not be verified/);
  const { url, cookie } = await pages.leave();
  const callback = await completeSignIn(url, verifiedClaims(email, "nonce"));
  callback.searchParams.set("iss", "https://evil.example");
  refused(await pages.get(callback.pathname + callback.search, cookie), 400, /could not be verified/);
});

test("a canceled sign-in is reported, and no text of the address appears on a page", async () => {
  const { url, cookie } = await pages.leave();
  const callback = await completeSignIn(url, null);
  callback.searchParams.set("error_description", "<script>alert(1)</script>");
  const reply = await pages.get(callback.pathname + callback.search, cookie);
  refused(reply, 403, /refused the sign-in, or you canceled it/);
  assert.doesNotMatch(reply.body, /alert\(1\)/);
});

test("no link through the provider leads to another site", async () => {
  const { email } = await at.person("viewer");
  for (const next of ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"]) {
    const { reply } = await pages.signIn(verifiedClaims(email, "redirected"), `?next=${encodeURIComponent(next)}`);
    assert.equal(new URL(String(reply.headers.location), ORIGIN).origin, ORIGIN, next);
  }
  const { cookie, url } = await pages.leave();
  const callback = await completeSignIn(url, verifiedClaims(email, "redirected"));
  const planted = `${cookie.split(".")[0]}.${Buffer.from('{"next":"https://evil.example/"}').toString("base64url")}`;
  const reply = await pages.get(callback.pathname + callback.search, planted);
  assert.equal(reply.headers.location, "/overview");
});

test("a session token that the browser already had is not reused", async () => {
  const { email } = await at.person("viewer");
  const { cookie, url } = await pages.leave();
  const callback = await completeSignIn(url, verifiedClaims(email, "fixed"));
  const planted = `${SESSION_COOKIE}=${"a".repeat(43)}`;
  const reply = await pages.get(callback.pathname + callback.search, `${planted}; ${cookie}`);
  assert.equal(reply.statusCode, 303);
  assert.notEqual(sessionOf(reply), planted);
});

test("clocks may differ by seconds, and an expired token signs no person in", async (t) => {
  t.after(() => provider.setTimes(USUAL_TIMES));
  const { email } = await at.person("viewer");
  for (const [clockOffMs, idTokenS, status] of [
    [-20_000, 10, 303],
    [60_000, 600, 303],
    [-120_000, 60, 400],
  ] as const) {
    await provider.setTimes({ clockOffMs, idTokenS });
    const { reply } = await pages.signIn(verifiedClaims(email, "skewed"));
    assert.equal(reply.statusCode, status, `${clockOffMs} ms`);
  }
});

test("an unreachable provider is reported before and after the redirect, and works again when it is back", async () => {
  const { email } = await at.person("viewer");
  const shaky = await startOidcProvider(REDIRECT_URI, {
    client: { id: "dunlin", secret: "s3cret: of a /client", redirectUri: REDIRECT_URI, auth: "client_secret_post" },
  });
  const beside = await createConsoleWithProvider(at, shaky.issuer);
  const { url, cookie } = await beside.leave();
  const callback = await completeSignIn(url, verifiedClaims(email, "down"));
  await shaky.stop();
  refused(await beside.get(callback.pathname + callback.search, cookie), 502, /is not responding/);
  await beside.close();
  const down = await createConsoleWithProvider(at, shaky.issuer);
  refused((await down.leave()).left, 502, /Harbor ID is not responding/);
  assert.equal((await at.post("/sign-in", { email, password: PASSWORD })).statusCode, 303, "the password works");
  await down.close();
});

test("there is no link and no page without a provider", async () => {
  assert.doesNotMatch((await at.http.inject({ url: "/sign-in" })).body, /oidc/);
  assert.equal((await at.http.inject({ url: "/sign-in/oidc" })).statusCode, 404);
});
