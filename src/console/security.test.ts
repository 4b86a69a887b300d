import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { testApi } from "../api/api.fixture.ts";
import { createOidc } from "../auth/oidc.ts";
import { uuidV7 } from "../process/clock.ts";
import { createTestConsole, ORIGIN, PASSWORD, type TestConsole } from "./console.fixture.ts";
import { createConsolePages } from "./console-pages.ts";

// These tests cover every page, because they read the routes from the server.

interface Route {
  method: string;
  url: string;
}

/** The pages that need no session. */
const OPEN = [
  "/",
  "/sign-in",
  "/sign-in/oidc",
  "/sign-in/oidc/callback",
  "/setup",
  "/join",
  "/join/oidc",
  "/console.css",
  "/console.js",
  "/inter.woff2",
];
OPEN.push("/console.svg", "/sign-out");

let at: TestConsole;
let routes: Route[];
let http: Awaited<ReturnType<typeof testApi>>["http"];
let close: () => Promise<void>;
before(async () => {
  at = await createTestConsole();
  // An unreachable provider is enough to have its pages.
  const provider = { issuer: "https://127.0.0.1:9", clientId: "c", clientSecret: "s", name: "Provider" };
  const pages = createConsolePages({ ...at.options, oidc: createOidc(provider, ORIGIN, () => 0) });
  const found: Route[] = [];
  ({ http, close } = await testApi(at.db, at.clock, {
    pages: {
      ...pages,
      async routes(server) {
        server.addHook("onRoute", ({ method, url }) => {
          for (const each of [method].flat()) if (each !== "HEAD") found.push({ method: each, url });
        });
        await pages.routes(server);
      },
    },
  }));
  routes = found;
});
after(async () => {
  await close();
  await at.close();
});

const pathOf = ({ url }: Route) =>
  url.replace("/*", "/inv_1").replaceAll(/:(\w+)/g, uuidV7(new Date(0), 0, Buffer.alloc(8)));
const send = (route: Route, headers: Record<string, string>) =>
  http.inject({
    method: route.method as "GET",
    url: pathOf(route),
    headers: { ...(route.method === "POST" && { "content-type": "application/x-www-form-urlencoded" }), ...headers },
    ...(route.method === "POST" && { payload: "" }),
  });
const rowsOf = async () => {
  const text =
    "select (select count(*) from audit_log) as a, (select count(*) from api_keys) as k, (select count(*) from invites) as i";
  return (await at.db.run({ name: "test_counts", text })).rows;
};

test("there are pages for reading and forms for every change", () => {
  assert.ok(routes.filter(({ method }) => method === "GET").length > 20);
  assert.ok(routes.filter(({ method }) => method === "POST").length > 15);
  assert.deepEqual([...new Set(routes.map(({ method }) => method))].sort(), ["GET", "POST"], "no other method exists");
});

test("every page redirects to the sign-in and no form works when there is no session", async () => {
  const before = await rowsOf();
  for (const route of routes.filter(({ url }) => !OPEN.includes(url))) {
    const reply = await send(route, { "sec-fetch-site": "same-origin" });
    assert.equal(reply.statusCode, 303, `${route.method} ${route.url}`);
    assert.match(String(reply.headers.location), /^\/sign-in(\?next=|$)/, route.url);
  }
  assert.deepEqual(await rowsOf(), before);
});

test("every form from another site is refused, even with an owner's session", async () => {
  const { cookie } = await at.as("owner");
  const before = await rowsOf();
  for (const route of routes.filter(({ method }) => method === "POST"))
    for (const headers of [{ "sec-fetch-site": "cross-site" }, { origin: "https://evil.example" }, {}]) {
      const reply = await send(route, { cookie, ...(headers as Record<string, string>) });
      assert.equal(reply.statusCode, 403, `${route.url} ${JSON.stringify(headers)}`);
      assert.match(reply.body, /Another site sent this form/);
    }
  assert.deepEqual(await rowsOf(), before);
  assert.equal((await at.http.inject({ url: "/account", headers: { cookie } })).statusCode, 200, "not even signed out");
});

