// The console on narrow screens.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ConsoleStage, listConsolePages, openConsoleStage } from "./console-server.ts";

let stage: ConsoleStage;
let pages: [name: string, path: string][];
before(async () => {
  stage = await openConsoleStage();
  pages = await listConsolePages(await (await stage.as("owner")).newPage());
});
after(() => stage?.close());

test("no page is wider than the window at 360 px and at 200%", async () => {
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

/** Finds table cells that are partly out of sight, or that do not name their column. */
const CLIPPED_CELLS_SCRIPT = `[...document.querySelectorAll("main tbody td")].filter((cell) => {
  const { left, right, width } = cell.getBoundingClientRect();
  if (width === 0) return cell.textContent !== "";
  const column = cell.closest("table").querySelectorAll("thead tr > *")[cell.cellIndex].textContent;
  const says = getComputedStyle(cell, "::before").content;
  return left < 0 || right > innerWidth || cell.scrollWidth > cell.clientWidth || (column !== "" && says !== '"' + column + '"');
}).map((cell) => cell.textContent.trim())`;

test("every table is fully visible on a phone, each cell under its column's name", async () => {
  const context = await stage.as("owner", { viewport: { width: 390, height: 800 } });
  const at = await context.newPage();
  for (const [name, path] of pages) {
    await at.goto(path);
    await at.evaluate("for (const each of document.querySelectorAll('details')) each.open = true");
    assert.deepEqual(await at.evaluate(CLIPPED_CELLS_SCRIPT), [], name);
  }
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
