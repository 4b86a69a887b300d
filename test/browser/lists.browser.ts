// Lists in the browser: search, filters, order, pages and saved views.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { ingestSubscriptions } from "../../src/ingest/ingest.ts";
import { prepared } from "../../src/postgres/database.ts";
import { type ConsoleStage, openConsoleStage } from "./console-server.ts";

let stage: ConsoleStage;
let context: BrowserContext;
let page: Page;
before(async () => {
  stage = await openConsoleStage();
  context = await stage.as("viewer", { javaScriptEnabled: false, viewport: { width: 1440, height: 600 } });
  page = await context.newPage();
});
after(() => stage?.close());

const listed = () => page.locator("tbody th").allInnerTexts();

test("a search, a state and a filter add up in the address, and each chip removes its own", async () => {
  await page.goto("/actions");
  const all = (await listed()).length;
  assert.equal(all, 25);
  await page.getByLabel("Start of an invoice, customer or subscription id").fill("in_106");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=in_106/);
  assert.ok((await listed()).every((id) => id.startsWith("in_106")));
  await page.getByRole("link", { name: /^Open/ }).click();
  const open = await listed();
  const [, currency] = /\b([A-Z]{3})\s[\d,]+/.exec(await page.locator("tbody tr").first().innerText())!;
  await page.getByText("Add a filter").click();
  await page.getByLabel("Currency").fill(currency!.toLowerCase());
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const { searchParams } = new URL(page.url());
  assert.deepEqual(Object.fromEntries(searchParams), { currency, q: "in_106", status: "open" });
  const inCurrency = await listed();
  assert.ok(inCurrency.length > 0 && inCurrency.every((id) => open.includes(id)));
  await page.getByRole("link", { name: `Remove the filter Currency: ${currency}` }).click();
  await page.getByRole("link", { name: "Remove the filter Id starts with in_106" }).click();
  assert.equal(new URL(page.url()).search, "?status=open");
  await page.getByRole("link", { name: "Clear" }).click();
  assert.equal(new URL(page.url()).search, "");
});

test("67. Next and Previous lead back to the same rows", async () => {
  await page.goto("/invoices");
  const first = await listed();
  await page.getByRole("link", { name: "Next" }).click();
  assert.match(await page.locator(".pager").innerText(), /^26 to 50 of \d+/);
  assert.ok((await listed()).every((id) => !first.includes(id)));
  await page.getByRole("link", { name: "Previous" }).click();
  assert.deepEqual(await listed(), first);
  assert.equal(await page.getByRole("link", { name: "Previous" }).count(), 0);
});

test("66. a head sorts the list, says so, and stays in sight", async () => {
  await page.goto("/invoices?currency=USD");
  await page.getByRole("link", { name: "Amount" }).click();
  assert.equal(await page.locator("th[aria-sort]").innerText(), "Amount");
  assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "descending");
  const amounts = async () =>
    (await page.locator("tbody td.b").allInnerTexts()).map((text) => Number(text.replace(/[^\d.]/g, "")));
  const descending = await amounts();
  assert.deepEqual(
    descending,
    descending.toSorted((a, b) => b - a),
  );
  await page.locator("th[aria-sort] a").click();
  assert.deepEqual(await amounts(), descending.toReversed());
  await page.goto("/actions");
  const top = async () => (await page.locator("thead").boundingBox())!.y;
  assert.ok((await top()) > 100);
  await page.locator(".pager").scrollIntoViewIfNeeded();
  const [head] = await page.locator("thead th").all();
  assert.ok(Math.abs((await head!.boundingBox())!.y) < 2);
});

test("68. a view is saved, opened, passed on by its address and deleted, without scripts", async () => {
  await page.goto("/actions?cardCountry=DE");
  await page.locator("summary", { hasText: "Views" }).click();
  await page.getByLabel("Save these filters as").fill("German cards");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL(/cardCountry=DE/);
  await page.goto("/actions");
  await page.locator("summary", { hasText: "Views" }).click();
  await page.getByRole("link", { name: "German cards" }).click();
  assert.equal(new URL(page.url()).search, "?cardCountry=DE");
  const rows = await listed();
  const colleague = await stage.as("admin", { javaScriptEnabled: false });
  const theirs = await colleague.newPage();
  await theirs.goto(page.url());
  assert.deepEqual(await theirs.locator("tbody th").allInnerTexts(), rows);
  assert.ok(await theirs.getByRole("link", { name: "Remove the filter Card country: Germany" }).isVisible());
  await colleague.close();
  await page.locator("summary", { hasText: "Views" }).click();
  await page.getByRole("button", { name: "Delete the view German cards" }).click();
  await page.locator("summary", { hasText: "Views" }).click();
  assert.equal(await page.getByRole("link", { name: "German cards" }).count(), 0);
});

