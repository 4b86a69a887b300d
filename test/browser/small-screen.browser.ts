// The console on narrow screens.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ConsoleStage, listConsolePages, openConsoleStage } from "./console-server.ts";
import { findViolations } from "./find-violations.ts";

let stage: ConsoleStage;
let pages: [name: string, path: string][];
before(async () => {
  stage = await openConsoleStage();
  pages = await listConsolePages(await (await stage.as("owner")).newPage());
});
after(() => stage?.close());

test("35. no page is wider than the window at 360 px and at 200%", async () => {
  for (const options of [
    { viewport: { width: 360, height: 740 } },
    { viewport: { width: 680, height: 425 }, deviceScaleFactor: 2 },
  ]) {
    const context = await stage.as("owner", options);
    const at = await context.newPage();
    for (const [name, path] of pages) {
      await at.goto(path);
      const over = await at.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      assert.ok(over <= 0, `${name} is ${over} px too wide at ${options.viewport.width}`);
    }
    await context.close();
  }
});

/** Finds table cells that are partly out of sight, or that do not name their column. Rows of two lines leave some cells out. */
const CLIPPED_CELLS_SCRIPT = `[...document.querySelectorAll("main tbody td")].filter((cell) => {
  const { left, right, width } = cell.getBoundingClientRect();
  const isList = cell.closest("table").matches(".rows, .small-table");
  // A list shows four of its cells, in two lines.
  if (width === 0) return !isList && cell.textContent !== "";
  if (isList) return left < 0 || right > innerWidth;
  const column = cell.closest("table").querySelectorAll("thead tr > *")[cell.cellIndex].textContent;
  const says = getComputedStyle(cell, "::before").content;
  return left < 0 || right > innerWidth || cell.scrollWidth > cell.clientWidth || (column !== "" && says !== '"' + column + '"');
}).map((cell) => cell.textContent.trim())`;

test("35. every table is fully visible on a phone, each cell under its column's name", async () => {
  const context = await stage.as("owner", { viewport: { width: 390, height: 800 } });
  const at = await context.newPage();
  for (const [name, path] of pages) {
    await at.goto(path);
    await at.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
    assert.deepEqual(await at.evaluate(CLIPPED_CELLS_SCRIPT), [], name);
  }
  await context.close();
});

const PHONE = { width: 390, height: 844 };
const SCREENS_MAX = 3;

test("69. no list is longer than three screens of a phone", async () => {
  const context = await stage.as("owner", { viewport: PHONE });
  const at = await context.newPage();
  for (const path of [
    "/actions",
    "/invoices",
    "/deliveries",
    "/search?q=in_1&in=invoices",
    "/requests",
    "/org/audit",
  ]) {
    await at.goto(path);
    const height = await at.evaluate<number>("document.documentElement.scrollHeight");
    assert.ok(height <= SCREENS_MAX * PHONE.height, `${path} has ${height} px`);
  }
  await context.close();
});

/** Pages whose forms and cards take another shape on a phone. */
const RESHAPED_PAGES =
  /^(overview|actions|invoices|search|invoice|invoice-open|experiments|experiment|deliveries|new-recovery-rule|recovery-rules|recovery-settings|notifications|decline-codes|connection)$/;

for (const colorScheme of ["light", "dark"] as const)
  test(`82. axe finds nothing on a phone, ${colorScheme}`, async () => {
    const context = await stage.as("owner", { colorScheme, bypassCSP: true, viewport: PHONE });
    const at = await context.newPage();
    const shown = pages.filter(([name]) => RESHAPED_PAGES.test(name));
    assert.equal(shown.length, 15);
    assert.deepEqual(await findViolations(at, shown), []);
    await context.close();
  });

test("questions about an invoice open by keyboard and without scripts, with the whole answer visible", async () => {
  const context = await stage.as("viewer", { viewport: { width: 390, height: 800 }, javaScriptEnabled: false });
  const at = await context.newPage();
  for (const [name, path] of pages.filter(([name]) => /^invoice(-open)?$/.test(name))) {
    await at.goto(path);
    await at.emulateMedia({ media: "print" });
    const answers = at.locator(".asked p");
    for (const line of await answers.all()) assert.ok(await line.isVisible(), "on paper all of them are there");
    await at.emulateMedia({ media: "screen" });
    await at.locator(".questions > summary").press("Enter");
    const questions = at.locator(".asked details");
    assert.ok((await questions.count()) >= 5, name);
    for (const question of await questions.all()) {
      const answer = question.locator("p").first();
      if (!(await answer.isVisible())) {
        await question.locator("summary").focus();
        await at.keyboard.press("Enter");
      }
      await answer.waitFor();
    }
    for (const line of await answers.all()) {
      const { x, width } = (await line.boundingBox())!;
      assert.ok(x >= 0 && x + width <= 390, `${name}: ${await line.textContent()}`);
    }
  }
  await context.close();
});
