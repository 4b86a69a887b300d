import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testApi } from "../../src/api/api.fixture.ts";
import { createTestConsole, SAME_ORIGIN } from "../../src/console/console.fixture.ts";
import { createConsolePages } from "../../src/console/console-pages.ts";
import { type Database, prepared } from "../../src/postgres/database.ts";
import { readMerchantRows } from "./merchant-life.ts";
import { createPopulatedMerchant } from "./populated-merchant.ts";
import { hasMerchantCondition, withoutMerchantCondition, withRewrittenStatements } from "./unscoped-statements.ts";

const at = await createTestConsole();
after(() => at.close());

/** Runs the console with statements that lack their merchant condition, as if their authors had forgotten it. */
async function consoleWithoutMerchantConditions(of: (merchantId: string) => Database) {
  const seen = { named: 0, texts: new Set<string>() };
  const walled = {
    of: (merchantId: string) =>
      withRewrittenStatements(of(merchantId), (statement) => {
        if (hasMerchantCondition(statement)) seen.named++;
        seen.texts.add(statement.text);
        return withoutMerchantCondition(statement);
      }),
    close: async () => {},
  };
  const api = await testApi(at.db, at.clock, { pages: createConsolePages({ ...at.options, tenantDb: walled }) });
  return { api, seen };
}

const mine = await createPopulatedMerchant(at, "aa");
const theirs = await createPopulatedMerchant(at, "bb");
const owner = await at.browser(await at.person("owner", mine.merchant));
const otherOwner = await at.person("owner", theirs.merchant);
const first = async (path: string, link: RegExp) => link.exec((await owner.get(path)).body)![1]!;
const event = await first("/deliveries", /href="(\/deliveries\/0[^"]+)"/);
const key = await first("/org/api_keys", /href="(\/org\/api_keys\/0[^"]+)"/);
const PLAN = { name: "Holdout", share: "50", calibrationDays: "0", primary: "count", margin: "3" };
for (const each of [owner, await at.browser(otherOwner)]) await each.post("/experiments", PLAN);
const experiment = await first("/experiments", /href="(\/experiments\/0[^"]+)"/);
const PAGES = [
  "/overview",
  "/actions",
  "/actions?orderBy=executed_at",
  "/actions?q=inv",
  "/actions.csv",
  "/invoices",
  "/invoices?q=inv&orderBy=ended_at",
  "/invoices.csv",
  "/search?q=inv",
  "/search?q=cus",
  "/search?q=inv&in=transactions",
  "/invoices/inv_1",
  "/invoices/inv_2",
  "/deliveries",
  "/deliveries?q=inv&state=waiting",
  "/deliveries.csv",
  "/deliveries/replay",
  event,
  "/decisions.csv?invoiceId=inv_1",
  "/experiments",
  "/experiments.csv",
  experiment,
  `${experiment}/weeks.csv`,
  `${experiment}/looks.csv`,
  "/backtest",
  "/import",
  "/import.csv",
  "/invoices?attention=ending",
  "/invoices?attention=contradictory",
  "/invoices.csv?attention=large",
  "/settings/notifications",
  "/settings/webhook",
  "/org/api_keys",
  key,
  "/org/members",
  "/org/audit",
  "/org/audit.csv",
  "/account",
];
/** Forms carry the id of the record to create. */
const withoutNewIds = (page: string) => page.replaceAll(/name="id" value="[^"]*"/g, "");
const pagesOf = async (api: typeof at.api) => {
  const pages: Record<string, string> = {};
  for (const url of PAGES) {
    const reply = await api.http.inject({ url, headers: { cookie: owner.cookie } });
    pages[url] = reply.statusCode === 200 ? withoutNewIds(reply.body) : `status ${reply.statusCode}`;
  }
  return pages;
};

