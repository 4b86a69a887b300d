import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createMerchant } from "../merchants/merchant-settings.ts";
import { prepared } from "../postgres/database.ts";
import { addMember, removeMember } from "../tables/members.ts";
import { listMerchantTables, revokeMerchantAccess } from "../tables/merchant-deletion.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "./console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const viewsOn = (page: string) =>
  [...page.matchAll(/<li><a href="([^"]+)"[^>]*>([^<]+)<\/a>\s*<form method="post" action="\/views\/delete">/g)].map(
    ([, href, name]) => [name, href!.replaceAll("&amp;", "&")],
  );
const COUNT = prepared("", "select count(*) as n from saved_views where merchant_id = $1 and person_id = $2");
const countOf = async (merchantId: string, personId: string) =>
  (await at.db.run<{ n: number }>(COUNT, [merchantId, personId])).rows[0]!.n;

test("a view is a list's address under a name, for the person who saved it, until it is deleted", async () => {
  const [ada, bob] = [await at.as("viewer"), await at.as("viewer")];
  const view = {
    path: "/actions",
    name: " German <b>cards</b> ",
    query: "after=x&cardCountry=DE&q=&orderBy=updated_at",
  };
  const saved = await ada.post("/views", view);
  assert.equal(saved.statusCode, 303);
  const confirmed = "/actions?cardCountry=DE&orderBy=updated_at&saved=German+%3Cb%3Ecards%3C%2Fb%3E";
  assert.equal(saved.headers.location, confirmed);
  const after = (await ada.get(confirmed)).body;
  assert.match(after, /role="status">The view “German &lt;b&gt;cards&lt;\/b&gt;” is saved\./);
  assert.match(after, /aria-current="true">German &lt;b&gt;/);
  assert.doesNotMatch((await ada.get("/actions?saved=Another")).body, /is saved/);
  await ada.post("/views", { path: "/actions", name: "All", query: "" });
  const actions = async (browser: typeof ada) => viewsOn((await browser.get("/actions")).body);
  assert.deepEqual(await actions(ada), [
    ["All", "/actions"],
    ["German &lt;b&gt;cards&lt;/b&gt;", "/actions?cardCountry=DE&orderBy=updated_at"],
  ]);
  assert.deepEqual(await actions(bob), []);
  assert.deepEqual(viewsOn((await ada.get("/invoices")).body), [], "another list");
  const current = (await ada.get("/actions?cardCountry=DE&orderBy=updated_at")).body;
  assert.match(current, /aria-current="true">German &lt;b&gt;/);
  const same = { path: "/actions", name: "all", query: "currency=EUR" };
  const asked = await ada.post("/views", same);
  assert.equal(asked.statusCode, 409);
  assert.match(asked.body, /You have a view “All” already\.[\s\S]*name="replace" value="All">Replace “All”</);
  assert.deepEqual((await actions(ada))[0], ["All", "/actions"], "nothing is replaced without a word");
  await ada.post("/views", { ...same, replace: "All" });
  assert.deepEqual((await actions(ada))[0], ["all", "/actions?currency=EUR"]);
  await ada.post("/views", { ...same, name: "All", replace: "all" });
  await bob.post("/views/delete", { path: "/actions", name: "All" });
  assert.equal((await actions(ada)).length, 2, "others cannot delete it");
  const deleted = await ada.post("/views/delete", { path: "/actions", name: "All", query: "currency=EUR" });
  assert.equal(deleted.headers.location, "/actions?currency=EUR");
  assert.equal((await actions(ada)).length, 1);
});

test("a view without a name, of another page or beyond the limit is refused", async () => {
  const ada = await at.as("viewer");
  for (const [view, status] of [
    [{ path: "/actions", name: " ", query: "" }, 400],
    [{ path: "/actions", name: "x".repeat(61), query: "" }, 400],
    [{ path: "https://elsewhere.example/", name: "x", query: "" }, 400],
    [{ path: "/actions", name: "x", query: `q=${"x".repeat(5_000)}` }, 400],
    [{ path: "/actions", name: "ab\u202edc", query: "q=x" }, 400],
  ] as const) {
    const refused = await ada.post("/views", view);
    assert.equal(refused.statusCode, status, view.path + view.name);
    if (view.path === "/actions") assert.match(refused.body, /id="name-problem" class="bad">T[\s\S]*href="\/actions/);
  }
  for (const list of ["/actions", "/invoices", "/deliveries"])
    assert.match(
      (await ada.get(String((await ada.post("/views", { path: list, name: "n", query: "" })).headers.location))).body,
      /“n” is saved/,
    );
  await ada.post("/views/delete", { path: "/deliveries", name: "n" });
  for (let n = 0; n < 30; n++)
    assert.equal((await ada.post("/views", { path: "/deliveries", name: `view ${n}`, query: "" })).statusCode, 303);
  assert.equal((await ada.post("/views", { path: "/deliveries", name: "one more", query: "" })).statusCode, 409);
  assert.equal(
    (await ada.post("/views", { path: "/deliveries", name: "view 3", query: "code=500", replace: "view 3" }))
      .statusCode,
    303,
  );
  assert.equal((await ada.post("/views", { path: "/invoices", name: "another list", query: "" })).statusCode, 303);
});

test("a person's views go with the membership or the merchant, and stay with other merchants", async () => {
  const [ada, other] = [await at.person("viewer"), await createMerchant(at.db, "Other", {}, SECRET_KEYS, at.ports)];
  await addMember(at.db, other.id, ada.id, "viewer", at.ports.now());
  for (const merchantId of [at.merchant.id, other.id]) {
    const browser = await at.browser(ada);
    await browser.post("/merchant", { merchant: merchantId });
    await browser.post("/views", { path: "/actions", name: "mine", query: "" });
    assert.equal(await countOf(merchantId, ada.id), 1);
  }
  await removeMember(at.db, at.merchant.id, ada.id);
  assert.deepEqual([await countOf(at.merchant.id, ada.id), await countOf(other.id, ada.id)], [0, 1]);
  const tables = (await listMerchantTables(at.db)).map(({ name }) => name);
  assert.ok(tables.indexOf("saved_views") < tables.indexOf("members"));
  await revokeMerchantAccess(at.db, other.id);
  assert.equal(await countOf(other.id, ada.id), 0);
});

test("a merchant's connection sees only the merchant's views", async () => {
  const ada = await at.as("viewer");
  await ada.post("/views", { path: "/actions", name: "mine", query: "" });
  const other = await createMerchant(at.db, "Other", {}, SECRET_KEYS, at.ports);
  const all = prepared("", "select from saved_views");
  assert.equal((await at.options.tenantDb.of(other.id).run(all)).rowCount, 0);
  assert.ok((await at.options.tenantDb.of(at.merchant.id).run(all)).rowCount > 0);
});
