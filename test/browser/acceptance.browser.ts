// The console in headless Chromium. Tests that need no browser are beside the code.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page, Response } from "playwright-core";
import { type ConsoleStage, listConsolePages, openConsoleStage } from "./console-server.ts";
import { SCRIPT_TEXT } from "./fill-console.ts";
import { findViolations } from "./find-violations.ts";
import { measureFirstPaintMs } from "./first-paint.ts";

let stage: ConsoleStage;
let owner: BrowserContext;
let page: Page;
let pages: [name: string, path: string][];
before(async () => {
  stage = await openConsoleStage();
  owner = await stage.as("owner");
  page = await owner.newPage();
  pages = await listConsolePages(page);
});
after(() => stage?.close());

/** Opens a page that records every error in the browser's console. */
async function openCheckedPage(context: BrowserContext) {
  const fresh = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  fresh.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  fresh.on("pageerror", (error) => complaints.push(String(error)));
  fresh.on("dialog", (dialog) => {
    complaints.push(`dialog ${dialog.message()}`);
    dialog.dismiss().catch(() => {});
  });
  fresh.on("request", (request) => requests.push(request.url()));
  return { fresh, complaints, requests };
}

test("1. the overview paints with less than 60 kB", async () => {
  const context = await stage.as("owner");
  const fresh = await context.newPage();
  const responses: Response[] = [];
  fresh.on("response", (response) => responses.push(response));
  // `npm run bench -- console` checks the speed; this machine is busy with other tests.
  const ms = await measureFirstPaintMs(fresh, "/overview?period=12w");
  assert.ok(ms > 0);
  const sizes = await Promise.all(responses.map((response) => response.request().sizes()));
  const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
  assert.ok(bytes > 0 && bytes < 60_000, `${bytes} bytes`);
  await context.close();
});

test("2, 82. every page, its filters and key creation work when scripts are off", async () => {
  const context = await stage.as("owner", { javaScriptEnabled: false });
  const bare = await context.newPage();
  for (const [name, path] of pages) {
    await bare.goto(path);
    assert.ok((await bare.locator("main").innerText()).length > 30, name);
  }
  await bare.goto("/deliveries");
  await bare.locator(".seg").getByRole("link", { name: "Exhausted" }).click();
  assert.match(bare.url(), /state=exhausted/);
  await bare.getByText("Add a filter").click();
  await bare.getByLabel("Last status").fill("503");
  await bare.getByRole("button", { name: "Add", exact: true }).click();
  assert.match(bare.url(), /state=exhausted/);
  assert.match(bare.url(), /code=503/);
  assert.ok((await bare.locator("tbody .tag.bad").count()) > 0);
  assert.equal(await bare.locator("tbody .tag:not(.bad)").count(), 0);
  await bare.goto("/org/api_keys/new");
  await bare.getByLabel("push invoices").check();
  await bare.getByRole("button", { name: "Create the key" }).click();
  assert.match(await bare.locator("pre").first().innerText(), /^dln_live_[0-9A-Za-z]{36}$/);
  await context.close();
});

test("a confirmed button, hidden from viewers, stops the recovery of an invoice when scripts are off", async () => {
  const [, path] = pages.find(([name]) => name === "invoice-open")!;
  const viewer = await stage.as("viewer", { javaScriptEnabled: false });
  const looking = await viewer.newPage();
  await looking.goto(path);
  assert.equal(await looking.getByText("Stop", { exact: true }).count(), 0);
  await viewer.close();
  const context = await stage.as("developer", { javaScriptEnabled: false });
  const bare = await context.newPage();
  await bare.goto(path);
  const confirm = bare.getByRole("button", { name: "Stop recovery for this invoice" });
  assert.equal(await confirm.isVisible(), false);
  await bare.getByText("Stop", { exact: true }).click();
  await bare.getByLabel("Reason").filter({ visible: true }).fill("they complained");
  await confirm.click();
  assert.match(await bare.locator(".notice.good").innerText(), /^Recovery stopped\./);
  assert.match(await bare.locator("main").innerText(), /End reason\s+stopped by hand/);
  assert.equal(await confirm.count(), 0);
  await context.close();
});

