import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { testMerchant } from "../../api/api.fixture.ts";
import { HOUR_MS } from "../../domain/durations.ts";
import { parseTrustedProxies } from "../../http/client-address.ts";
import { addMember } from "../../tables/members.ts";
import { createTestConsole, ORIGIN, PASSWORD, SAME_ORIGIN, type TestConsole } from "../console.fixture.ts";
import { SESSION_COOKIE } from "../visit.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const tokenOf = (reply: { headers: Record<string, unknown> }) =>
  new RegExp(`${SESSION_COOKIE}=([^;]*)`).exec(String(reply.headers["set-cookie"]))?.[1];

test("a sign-in sets a token hidden from scripts and other sites, and continues to the requested page", async () => {
  const { email } = await at.person("viewer");
  const away = await at.http.inject({ url: "/account?done=saved" });
  assert.equal(away.statusCode, 303);
  assert.equal(away.headers.location, `/sign-in?next=${encodeURIComponent("/account?done=saved")}`);
  const page = await at.http.inject({ url: String(away.headers.location) });
  assert.match(page.body, /name="next" value="\/account\?done=saved"/);
  const signed = await at.post("/sign-in", { email: ` ${email.toUpperCase()}`, password: PASSWORD, next: "/account" });
  assert.equal(signed.statusCode, 303);
  assert.equal(signed.headers.location, "/account");
  assert.match(
    String(signed.headers["set-cookie"]),
    /^__Host-dunlin=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=1209600$/,
  );
  const cookie = `other=1; ${SESSION_COOKIE}=${tokenOf(signed)}`;
  assert.equal((await at.http.inject({ url: "/account", headers: { cookie } })).statusCode, 200);
  const { rows } = await at.db.run<{ text: string }>({
    name: "test_sessions",
    text: "select s::text as text from sessions s",
  });
  assert.ok(!rows.some(({ text }) => text.includes(tokenOf(signed)!)));
});

test("a wrong password and an unknown address give the same response", async () => {
  const { email } = await at.person("viewer");
  const wrong = await at.post("/sign-in", { email, password: "wrong horse battery" });
  const unknown = await at.post("/sign-in", { email: "nobody@example.org", password: PASSWORD });
  assert.equal(wrong.statusCode, 401);
  assert.equal(unknown.statusCode, 401);
  assert.equal(wrong.body.replace(email, ""), unknown.body.replace("nobody@example.org", ""));
  assert.equal(wrong.headers["set-cookie"], undefined);
});

test("guessing stops after ten attempts for an address and place, and may restart after 15 minutes", async () => {
  const { email } = await at.person("viewer");
  const status = async (password: string) => (await at.post("/sign-in", { email, password })).statusCode;
  for (let tries = 0; tries < 10; tries++) assert.equal(await status(`guess number ${tries}`), 401);
  assert.equal(await status(PASSWORD), 429);
  at.clock.realMs += 15 * 60_000;
  assert.equal(await status(PASSWORD), 303);
});

test("guessing also stops for many addresses from one place, and for one address from many places", async () => {
  const proxied = await createTestConsole({ behindProxy: true });
  const guess = (email: string, from: string) =>
    proxied.post("/sign-in", { email, password: "x" }, { ...SAME_ORIGIN, "x-forwarded-for": `1.2.3.4, ${from}` });
  for (let tries = 0; tries < 50; tries++)
    assert.equal((await guess(`p${tries}@example.com`, "198.51.100.1")).statusCode, 401);
  assert.equal((await guess("new@example.com", "198.51.100.1")).statusCode, 429);
  for (let tries = 0; tries < 100; tries++)
    assert.equal((await guess("one@example.com", `198.51.100.${tries + 2}`)).statusCode, 401);
  assert.equal((await guess("one@example.com", "203.0.113.9")).statusCode, 429);
  await proxied.close();
});

test("an IPv6 network counts as one place, and listed proxies do not count", async () => {
  const trustedProxies = parseTrustedProxies("127.0.0.1, 192.0.2.0/24");
  for (const [over, from] of [
    [{ behindProxy: true }, (n: number) => `2001:db8::${n}`],
    [{ behindProxy: true, trustedProxies }, () => "198.51.100.1, 192.0.2.7"],
  ] as const) {
    const proxied = await createTestConsole(over);
    const guess = async (email: string, address: string) =>
      (await proxied.post("/sign-in", { email, password: "x" }, { ...SAME_ORIGIN, "x-forwarded-for": address }))
        .statusCode;
    for (let tries = 1; tries <= 50; tries++) assert.equal(await guess(`p${tries}@example.com`, from(tries)), 401);
    assert.equal(await guess("new@example.com", from(51)), 429);
    assert.equal(await guess("new@example.com", "203.0.113.9, 192.0.2.7"), 401);
    await proxied.close();
  }
});

test("a sign-in is postponed while too many passwords are checked, and does not count as an attempt", async () => {
  const passwords = { ...at.options.passwords, isBusy: () => true };
  const busy = await createTestConsole({ passwords });
  const { email } = await busy.person("viewer");
  const replies = [];
  for (let tries = 0; tries < 11; tries++) replies.push(await busy.post("/sign-in", { email, password: PASSWORD }));
  assert.deepEqual([...new Set(replies.map(({ statusCode }) => statusCode))], [503]);
  assert.equal(replies[0]!.headers["retry-after"], "20");
  assert.match(replies[0]!.body, /Try again in a moment/);
  passwords.isBusy = () => false;
  assert.equal((await busy.post("/sign-in", { email, password: PASSWORD })).statusCode, 303);
  await busy.close();
});

