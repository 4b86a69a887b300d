// `npm run proof -- screenshots [FOLDER]`: takes screenshots of every page of the console in both themes, for review.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startTestServer, TEST_SERVER_VARIABLE } from "../test-server.ts";
import { listConsolePages, openConsoleStage } from "./console-server.ts";

const folder = process.argv[2] ?? "screenshots";
mkdirSync(folder, { recursive: true });
const server = await startTestServer();
process.env[TEST_SERVER_VARIABLE] = JSON.stringify(server.address);
const stage = await openConsoleStage();
try {
  for (const colorScheme of ["light", "dark"] as const) {
    const context = await stage.as("owner", { colorScheme, viewport: { width: 1360, height: 850 } });
    const page = await context.newPage();
    const pages = await listConsolePages(page);
    for (const [name, path] of pages) {
      await page.goto(path);
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true });
    }
    const narrow = await stage.as("viewer", { colorScheme, viewport: { width: 360, height: 740 } });
    const phone = await narrow.newPage();
    for (const [name, path] of pages.filter(([name]) =>
      ["overview", "actions", "invoices", "invoice", "requests", "decline-codes"].includes(name),
    )) {
      await phone.goto(path);
      await phone.screenshot({ path: join(folder, `${name}-360-${colorScheme}.png`), fullPage: true });
    }
    const stranger = await stage.browser.newContext({ ignoreHTTPSErrors: true, baseURL: stage.origin, colorScheme });
    const outside = await stranger.newPage();
    for (const [name, path] of [
      ["sign-in", "/sign-in"],
      ["over", "/join?t=x"],
    ] as const) {
      await outside.goto(path);
      await outside.screenshot({ path: join(folder, `${name}-${colorScheme}.png`), fullPage: true });
    }
    for (const each of [context, narrow, stranger]) await each.close();
  }
  console.log(`the screenshots are in ${folder}`);
} finally {
  await stage.close();
  await server.stop();
}
