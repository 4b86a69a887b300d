// The documents as people read them, in headless Chromium, under the policy that they are served with.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { type ConsoleStage, openConsoleStage } from "./console-server.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PAGES = [
  "",
  "guides/quickstart.html",
  "guides/engine.html",
  "reference/settings.html",
  "api/listRecoveryActions.html",
];

let stage: ConsoleStage;
before(async () => {
  stage = await openConsoleStage({ isEmpty: true });
});
after(() => stage?.close());

/** Opens a page and records its browser errors and requests. */
async function openCheckedPage(options: Parameters<ConsoleStage["browser"]["newContext"]>[0] = {}) {
  const context: BrowserContext = await stage.browser.newContext({
    baseURL: stage.origin,
    ignoreHTTPSErrors: true,
    ...options,
  });
  const page: Page = await context.newPage();
  const complaints: string[] = [];
  const asked: string[] = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  return { context, page, complaints, asked };
}

for (const colorScheme of ["light", "dark"] as const)
  test(`axe finds nothing in the documents, ${colorScheme}, and none is wider than 360 px`, async () => {
    const { context, page } = await openCheckedPage({
      colorScheme,
      bypassCSP: true,
      viewport: { width: 360, height: 700 },
    });
    for (const path of PAGES) {
      await page.goto(`/docs/${path}`);
      await page.evaluate(AXE);
      const found = await page.evaluate<string[]>(
        "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))",
      );
      assert.deepEqual(found, [], path);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360, path);
    }
    await context.close();
  });

test("search finds a section by keyboard, and contacts only this installation", async () => {
  const { context, page, complaints, asked } = await openCheckedPage();
  await page.goto("/docs/guides/ingest.html");
  await page.keyboard.press("/");
  await page.keyboard.type("credential zyzzyva key");
  await page.locator("search").getByText("0 found").waitFor();
  await page.keyboard.press("ControlOrMeta+A");
  await page.keyboard.type("idempotency key");
  await page.locator("search li a").first().waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(/#/);
  assert.ok((await page.locator("main").innerText()).includes("idempotency key"));
  assert.deepEqual(complaints, []);
  for (const url of asked) assert.equal(new URL(url).origin, stage.origin);
  await context.close();
});

test("the documents are readable and show no dead field when scripts are off", async () => {
  const { context, page } = await openCheckedPage({ javaScriptEnabled: false });
  await page.goto("/docs/");
  assert.equal(await page.locator("search").isVisible(), false);
  await page.getByRole("navigation").getByRole("link", { name: "Quickstart" }).click();
  assert.match(await page.locator("h1").innerText(), /Quickstart/);
  await context.close();
});