test("65, 70. the search of the frame goes straight to an invoice, and lists what begins alike", async () => {
  await page.goto("/overview");
  const field = page.locator(".rail [name=q]");
  await field.fill("in_1060");
  await field.press("Enter");
  await page.waitForURL(/\/invoices\/in_1060$/);
  await page.locator(".rail [name=q]").fill("in_106");
  await page.locator(".rail [name=q]").press("Enter");
  await page.waitForURL(/\/search\?q=in_106$/);
  assert.match(await page.locator("main").innerText(), /Invoices 8\+/);
  await page.getByRole("link", { name: "More invoices" }).click();
  assert.equal((await listed()).length, 10);
  const at = stage.ports.now();
  const subscription = { id: "sub_cus_1", state: "ACTIVE", customerId: "cus_1", amount: 900, currency: "EUR" } as const;
  await ingestSubscriptions(
    stage.database.db,
    stage.merchant,
    [[{ ...subscription, createdAt: at, updatedAt: at }]],
    stage.ports,
    () => {},
  );
  const attempt = prepared("", "select id from transactions where merchant_id = $1 and invoice_id = 'in_1060' limit 1");
  const { rows } = await stage.database.db.run<{ id: string }>(attempt, [stage.merchant.id]);
  for (const [typed, group, found] of [
    ["in_106", "Invoices", "in_1060"],
    ["cus_1", "Customers", "cus_1"],
    ["sub_cus_1", "Subscriptions", "sub_cus_1"],
    [rows[0]!.id.slice(0, -4), "Transactions", rows[0]!.id],
  ] as const) {
    await page.locator(".rail [name=q]").fill(typed);
    await page.locator(".rail [name=q]").press("Enter");
    const card = page.locator("section.card, .card", { has: page.locator("h2", { hasText: group }) }).first();
    const ids = (await card.locator("tbody th").allInnerTexts()).map((id) => id.trim());
    assert.ok(ids.length > 0 && ids.every((id) => id.startsWith(typed)), `${group}: ${ids}`);
    assert.ok(ids.includes(found), `${found} among ${ids}`);
  }
  await page.locator(".rail [name=q]").fill(rows[0]!.id);
  await page.locator(".rail [name=q]").press("Enter");
  await page.waitForURL(/\/invoices\/in_1060$/);
});

test("65. the search of a list finds by the start of an invoice, a customer or a subscription", async () => {
  for (const typed of ["in_106", "cus_1", "sub_cus_1"]) {
    await page.goto("/invoices");
    await page.getByLabel("Start of an invoice, customer or subscription id").fill(typed);
    await page.keyboard.press("Enter");
    await page.waitForURL(/q=/);
    const rows = await page
      .locator("tbody tr")
      .evaluateAll((all) =>
        all.map((row) => [row.querySelector("th")!.textContent!.trim(), row.children[1]!.textContent!.trim()]),
      );
    assert.ok(rows.length > 0);
    for (const [invoice, customer] of rows)
      assert.ok(
        [invoice!, customer!, `sub_${customer}`].some((id) => id.startsWith(typed)),
        `${typed}: ${invoice} ${customer}`,
      );
  }
});

test("70. / focuses the frame's search, and an exact id leads straight to its invoice", async () => {
  const scripted = await stage.as("viewer");
  const at = await scripted.newPage();
  await at.goto("/overview");
  await at.keyboard.press("/");
  assert.equal(await at.evaluate("document.activeElement.matches('.rail .find [name=q]')"), true);
  await at.keyboard.type("in_1060");
  await at.keyboard.press("Enter");
  await at.waitForURL(/\/invoices\/in_1060$/);
  assert.match(await at.locator("h1").innerText(), /^in_1060/);
  await scripted.close();
});
