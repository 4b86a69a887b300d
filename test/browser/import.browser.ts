// The page that imports files, with and without scripts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext } from "playwright-core";
import { type ConsoleStage, openConsoleStage } from "./console-server.ts";

let stage: ConsoleStage;
before(async () => {
  stage = await openConsoleStage({ isEmpty: true });
});
after(() => stage?.close());

const HEADER = "number,state,customerId,total,currency,createdAt\n";
const row = (id: string, total = "4900") => `${id},INVOICE_STATE_PAID,cus_1,${total},EUR,2026-01-01T00:00:00Z\n`;
const csv = (content: string) => ({ name: "invoices.csv", mimeType: "text/csv", buffer: Buffer.from(content) });

async function fillIn(context: BrowserContext, content: string) {
  const page = await context.newPage();
  await page.goto("/import");
  await page.getByLabel("Kind of record").selectOption("invoices");
  await page.getByLabel("Column names").fill("id=number,amount=total");
  await page.getByLabel("File", { exact: true }).setInputFiles(csv(content));
  return page;
}

test("a checked file is imported without being chosen again, and keys and buttons keep working", async () => {
  const context = await stage.as("developer");
  const page = await fillIn(context, HEADER + row("in_1") + row("in_2"));
  const said: string[] = [];
  page.on("console", (message) => void said.push(message.text()));
  page.on("pageerror", (error) => void said.push(String(error)));
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("2 rows, all valid.").waitFor();
  assert.equal(await page.evaluate("document.activeElement.id"), "main");
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByText("Stored 2 rows.").waitFor();
  assert.match(await page.getByRole("region", { name: "Imports" }).innerText(), /invoices\.csv/);
  await page.keyboard.press("?");
  await page.locator("dialog[open]").waitFor();
  assert.deepEqual(said, []);
  await context.close();
});

test("a too large file is refused before it is sent", async () => {
  const context = await stage.as("developer");
  const page = await fillIn(context, HEADER);
  await page.evaluate("document.querySelector('[data-upload]').dataset.upload = 10");
  await page.getByLabel("File", { exact: true }).setInputFiles(csv(HEADER));
  await page.getByRole("button", { name: "Check", exact: true }).click();
  const says = await page.evaluate("document.querySelector('#file').validationMessage");
  assert.match(String(says), /too large to upload/);
  assert.equal(await page.locator(".notice").count(), 0);
  await context.close();
});

test("the same form checks, returns the wrong rows as a file, and imports when scripts are off", async () => {
  const context = await stage.as("owner", { javaScriptEnabled: false });
  const page = await fillIn(context, HEADER + row("in_3", "49.00") + row("in_4"));
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Invalid rows as CSV" }).click();
  assert.equal((await download).suggestedFilename(), "wrong-rows.csv");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  assert.match(
    await page.getByRole("region", { name: "Invalid rows" }).innerText(),
    /2\s+total\s+must be a whole number of minor units/,
  );
  assert.equal(await page.getByLabel("Column names").inputValue(), "id=number,amount=total");
  await page.getByLabel("File", { exact: true }).setInputFiles(csv(HEADER + row("in_3") + row("in_4")));
  await page.getByRole("button", { name: "Import", exact: true }).click();
  await page.getByText("Stored 2 rows.").waitFor();
  await context.close();
});
