// API keys as people manage them and programs use them, on the whole service in real time. src/console/org/api-key-routes.test.ts
// tests expiry with a clock that can be set.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import type { Shop } from "../contract/contract-shop.ts";
import { eventually } from "../contract/running-service.ts";
import { type LiveService, openLiveService } from "./live-service.ts";

let live: LiveService;
let shop: Shop;
let owner: BrowserContext;
let page: Page;
before(async () => {
  live = await openLiveService(1);
  shop = await live.service.shop({ endpoint: false });
  owner = await live.as("owner", shop.id);
  page = await owner.newPage();
});
after(() => live?.stop());

/** Creates a key with the form. Returns it and the path of its page. */
async function make(note: string, ...permissions: string[]) {
  await page.goto("/org/api_keys/new");
  for (const permission of permissions) await page.getByLabel(permission).check();
  await page.getByLabel("Note").fill(note);
  await page.getByRole("button", { name: "Create the key" }).click();
  const key = await page.locator("pre").first().innerText();
  await page.getByRole("link", { name: "I stored it" }).click();
  const path = (await page
    .locator("tbody tr", { hasText: note })
    .first()
    .getByRole("link")
    .first()
    .getAttribute("href"))!;
  return { key, path };
}
const list = (key: string) =>
  live.service.call({ path: "/v1/recovery_actions", headers: { authorization: `Bearer ${key}` } });
const statusOf = async (key: string) => (await list(key)).status;

test("16. a key without the permission gets 403 and an invalid one 401, both with code, message and details", async () => {
  const { key } = await make("pushes", "push invoices");
  for (const [given, status] of [
    [key, 403],
    [`${key.slice(0, -1)}${key.endsWith("x") ? "y" : "x"}`, 401],
    ["garbage", 401],
  ] as const) {
    const reply = await list(given);
    assert.equal(reply.status, status);
    const body = JSON.parse(reply.text) as Record<string, unknown>;
    assert.equal(typeof body.code, "number");
    assert.ok(String(body.message).length > 10);
    assert.ok(Array.isArray(body.details));
  }
});

test("17. a key revoked on the page is refused within a second", async () => {
  const { key, path } = await make("revoked", "list recovery actions");
  assert.equal(await statusOf(key), 200);
  await page.goto(path);
  await page.getByLabel("Last four characters of the key").fill(key.slice(-4));
  await page.getByRole("button", { name: "Revoke" }).click();
  await eventually(async () => (await statusOf(key)) === 401, "the refusal", 1_000);
  await page.goto(path);
  assert.match(await page.locator("main .facts").innerText(), /revoked/);
});

test("18. both keys work until the time on the page after a rotation with overlap; the former is refused after one without", async () => {
  const { key, path } = await make("rotated", "list recovery actions");
  const rotate = async (of: string, words: string) => {
    await page.goto(of);
    await page.getByLabel(words).check();
    await page.getByRole("button", { name: "Create the new key" }).click();
    return page.locator("pre").first().innerText();
  };
  const second = await rotate(path, "still works for 1 hour");
  assert.deepEqual([await statusOf(key), await statusOf(second)], [200, 200]);
  await page.goto(path);
  assert.match(await page.locator("main .facts").innerText(), /active until[\s\S]*Replaced by/);
  const next = (await page.locator("main .facts a").last().getAttribute("href"))!;
  const third = await rotate(next, "stops working now");
  await eventually(async () => (await statusOf(second)) === 401, "the end of the former key", 1_000);
  assert.equal(await statusOf(third), 200);
});

test("19. the page shows within a minute when a key was last used", async () => {
  const { key, path } = await make("used", "list recovery actions");
  await page.goto(path);
  assert.match(await page.locator("main .facts").innerText(), /Last used\s+never/);
  const usedAt = Date.now();
  assert.equal(await statusOf(key), 200);
  const shown = await eventually(
    async () => {
      await page.goto(path);
      const moments = await page
        .locator("main .facts time")
        .evaluateAll((all) => all.map((each) => each.getAttribute("datetime")!));
      return moments.map((each) => new Date(each).getTime()).find((ms) => ms >= usedAt - 2_000);
    },
    "the last use",
    60_000,
  );
  assert.ok(Math.abs(shown - usedAt) < 60_000);
});

test("41. the audit log records person, time and content of each of these changes, and no key", async () => {
  const { text } = await (async () => ({ text: await (await owner.request.get("/org/audit.csv")).text() }))();
  const lines = text.trimEnd().split("\r\n").slice(1);
  for (const operation of ["key.created", "key.revoked", "key.rotated"]) {
    const line = lines.find((each) => each.includes(`,${operation},`));
    assert.match(line ?? "", /^\d{4}-\d\d-\d\dT[\d:.]+Z,[^,]+,owner-[0-9a-f]+@example\.com,/, operation);
  }
  assert.doesNotMatch(text, /dln_live_[0-9A-Za-z]{20,}/);
});