test("the webhook form shows only the fields of the chosen credential when scripts are off", async () => {
  const context = await stage.as("developer", { javaScriptEnabled: false });
  const bare = await context.newPage();
  await bare.goto("/settings/webhook");
  const shown = async (auth?: string) => {
    if (auth) await bare.getByLabel("Authentication").selectOption(auth);
    const labels = await bare.locator("form:has(#auth) label:visible").allInnerTexts();
    return labels.slice(labels.indexOf("Authentication") + 1);
  };
  assert.deepEqual(await shown(), [], "what is saved stays as it is");
  assert.deepEqual(await shown("bearer"), ["Token"]);
  assert.deepEqual(await shown("basic"), ["User", "Password"]);
  assert.deepEqual(await shown("keep"), []);
  await context.close();
});

for (const colorScheme of ["light", "dark"] as const)
  test(`3, 82. axe finds nothing on any page, ${colorScheme}`, async () => {
    const context = await stage.as("owner", { colorScheme, bypassCSP: true, viewport: { width: 1440, height: 900 } });
    const fresh = await context.newPage();
    const violations = await findViolations(fresh, [...pages, ["sign-in", "/sign-in"], ["over", "/join?t=x"]]);
    assert.deepEqual(violations, []);
    await context.close();
  });

test("4. the keyboard alone can create a key, set a filter and send an event again, with visible focus", async () => {
  const at = await owner.newPage();
  const tabTo = async (says: RegExp) => {
    for (let presses = 0; presses < 60; presses++) {
      await at.keyboard.press("Tab");
      const focused = await at.evaluate<{ text: string; outline: string }>(`(() => {
        const it = document.activeElement;
        const text = it.labels?.[0]?.textContent ?? it.textContent ?? "";
        return { text, outline: it === document.body ? "" : getComputedStyle(it).outlineStyle };
      })()`);
      assert.notEqual(focused.outline, "none", `no focus in sight on ${focused.text}`);
      if (says.test(focused.text)) return;
    }
    assert.fail(`the keyboard does not reach ${says}`);
  };
  await at.goto("/org/api_keys/new");
  await tabTo(/push invoices/);
  await at.keyboard.press("Space");
  await tabTo(/Create the key/);
  await at.keyboard.press("Enter");
  await at.waitForSelector("pre");
  await at.goto("/deliveries");
  await at.keyboard.press("/");
  await tabTo(/^Exhausted/);
  await at.keyboard.press("Enter");
  await at.waitForURL(/state=exhausted/);
  await at.keyboard.press("j");
  await at.keyboard.press("Enter");
  await at.waitForURL(/deliveries\/[0-9a-f-]{36}/);
  await tabTo(/Send again/);
  await at.keyboard.press("Enter");
  await at.waitForSelector(".tag.tide");
  await at.close();
});

test("5. / focuses the search, j and k move between rows, ? shows the keys, and Escape closes them", async () => {
  await page.goto("/invoices");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate("document.activeElement.name"), "q");
  await page.locator("h1").click();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  const rows = page.locator("tbody tr");
  const isFocused = "document.activeElement === document.querySelector('tbody tr:first-child a')";
  assert.equal(await page.evaluate(isFocused), true);
  const [opened] = await Promise.all([
    owner.waitForEvent("page"),
    rows.nth(0).locator("a").first().click({ button: "middle" }),
  ]);
  await opened.close();
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog[open]").count(), 0);
});

test("6. a reload, going back and another browser show the same rows", async () => {
  await page.goto("/invoices");
  await page.getByRole("link", { name: /^Recovered/ }).click();
  await page.getByText("Add a filter").click();
  await page.getByLabel("Currency").fill("USD");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.waitForURL(/currency=USD/);
  const url = page.url();
  assert.match(url, /\?currency=USD&outcome=recovered$/, "empty fields are not in it");
  const rows = async (of: Page) => {
    const cells = of.locator("tbody tr > :first-child");
    // The address changes before the rows are there.
    await cells.first().waitFor();
    return cells.allInnerTexts();
  };
  const shown = await rows(page);
  await page.reload();
  assert.deepEqual(await rows(page), shown);
  await page.locator("tbody a").first().click();
  await page.goBack();
  assert.equal(page.url(), url);
  assert.deepEqual(await rows(page), shown);
  const other = await stage.as("viewer");
  const elsewhere = await other.newPage();
  await elsewhere.goto(url);
  assert.deepEqual(await rows(elsewhere), shown);
  await other.close();
});

