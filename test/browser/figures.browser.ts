// Compares the figures on pages, in the browser, with the stored data.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { formatMajorUnits } from "../../src/domain/currency.ts";
import { sumInvoices } from "../../src/tables/invoice-list.ts";
import { type ConsoleStage, listConsolePages, openConsoleStage } from "./console-server.ts";
import { FORMULA_TEXT } from "./fill-console.ts";
import { parseCsvRows } from "./parse-csv-rows.ts";

let stage: ConsoleStage;
let context: BrowserContext;
let page: Page;
let backtest: string;
let invoice: string;
before(async () => {
  stage = await openConsoleStage();
  context = await stage.as("owner");
  page = await context.newPage();
  const named = new Map(await listConsolePages(page));
  [backtest, invoice] = [named.get("backtest")!, named.get("invoice")!];
});
after(() => stage?.close());

/** Downloads a file as this person's browser does. */
async function file(path: string, by = context) {
  const reply = await by.request.get(path);
  assert.equal(reply.status(), 200, path);
  return { text: await reply.text(), headers: reply.headers() };
}

/** Returns the rows of such a file. */
const rows = async (path: string, by = context) => parseCsvRows((await file(path, by)).text);

test("7. every list shows a message, not an empty page, when its address has an unknown value", async () => {
  for (const path of [
    "/overview?period=3",
    "/actions?currency=euro",
    "/invoices?outcome=none",
    "/deliveries?state=lost",
    "/experiments?x=1",
    "/org/audit?noun=x",
    "/backtest?x=1",
    "/import?x=1",
  ]) {
    const reply = await page.goto(path);
    assert.equal(reply?.status(), 400, path);
    assert.match(await page.locator(".notice").innerText(), /must be|has no parameter|The address/, path);
  }
});

test("8. every currency has its own decimals, on pages and in files", async () => {
  await page.goto("/invoices");
  const shown = await page.locator("main").innerText();
  for (const amount of [/JPY\s1,234\b(?!\.)/, /KWD\s1\.234/, /HUF\s1,234\.56/, /CLF\s1\.2345/, /USD\s[\d,]+\.\d\d\b/])
    assert.match(shown, amount);
  const digits = { JPY: 0, KWD: 3, HUF: 2, CLF: 4, USD: 2, EUR: 2 };
  for (const { currency = "", amount, amount_minor } of await rows("/invoices.csv")) {
    const decimals = digits[currency as keyof typeof digits];
    assert.equal(amount!.split(".")[1]?.length ?? 0, decimals, currency);
    assert.equal(amount!.replace(".", "").replace(/^0+(?=\d)/, ""), amount_minor);
  }
});

test("9. an amount beyond floating-point precision is exact on the page and in the file", async () => {
  const HUGE = "9007199254740993";
  const set = {
    name: "test_huge",
    text: "update cases set amount = $2 where merchant_id = $1 and invoice_id = 'in_1007'",
  };
  const huge = async (amount: string) => stage.database.db.run(set, [stage.merchant.id, amount]);
  const before = (await rows("/invoices.csv?invoiceId=in_1007"))[0]!.amount_minor!;
  // The API accepts amounts up to 2^53 - 1; sums can exceed it.
  await huge("9007199254740991");
  const [row] = await rows("/invoices.csv?invoiceId=in_1007");
  assert.equal(row!.amount_minor, "9007199254740991");
  const sums = await sumInvoices(stage.database.db, stage.merchant.id, { currency: row!.currency });
  const total = sums.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  assert.ok(total > BigInt(HUGE) - 10n);
  await page.goto(`/invoices?currency=${row!.currency}`);
  const lead = (await page.locator(".list-sum").innerText()).replace(/[^\d]/g, "");
  assert.ok(lead.includes(String(total)), `${lead} ${total}`);
  await huge(before);
});

test("10. amounts of different currencies are listed side by side, and never added", async () => {
  await page.goto("/overview?period=12w");
  const byCurrency = await page.locator("[aria-label='By currency'] tbody tr td:first-child").allInnerTexts();
  assert.equal(new Set(byCurrency).size, byCurrency.length);
  await page.goto("/invoices?outcome=recovered");
  const lead = await page.locator(".list-sum").innerText();
  const sums = [...lead.matchAll(/([A-Z]{3})\s[\d,.]*\d/g)].map(([, currency]) => currency!);
  assert.ok(sums.length >= 4, lead);
  assert.equal(new Set(sums).size, sums.length, "each currency once");
});

