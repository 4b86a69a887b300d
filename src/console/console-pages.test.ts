import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { testClock, testPorts } from "../api/api.fixture.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { listRequests, UNAUTHENTICATED_MERCHANT_ID } from "../tables/request-log.ts";
import { createTestConsole, type TestConsole } from "./console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

test("every page forbids foreign scripts, frames, sniffing and caching", async () => {
  const owner = await at.as("owner");
  for (const reply of [
    await owner.get("/account"),
    await at.http.inject({ url: "/sign-in" }),
    await owner.get("/org/members?x=1"),
  ]) {
    const { headers } = reply;
    const policy = String(headers["content-security-policy"]);
    assert.match(policy, /^default-src 'none';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /base-uri 'none'/);
    assert.match(policy, /form-action 'self'/);
    assert.doesNotMatch(policy, /unsafe|http:|data:|\*/);
    assert.equal(headers["x-frame-options"], "DENY");
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.equal(headers["cache-control"], "no-store");
    assert.doesNotMatch(
      reply.body,
      /<[^>]+\s(style|on\w+)=/i,
      "no inline style or handler, which the policy would stop",
    );
    assert.doesNotMatch(reply.body, /(src|href)="(https?:)?\/\//, "nothing is loaded from elsewhere");
  }
});

test("people's input is shown as text", async () => {
  const browser = await at.as("viewer");
  const rename = prepared("test_rename_person", "update people set name = $2 where id = $1");
  await at.db.run(rename, [browser.person.id, `<script>alert(1)</script>"'&`]);
  const { body } = await browser.get("/account");
  assert.ok(!body.includes("<script>alert"));
  assert.ok(body.includes("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
});

test("commands on pages contain no server path and are folded below the page's own actions", async () => {
  const fixture = await createTestConsole({ caPath: "/var/lib/dunlin/tls/ca.pem" });
  try {
    const owner = await fixture.as("owner");
    for (const path of ["/overview", "/actions", "/import", "/backtest", "/experiments", "/shadow"]) {
      const { body } = await owner.get(path);
      assert.doesNotMatch(body, /\/var\/lib/, path);
      const main = body.split("<main")[1]!.replaceAll(/<details[\s\S]*?<\/details>/g, "");
      assert.doesNotMatch(main, /npx dunlin|curl /, path);
      assert.match(main, /<(a|button) [^>]*(href="\/(org|import|settings|experiments)|class="main")/, path);
    }
  } finally {
    await fixture.close();
  }
});

test("pages show the service time only when it runs faster than real time", async () => {
  assert.doesNotMatch((await (await at.as("viewer")).get("/account")).body, /class="clock"/);
  const fast = await createTestConsole({ ports: { ...testPorts(testClock()), clockRate: 8640 } });
  try {
    const { body } = await (await fast.as("viewer")).get("/account");
    assert.match(body, /class="clock">Service time: \d+ \w+ \d{4} \d\d:\d\d; one day takes 10 s\.</);
  } finally {
    await fast.close();
  }
});

test("the request log contains only failed pages, under the merchant of a signed-in person", async () => {
  const { id } = at.merchant;
  const viewer = await at.as("viewer");
  const paths = ["/overview", "/invoices/nothing", "/org/audit", "/sign-in"];
  for (const path of paths) await viewer.get(path);
  await at.http.inject({ url: "/sign-in?x=1" });
  await at.http.inject({ url: "/v1/recovery_actions" });
  const logged = async (merchantId: string, count: number) => {
    const found = () => listRequests(at.db, merchantId, { limit: 100 });
    for (let checks = 0; checks < 50 && (await found()).length < count; checks++) await sleep(100);
    return (await found()).map(({ route, status }) => `${route} ${status}`).sort();
  };
  assert.deepEqual(await logged(id, 2), ["/invoices/* 404", "/org/audit 403"]);
  assert.deepEqual(await logged(UNAUTHENTICATED_MERCHANT_ID, 1), ["/v1/recovery_actions 401"]);
});

test("a missing page is HTML for browsers and JSON for programs", async () => {
  const page = await at.http.inject({ url: "/nothing", headers: { accept: "text/html,*/*" } });
  assert.equal(page.statusCode, 404);
  assert.match(page.body, /This page does not exist/);
  const document = await at.http.inject({ url: "/docs/nothing.html", headers: { accept: "text/html,*/*" } });
  assert.deepEqual([document.statusCode, document.body], [404, page.body]);
  const json = await at.http.inject({ url: "/nothing" });
  assert.equal(json.json().code, 404);
});

test("a database outage shows a page with the request id and no part of the error", async () => {
  const down = Object.assign(new Error("connect ECONNREFUSED 10.0.0.5:5432"), { code: "ECONNREFUSED" });
  const db: Database = { ...at.db, run: () => Promise.reject(down), transaction: () => Promise.reject(down) };
  const away = await createTestConsole({ allTenantsDb: db });
  const reply = await away.http.inject({ url: "/account", headers: { cookie: `__Host-dunlin=${"a".repeat(43)}` } });
  assert.equal(reply.statusCode, 503);
  assert.match(reply.body, /Database unavailable/);
  assert.ok(reply.body.includes(String(reply.headers["x-request-id"])));
  assert.doesNotMatch(reply.body, /ECONNREFUSED|10\.0\.0\.5|at .*\.ts/);
  await away.close();
});

test("forms are accepted only with a browser's content type and a limited size", async () => {
  const { cookie } = await at.as("viewer");
  const send = (type: string, payload: string) =>
    at.http.inject({
      method: "POST",
      url: "/account",
      headers: { cookie, "sec-fetch-site": "same-origin", "content-type": type },
      payload,
    });
  assert.equal((await send("text/plain", "zone=UTC")).statusCode, 415);
  assert.equal((await send("application/x-www-form-urlencoded", `zone=${"x".repeat(70_000)}`)).statusCode, 413);
});

test("every page without data shows the next step", async () => {
  const browser = await at.as("owner");
  for (const [path, says] of [
    ["/overview", /Nothing has been in recovery yet[\s\S]*ingest\/v1\/invoices/],
    ["/actions", /No actions yet[\s\S]*ingest\/v1\/invoices/],
    ["/invoices", /A case opens when an unpaid invoice is pushed/],
    ["/deliveries", /No event yet/],
  ] as const) {
    const reply = await browser.get(path);
    assert.equal(reply.statusCode, 200, path);
    assert.match(reply.body, says);
  }
});

test("accepted forms and downloads leave no error in the log", async () => {
  const begin = at.api.lines.length;
  const owner = await at.as("owner");
  assert.equal((await owner.get("/invoices.csv")).statusCode, 200);
  assert.equal((await owner.post("/account", { zone: "UTC", theme: "dark" })).statusCode, 303);
  await sleep(50);
  const errors = at.api.lines.slice(begin).filter((line) => JSON.parse(line).level >= 40);
  assert.deepEqual(errors, []);
});

test("a control character in an address is refused, and the page names the parameter", async () => {
  const owner = await at.as("owner");
  const parameters: Record<string, string[]> = {
    "/analytics": ["reason", "code", "method", "country", "issuer", "plan", "amount", "currency", "by", "from"],
    "/analytics.csv": ["code", "plan"],
    "/invoices": ["q", "customerId", "subscriptionId", "invoiceId", "currency", "leftOutBy", "before"],
    "/actions": ["q", "invoiceId", "customerId", "cardCountry", "currency", "status", "after", "back"],
    "/deliveries": ["q", "invoiceId", "after", "back", "before"],
    "/org/audit": ["actor", "noun", "before"],
    "/search": ["q", "after", "back"],
    "/decisions.csv": ["invoiceId"],
    "/requests": ["show", "before"],
    "/overview": ["period", "currency"],
    "/shadow": ["page"],
    "/experiments": ["page"],
  };
  for (const [path, names] of Object.entries(parameters))
    for (const name of names)
      for (const character of ["%00", "a%07b"]) {
        const reply = await owner.get(`${path}?${name}=${character}`);
        assert.equal(reply.statusCode, 400, `${path}?${name}=${character}`);
        assert.ok(reply.body.includes(name), `${path}?${name}=${character}`);
      }
  for (const path of ["/invoices/%00", "/deliveries/%00", "/experiments/%00", "/deliveries/replay/%00"]) {
    const reply = await owner.get(path);
    assert.equal(reply.statusCode, 404, path);
  }
  for (const path of [
    "/join?t=%00",
    "/sign-in?next=%00",
    "/account?done=%00",
    "/connection?done=%00",
    "/org/api_keys/%00",
  ])
    assert.notEqual((await owner.get(path)).statusCode, 500, path);
});