test("a token that the browser already had is not reused, which prevents session fixation", async () => {
  const who = await at.person("viewer");
  const planted = await at.post(
    "/sign-in",
    { email: who.email, password: PASSWORD },
    { ...SAME_ORIGIN, cookie: `${SESSION_COOKIE}=${"a".repeat(43)}` },
  );
  assert.notEqual(tokenOf(planted), "a".repeat(43));
  const before = await at.browser(who);
  const again = await at.post(
    "/sign-in",
    { email: who.email, password: PASSWORD },
    { ...SAME_ORIGIN, cookie: before.cookie },
  );
  assert.notEqual(`${SESSION_COOKIE}=${tokenOf(again)}`, before.cookie);
  assert.equal((await before.get("/account")).statusCode, 303, "the former session has ended");
});

test("a session ends after 12 hours without a page, after 14 days, and by signing out", async () => {
  const who = await at.person("viewer");
  const idle = await at.browser(who);
  at.clock.realMs += 12 * HOUR_MS;
  assert.equal((await idle.get("/account")).statusCode, 303);
  const busy = await at.browser(who);
  for (let hours = 0; hours < 14 * 24 - 10; hours += 10) {
    at.clock.realMs += 10 * HOUR_MS;
    assert.equal((await busy.get("/account")).statusCode, 200, `after ${hours + 10} h`);
  }
  at.clock.realMs += 10 * HOUR_MS;
  assert.equal((await busy.get("/account")).statusCode, 303);
  const out = await at.browser(who);
  const left = await out.post("/sign-out");
  assert.match(String(left.headers["set-cookie"]), /Max-Age=0/);
  assert.equal((await out.get("/account")).statusCode, 303);
});

test("no link on the sign-in page leads to another site", async () => {
  const { email } = await at.person("viewer");
  const elsewhere = [
    "//evil.example",
    "/\\evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/\t/evil.example",
    "evil",
    "/%0d%0aset-cookie: x",
  ];
  for (const next of elsewhere) {
    const { headers } = await at.post("/sign-in", { email, password: PASSWORD, next });
    const location = new URL(String(headers.location), ORIGIN);
    assert.equal(location.origin, ORIGIN, next);
    const page = await at.http.inject({ url: `/sign-in?next=${encodeURIComponent(next)}` });
    assert.doesNotMatch(page.body, /value="(\/\/|\/\\|https:|javascript:)/);
  }
});

test("forms from other sites change nothing", async () => {
  const { email } = await at.person("viewer");
  const fields = { email, password: PASSWORD };
  const foreign: Record<string, string>[] = [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site", origin: ORIGIN },
    { "sec-fetch-site": "none" },
    { origin: "https://evil.example" },
    { origin: "null" },
    {},
  ];
  for (const headers of foreign) {
    const reply = await at.post("/sign-in", fields, headers);
    assert.equal(reply.statusCode, 403, JSON.stringify(headers));
    assert.equal(reply.headers["set-cookie"], undefined);
  }
  const older = await at.post("/sign-in", fields, { origin: ORIGIN });
  assert.equal(older.statusCode, 303, "a browser that knows only Origin");
});

test("a person with two merchants can switch between them and to no other", async () => {
  const other = await testMerchant(at.db, at.ports, { name: "Zebra Books" });
  const stranger = await testMerchant(at.db, at.ports, { name: "Strange Shop" });
  const who = await at.person("viewer");
  await addMember(at.db, other.id, who.id, "owner", at.ports.now());
  const browser = await at.browser(who);
  assert.match((await browser.get("/account")).body, /class="merchant">Harbor Coffee Club</);
  assert.doesNotMatch((await browser.get("/account")).body, /Strange Shop/);
  const changed = await browser.post("/merchant", { merchant: other.id, next: "/invoices/inv_1" });
  assert.equal(changed.headers.location, "/invoices");
  assert.match((await browser.get("/account")).body, /class="merchant">Zebra Books</);
  assert.equal((await browser.post("/merchant", { merchant: stranger.id })).statusCode, 403);
  assert.match((await browser.get("/account")).body, /class="merchant">Zebra Books</);
});

test("a new password needs the current one and signs out every other browser", async () => {
  const who = await at.person("viewer");
  const [here, elsewhere] = [await at.browser(who), await at.browser(who)];
  const wanted = "a tune on the harmonica";
  const change = (former: string, password: string) => here.post("/account/password", { former, password });
  assert.equal((await change("wrong", wanted)).statusCode, 400);
  assert.equal((await change(PASSWORD, "short")).statusCode, 400);
  assert.equal((await change(PASSWORD, wanted)).statusCode, 303);
  assert.equal((await here.get("/account")).statusCode, 200);
  assert.equal((await elsewhere.get("/account")).statusCode, 303);
  assert.equal((await at.post("/sign-in", { email: who.email, password: PASSWORD })).statusCode, 401);
  assert.equal((await at.post("/sign-in", { email: who.email, password: wanted })).statusCode, 303);
});

test("zone and colors are personal, and only valid values are accepted", async () => {
  const browser = await at.as("viewer");
  assert.equal((await browser.post("/account", { zone: "Mars/Olympus", theme: "dark" })).statusCode, 400);
  await browser.post("/account", { zone: "Asia/Kathmandu", theme: "dark" });
  const page = (await browser.get("/account")).body;
  assert.match(page, /data-theme="dark"/);
  assert.match(page, /<small>[a-z]+ · Asia\/Kathmandu<\/small>/);
});