test("no page shows another merchant's data when every console statement lacks its merchant condition", async () => {
  const honest = await pagesOf(at.api);
  for (const [url, page] of Object.entries(honest)) {
    assert.doesNotMatch(page, /^status/, url);
    assert.ok(!page.includes("bb@example.com") && !page.includes("of bb") && !page.includes(otherOwner.email), url);
  }
  const { api, seen } = await consoleWithoutMerchantConditions(at.options.tenantDb.of);
  assert.deepEqual(await pagesOf(api), honest);
  assert.ok(seen.named > 30 && seen.texts.size > 20, `${seen.named} of ${seen.texts.size} statements`);
  await api.close();

  // Without row-level security the same mistake shows, so this test can fail.
  const bare = await consoleWithoutMerchantConditions(() => at.db);
  const shown = await pagesOf(bare.api);
  const differing = PAGES.filter((url) => shown[url] !== honest[url]);
  for (const url of ["/overview", "/actions", "/invoices.csv", "/invoices/inv_1", "/org/api_keys", "/org/audit"])
    assert.ok(differing.includes(url), url);
  await bare.api.close();
});

test("no form changes another merchant's data, even when it names that data", async () => {
  const { api, seen } = await consoleWithoutMerchantConditions(at.options.tenantDb.of);
  const before = await readMerchantRows(at.db, theirs.merchant.id);
  const post = (url: string, fields: Record<string, string>) =>
    api.http.inject({
      method: "POST",
      url,
      headers: { cookie: owner.cookie, "content-type": "application/x-www-form-urlencoded", ...SAME_ORIGIN },
      payload: new URLSearchParams(fields).toString(),
    });
  const theirKey = String(before.api_keys!.map((row) => (row as { id: string }).id)[0]);
  const lastFour = String(before.api_keys!.map((row) => (row as { last_four: string }).last_four)[0]);
  const theirEvent = String(before.events!.map((row) => (row as { id: string }).id)[0]);
  const forms: [string, Record<string, string>, number][] = [
    ["/org/api_keys", { id: at.ports.newId(), permission: "ingest:invoices" }, 200],
    [`/org/api_keys/${theirKey}/revoke`, { confirm: lastFour }, 404],
    [`/org/api_keys/${theirKey}/rotate`, { id: at.ports.newId(), overlap: "now" }, 404],
    [`${key}/rotate`, { id: at.ports.newId(), overlap: "1h" }, 200],
    ["/org/members/invite", { role: "viewer", email: "cc@example.com" }, 200],
    ["/org/members/invite/revoke", { id: theirs.invite }, 409],
    ["/org/members/invite/revoke", { id: mine.invite }, 303],
    ["/org/members/remove", { person: otherOwner.id }, 409],
    ["/org/members/role", { person: otherOwner.id, role: "viewer" }, 409],
    ["/settings/webhook/pause", { reason: "moving" }, 303],
    ["/settings/webhook/resume", {}, 303],
    ["/settings/webhook/secret", { mark: "none", overlap: "now" }, 200],
    ["/settings/webhook/secret/remove", {}, 303],
    [`/deliveries/${theirEvent}/replay`, {}, 409],
    ["/deliveries/replay", {}, 303],
    [`${experiment}/stop`, {}, 303],
    ["/experiments", PLAN, 303],
    ["/backtest", {}, 303],
    ["/account", { zone: "UTC", theme: "dark" }, 303],
    ["/merchant", { merchant: theirs.merchant.id, next: "/" }, 403],
  ];
  const statuses = [];
  for (const [url, fields] of forms) statuses.push([url, (await post(url, fields)).statusCode]);
  assert.deepEqual(
    statuses,
    forms.map(([url, , status]) => [url, status]),
  );
  assert.deepEqual(await readMerchantRows(at.db, theirs.merchant.id), before);
  assert.ok(seen.named > 12, `${seen.named} of ${seen.texts.size} statements`);
  await api.close();
});

test("the console's tests run as in production, with a role that sees one merchant", async () => {
  const roleOf = async (db: Database) => (await db.run<{ role: string }>(ROLE)).rows[0]?.role;
  assert.equal(await roleOf(at.options.tenantDb.of(mine.merchant.id)), "dunlin_api");
  assert.equal(await roleOf(at.options.allTenantsDb), "dunlin_worker");
});
const ROLE = prepared("test_role", "select current_user::text as role");