test("every response forbids frames, foreign scripts and sniffing, including refusals, files and redirects", async () => {
  const { cookie } = await at.as("owner");
  for (const headers of [{ cookie }, {}])
    for (const route of routes) {
      const reply = await send(route, headers as Record<string, string>);
      const name = `${route.method} ${route.url} (${reply.statusCode})`;
      assert.ok(reply.statusCode < 500 || reply.statusCode === 502, name);
      assert.match(
        String(reply.headers["content-security-policy"]),
        /^default-src 'none'; (?!.*unsafe).*frame-ancestors 'none'/,
        name,
      );
      assert.equal(reply.headers["x-frame-options"], "DENY", name);
      assert.equal(reply.headers["x-content-type-options"], "nosniff", name);
      assert.equal(reply.headers["cross-origin-opener-policy"], "same-origin", name);
      const isFile = /^\/(console\.|inter\.woff2)/.test(route.url);
      if (!isFile) assert.equal(reply.headers["cache-control"], "no-store", name);
    }
});

test("every cookie is limited to this host and TLS, and hidden from scripts and other sites' forms", async () => {
  const { email } = await at.person("viewer");
  const signed = await at.post("/sign-in", { email, password: PASSWORD });
  const out = await at.post("/sign-out", {}, { "sec-fetch-site": "same-origin", cookie: "x=1" });
  const cookies = [signed, out].flatMap(({ headers }) => [headers["set-cookie"] ?? []].flat());
  assert.equal(cookies.length, 2);
  for (const cookie of cookies)
    assert.match(cookie, /^__Host-dunlin=[\w-]*; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
});

test("password guesses are limited on every form that asks for a password", async () => {
  const guesses = async (guess: () => Promise<{ statusCode: number; body: string }>) => {
    for (let guesses = 0; guesses < 10; guesses++) assert.notEqual((await guess()).statusCode, 303);
  };
  const victim = await at.person("viewer");
  const thief = await at.browser(victim); // a browser that was left open
  await guesses(() => thief.post("/account/password", { former: "a guess at it", password: "my own from now on" }));
  const right = await thief.post("/account/password", { former: PASSWORD, password: "my own from now on" });
  assert.equal(right.statusCode, 400, "the eleventh attempt is refused even with the right password");
  at.clock.realMs += 15 * 60_000;
  assert.equal((await at.post("/sign-in", { email: victim.email, password: PASSWORD })).statusCode, 303);

  const known = await at.person(null);
  const owner = await at.as("owner");
  const page = await owner.post("/org/members/invite", { role: "viewer", email: "" });
  const t = /\/join\?t=([\w-]{43})/.exec(page.body)![1]!;
  const join = (password: string) => at.post("/join", { t, email: known.email, name: "", password });
  await guesses(() => join("a guess at it"));
  assert.equal((await join(PASSWORD)).statusCode, 400);
  at.clock.realMs += 15 * 60_000;
  assert.equal((await join(PASSWORD)).statusCode, 303);
});

test("no page and no form leads to another site", async () => {
  const browser = await at.as("owner");
  const elsewhere = [
    "//evil.example",
    "/\\evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/\t/evil.example",
  ];
  for (const next of elsewhere) {
    const switched = await browser.post("/merchant", { merchant: at.merchant.id, next });
    assert.equal(new URL(String(switched.headers.location), ORIGIN).origin, ORIGIN, next);
    const away = await at.http.inject({ url: `/account?next=${encodeURIComponent(next)}` });
    assert.ok(String(away.headers.location).startsWith("/sign-in?next=%2Faccount"), next);
  }
  const doubled = await at.http.inject({ url: "//evil.example/overview" });
  assert.equal(doubled.headers.location, undefined);
});