test("14, 15. a button copies a key and confirms it; a double click selects the whole key; a reload shows neither it nor a second one", async () => {
  const context = await stage.as("developer");
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: stage.origin });
  const at = await context.newPage();
  await at.goto("/org/api_keys/new");
  await at.getByLabel("list recovery actions").check();
  await at.getByRole("button", { name: "Create the key" }).click();
  const key = await at.locator("pre").first().innerText();
  await at.locator("pre").first().dblclick();
  assert.equal(await at.evaluate("String(getSelection())"), key);
  await at.locator("[data-copy]").first().click();
  await at.locator("#said", { hasText: "Copied" }).waitFor({ state: "attached" });
  assert.equal(await at.evaluate("navigator.clipboard.readText()"), key);
  await at.reload();
  assert.ok(!(await at.content()).includes(key));
  assert.doesNotMatch(await at.content(), /dln_live_[0-9A-Za-z]{36}/);
  await context.close();
});

test("22. the deliveries page updates itself", async () => {
  await page.goto("/deliveries");
  const before = await page.locator("[data-live]").innerText();
  const MOVE = "update deliveries set attempts = 5 where attempts < 5";
  const { rowCount } = await stage.database.db.run({ name: "test_move", text: MOVE });
  assert.ok(rowCount > 0, "an event waits since the test of the keyboard");
  const live = page.locator("[data-live]");
  for (let looks = 0; looks < 40 && (await live.innerText()) === before; looks++) await page.waitForTimeout(500);
  assert.notEqual(await live.innerText(), before);
});

test("31. a viewer sees no keys, webhook or members, even by direct address", async () => {
  const context = await stage.as("viewer");
  const at = await context.newPage();
  await at.goto("/overview");
  const links = await at.locator(".rail a").allInnerTexts();
  assert.deepEqual(
    links.filter((text) => /Webhook|API keys|Members|Audit/.test(text)),
    [],
  );
  for (const path of ["/settings/webhook", "/org/api_keys", "/org/members", "/org/audit"]) {
    const reply = await at.goto(path);
    assert.equal(reply?.status(), 403, path);
    assert.match(await at.locator("main").innerText(), /Your role \(viewer\) does not allow this operation/);
  }
  await context.close();
});

test("33, 34. no outside script runs, no page logs an error, and no other host is contacted", async () => {
  const context = await stage.as("owner");
  const { fresh, complaints, requests } = await openCheckedPage(context);
  for (const [, path] of pages) await fresh.goto(path);
  await fresh.goto(`/invoices/${encodeURIComponent(SCRIPT_TEXT)}`);
  assert.match(await fresh.locator("h1").innerText(), /<script>alert/);
  const expected = complaints.filter((text) => !/status of 40[04]/.test(text));
  assert.deepEqual(expected, []);
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(stage.origin)),
    [],
  );
  await context.close();
});

test("33. the policy stops a script injected into a page", async () => {
  const context = await stage.as("owner");
  const { fresh, complaints } = await openCheckedPage(context);
  await fresh.goto("/overview");
  await fresh.evaluate(
    "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = true' }))",
  );
  assert.equal(await fresh.evaluate("'ran' in window"), false);
  assert.match(complaints.join(), /Content Security Policy/);
  await context.close();
});

test("38. the next click works when the server has restarted under an open page", async () => {
  await page.goto("/overview");
  await stage.restart();
  await page.getByRole("link", { name: "Invoices", exact: true }).click();
  await page.waitForURL(/\/invoices$/);
  assert.match(await page.locator("h1").innerText(), /Invoices/);
});