test("11. another time zone changes tables, weeks and files, even on days of clock changes, and a tooltip shows UTC", async () => {
  const own = await stage.as("admin");
  const at = await own.newPage();
  const shown = async (zone: string) => {
    await at.goto("/account");
    await at.getByLabel("Time zone").selectOption(zone);
    await at.getByRole("button", { name: "Save" }).first().click();
    await at.goto("/invoices?invoiceId=in_1002");
    const time = at.locator("tbody time").first();
    const [file] = await rows("/invoices.csv?invoiceId=in_1002", own);
    return {
      text: await time.innerText(),
      title: await time.getAttribute("title"),
      file: file!.opened_at!,
      utc: file!.opened_at_utc!,
    };
  };
  const berlin = await shown("Europe/Berlin");
  const tokyo = await shown("Asia/Tokyo");
  assert.notEqual(berlin.text, tokyo.text);
  assert.equal(berlin.title, tokyo.title);
  assert.match(berlin.title!, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.equal(berlin.utc, tokyo.utc);
  assert.match(berlin.file, /\+0[12]:00$/);
  assert.match(tokyo.file, /\+09:00$/);
  assert.equal(new Date(berlin.file).getTime(), new Date(tokyo.file).getTime());
  // Clocks went back on October 25: the times one hour before and after it have different offsets, and are still one hour apart.
  const files = await (async () => {
    await shown("Europe/Berlin");
    return rows("/invoices.csv", own);
  })();
  assert.deepEqual(new Set(files.map(({ opened_at }) => opened_at!.slice(-6))), new Set(["+02:00", "+01:00"]));
  for (const { opened_at, opened_at_utc } of files) assert.equal(new Date(opened_at!).toISOString(), opened_at_utc);
  await own.close();
});

test("12. a file is UTF-8 for spreadsheets, with times in UTC, amounts in both units, and no active formula", async () => {
  const { text, headers } = await file("/invoices.csv");
  assert.match(headers["content-type"]!, /^text\/csv; charset=utf-8/);
  assert.ok(text.startsWith("\ufeffinvoice_id,"));
  assert.ok(text.split("\r\n").length > 10 && !/[^\r]\n/.test(text));
  const all = await rows("/invoices.csv");
  const formula = all.find(({ invoice_id }) => invoice_id === `'${FORMULA_TEXT}`);
  assert.ok(formula, "an apostrophe makes it text");
  assert.ok(all.every(({ invoice_id }) => !/^[=+\-@]/.test(invoice_id!)));
  for (const column of ["opened_at_utc", "ended_at_utc", "amount_minor", "amount"])
    assert.ok(column in formula, column);
});

test("20. a key that expires within seven days is highlighted, on the list and by its state", async () => {
  await page.goto("/org/api_keys");
  assert.match(await page.locator("main").innerText(), /expires \d+ Nov 2026 \d\d:\d\d\. Rotate it before/);
  const row = page.locator("tbody tr", { hasText: "finance report" });
  assert.equal(await row.locator(".tag.warn").innerText(), "active until");
  assert.equal(await page.locator("tbody tr", { hasText: "billing system" }).locator(".tag.warn").count(), 0);
});

test("25. every listed retry states its reason in words, without internal names", async () => {
  for (const { reasons = "" } of await rows("/actions.csv")) {
    assert.ok(reasons.length > 20, reasons);
    assert.doesNotMatch(reasons, /\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w*\b|\bNaN\b|undefined|null/, reasons);
  }
});

test("26. every number of the overview links to as many rows", async () => {
  await page.goto("/overview?period=12w");
  const links = await page
    .locator("main a[href^='/invoices?outcome=']")
    .evaluateAll((all) =>
      all.map(
        (each) => [each.getAttribute("href"), each.getAttribute("title") ?? each.textContent] as [string, string],
      ),
    );
  assert.ok(links.length > 6);
  for (const [href, words] of links) {
    const cases = await rows(href.replace("/invoices?", "/invoices.csv?"));
    const [, currency, amount] = /([A-Z]{3})\s([\d.,]*\d)/.exec(words) ?? [];
    if (currency === undefined) assert.equal(cases.length, Number(words.replaceAll(",", "")), href);
    else {
      const sum = cases
        .filter((row) => row.currency === currency)
        .reduce((total, row) => total + BigInt(row.amount_minor!), 0n);
      assert.equal(formatMajorUnits(sum, currency), amount!.replaceAll(",", ""), href);
    }
  }
});

test("27. every uplift shows its interval, and is green only when the whole interval is above zero", async () => {
  await page.goto("/experiments");
  const experiment = (await page.getByRole("link", { name: "Dunlin or the old schedule" }).getAttribute("href"))!;
  for (const path of ["/overview", "/experiments", experiment]) {
    await page.goto(path);
    const effects = await page
      .locator(".effect, .figure.mid:has(.range)")
      .evaluateAll((all) =>
        all.map((each) => [each.className, (each.parentElement ?? each).textContent ?? ""] as [string, string]),
      );
    assert.ok(effects.length > 0, path);
    for (const [kind, words] of effects) {
      const numbers = (words.match(/[+−](?:[A-Z]{3}\s)?[\d,.]+/g) ?? []).map((text) => (text.startsWith("−") ? -1 : 1));
      assert.ok(numbers.length >= 3, `${path}: ${words} has no range`);
      assert.equal(/\bgood\b/.test(kind), !/\bvoid\b/.test(kind) && numbers[1]! > 0 && numbers[2]! > 0, words);
    }
  }
});

test("28. no page claims an uplift when there is no holdout", async () => {
  const empty = await openConsoleStage({ isEmpty: true });
  try {
    const owner = await empty.as("owner");
    const at = await owner.newPage();
    for (const path of ["/overview", "/experiments", "/backtest"]) {
      await at.goto(path);
      assert.equal(await at.locator(".effect").count(), 0, path);
      assert.doesNotMatch(await at.locator("main").innerText(), /uplift|extra revenue|Dunlin added/i, path);
    }
    await test("37. every page names the next step when there is no data", async () => {
      for (const path of [
        "/overview",
        "/actions",
        "/invoices",
        "/experiments",
        "/deliveries",
        "/import",
        "/backtest",
        "/settings/webhook",
        "/org/api_keys",
        "/org/members",
      ]) {
        await at.goto(path);
        const next = await at
          .locator("main")
          .getByRole("link")
          .or(at.locator("main form, main .empty, main pre"))
          .count();
        assert.ok(next > 0, `${path} tells no next step`);
      }
    });
  } finally {
    await empty.close();
  }
});

test("39. a page reports the request's id without error details while the database is down, and the next click works afterwards", async () => {
  await page.goto("/overview");
  stage.loseDatabase(true);
  await page.getByRole("link", { name: "Invoices", exact: true }).click();
  const said = await page.locator("main").innerText();
  stage.loseDatabase(false);
  assert.match(said, /Database unavailable[\s\S]*Request req_[0-9a-f-]{36}/);
  assert.doesNotMatch(said, /ECONNREFUSED|10\.0\.0\.5|at .*\.ts/);
  await page.reload();
  assert.match(await page.locator("h1").innerText(), /Invoices/);
});

test("29. weeks with immature invoices are marked with their number", async () => {
  await page.goto("/experiments");
  await page.getByRole("link", { name: "Dunlin or the old schedule" }).click();
  await page.getByText("Week by week").click();
  const marks = await page.locator("[aria-label='Weeks'] tbody tr td:last-child").allInnerTexts();
  assert.match(marks[0]!, /^incomplete: \d+ too young$/);
  assert.match(marks.at(-1)!, /^all counted$/);
});

test("30. a sample ratio mismatch shows a red banner with an explanation, and strikes out the numbers below", async () => {
  await page.goto("/experiments");
  await page.getByRole("link", { name: "Old split" }).click();
  const banner = page.locator(".notice.bad[role=alert]");
  assert.match(
    await banner.innerText(),
    /The split is wrong\. Dunlin's arm should have 50\.0% of the customers[\s\S]*Usual causes/,
  );
  const color = await page.evaluate<string>("getComputedStyle(document.querySelector('.notice.bad')).color");
  const [red, green, blue] = color.match(/\d+/g)!.map(Number);
  assert.ok(red! > green! + 60 && red! > blue! + 60);
  const decorations = await page.evaluate<string[]>(
    "[...document.querySelectorAll('.effect')].map((each) => getComputedStyle(each).textDecorationLine)",
  );
  assert.ok(decorations.length > 0 && decorations.every((line) => line === "line-through"));
});

test("36. the overview and a backtest print without navigation, buttons and forms", async () => {
  await page.emulateMedia({ media: "print" });
  for (const path of ["/overview?period=12w", backtest]) {
    await page.goto(path);
    for (const part of [".rail", ".tools", "main form", ".again"])
      assert.equal(await page.locator(part).filter({ visible: true }).count(), 0, `${part} on ${path}`);
    for (const part of ["main table", "main svg"])
      assert.ok((await page.locator(part).filter({ visible: true }).count()) > 0, `${part} on ${path}`);
  }
  await page.emulateMedia({ media: "screen" });
});

test("40. reduced motion is respected, and every chart has a description and a table of its numbers", async () => {
  const calm = await stage.as("owner", { reducedMotion: "reduce" });
  const at = await calm.newPage();
  await at.goto("/experiments");
  const experiment = (await at.getByRole("link", { name: "Dunlin or the old schedule" }).getAttribute("href"))!;
  for (const path of ["/overview?period=12w", experiment, invoice, backtest]) {
    await at.goto(path);
    const moving =
      "[...document.querySelectorAll('*')].filter((each) => getComputedStyle(each).transitionDuration !== '0s').length";
    assert.equal(await at.evaluate(moving), 0, path);
    const charts = at.locator("[role=img], .plot[role=group]");
    assert.ok((await charts.count()) > 0, path);
    for (const chart of await charts.all())
      assert.match((await chart.getAttribute("aria-label")) ?? "", /\w.{15,}\d/, path);
    assert.ok((await at.locator("main table tbody tr").count()) > 2, path);
  }
  await calm.close();
});
