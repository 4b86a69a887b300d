// Analytics over a year of ended cases: page, file, API and command.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { BREAKDOWN_DIMENSIONS } from "../../src/analytics/dimension-labels.ts";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { analytics } from "../../src/cli/analytics.ts";
import { createTestContext } from "../../src/cli/context.fixture.ts";
import { formatCount, formatMoneyShort, formatShare, formatShareRange } from "../../src/console/show/number-format.ts";
import type { ConsoleStage } from "./console-server.ts";
import { type EndedCase, openEndedCasesStage } from "./fill-ended-cases.ts";
import { findViolations } from "./find-violations.ts";
import { parseCsvRows } from "./parse-csv-rows.ts";

let stage: ConsoleStage;
let owner: BrowserContext;
let page: Page;
let cases: EndedCase[];
before(async () => {
  ({ stage, cases, owner, page } = await openEndedCasesStage());
});
after(() => stage?.close());

const FROM = "2026-02-01";
const TO = "2026-08-31";
const SPAN = `from=${FROM}&to=${TO}`;
const nbsp = (text: string) => text.replaceAll("\u00a0", " ");
const inSpan = ({ failedAt }: EndedCase) => failedAt >= new Date(FROM) && failedAt < new Date("2026-09-01");
const table = () => page.locator("table.sticky");
const cellsOf = async (row: string) =>
  Promise.all(
    (await table().locator(row).all()).map(async (each) =>
      (await each.locator("th, td").allInnerTexts()).map((text) => nbsp(text).trim()),
    ),
  );
async function csvRows(query: string) {
  const reply = await owner.request.get(`/analytics.csv?${query}`);
  assert.equal(reply.status(), 200, query);
  return parseCsvRows(await reply.text());
}
const isOfRetries = (by: string) => by === "attempt" || by === "hour";
/** As the page shows a row of the file. */
const rateWords = (row: Record<string, string>) =>
  `${formatShare(Number(row.recovered), Number(row.invoices_or_retries))} ${formatShareRange({ low: Number(row.rate_low), high: Number(row.rate_high) })}`;
const minor = (text: string) => BigInt(text.replace(".", ""));

test("49. each of the ten splits shows failed, recovered, rate with interval and count, and adds up to the same total", async () => {
  const euros = cases.filter((each) => inSpan(each) && each.currency === "EUR");
  const recovered = euros.filter(({ outcome }) => outcome === "recovered");
  const sumOf = (found: EndedCase[]) => found.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  assert.equal(BREAKDOWN_DIMENSIONS.length, 10);
  await page.goto(`/analytics?${SPAN}&currency=EUR`);
  const tabs = await page
    .locator("[aria-label='Split by'] a")
    .evaluateAll((all) => all.map((each) => (each as unknown as { href: string }).href));
  assert.equal(tabs.length, 10);
  for (const [index, by] of BREAKDOWN_DIMENSIONS.entries()) {
    await page.goto(tabs[index]!);
    assert.equal(new URL(page.url()).searchParams.get("by"), by);
    const file = await csvRows(`by=${by}&${SPAN}&currency=EUR`);
    assert.ok(file.length > 1, by);
    const sum = (name: string) => file.reduce((total, row) => total + minor(row[name]!), 0n);
    if (isOfRetries(by)) {
      const tries = cases.filter(inSpan).flatMap(({ tries }) => tries);
      assert.equal(sum("invoices_or_retries"), BigInt(tries.length), by);
      assert.equal(sum("recovered"), BigInt(tries.filter(({ isPaid }) => isPaid).length), by);
    } else {
      assert.equal(sum("invoices_or_retries"), BigInt(euros.length), by);
      assert.equal(sum("recovered"), BigInt(recovered.length), by);
      assert.equal(sum("failed_amount"), sumOf(euros), by);
      assert.equal(sum("recovered_amount"), sumOf(recovered), by);
    }
    if (by === "hour") continue;
    const rows = await cellsOf("tbody tr");
    assert.equal(rows.length, file.length, by);
    for (const cells of rows)
      assert.ok(
        cells.some((cell) => /^[\d.]+% [\d.]+ to [\d.]+%$/.test(cell)),
        `${by}: ${cells}`,
      );
    const [foot] = await cellsOf("tfoot tr");
    if (isOfRetries(by)) continue;
    assert.deepEqual(
      [foot![1], foot![3], foot!.at(-1)],
      [
        nbsp(formatMoneyShort(sumOf(euros), "EUR")),
        nbsp(formatMoneyShort(sumOf(recovered), "EUR")),
        formatCount(euros.length),
      ],
      by,
    );
  }
});

test("50. a click on a value filters, the address keeps it through a reload, and its chip removes it", async () => {
  await page.goto(`/analytics?by=country&${SPAN}&currency=EUR`);
  const germans = cases.filter((each) => inSpan(each) && each.currency === "EUR" && each.country === "DE");
  await table().getByRole("link", { name: "Germany" }).click();
  assert.equal(new URL(page.url()).searchParams.get("country"), "DE");
  const shown = async () => (await cellsOf("tfoot tr"))[0]!;
  const filtered = await shown();
  assert.equal(filtered.at(-1), formatCount(germans.length));
  await page.reload();
  assert.deepEqual(await shown(), filtered);
  await table().getByRole("link", { name: "Insufficient funds" }).click();
  const both = germans.filter(({ reason }) => reason === "FUNDS");
  assert.equal((await shown()).at(-1), formatCount(both.length), "filters add up");
  await page.getByRole("link", { name: "Remove the filter Card country: Germany" }).click();
  assert.equal(new URL(page.url()).searchParams.has("country"), false);
  await page.getByRole("link", { name: "Remove the filter Decline reason: Insufficient funds" }).click();
  assert.equal(
    (await shown()).at(-1),
    formatCount(cases.filter((each) => inSpan(each) && each.currency === "EUR").length),
  );
  await page.goto(`/analytics?by=country&${SPAN}&currency=EUR`);
  await table().getByRole("link", { name: "Unknown" }).click();
  const unknown = cases.filter((each) => inSpan(each) && each.currency === "EUR" && each.country === null);
  assert.equal((await shown()).at(-1), formatCount(unknown.length));
});

test("51. each head sorts, says so, and the address keeps it", async () => {
  await page.goto(`/analytics?by=code&${SPAN}&currency=EUR`);
  const heads = await table().locator("thead th a").allInnerTexts();
  assert.deepEqual(heads, ["Decline code", "Failed", "Recovered", "Left", "Rate", "Invoices"]);
  const column = { "Decline code": 0, Failed: 1, Recovered: 3, Left: 4, Rate: 5, Invoices: 7 } as const;
  const valuesOf = async (head: keyof typeof column) =>
    (await cellsOf("tbody tr")).map((cells) => {
      const text = cells[column[head]]!;
      return head === "Decline code"
        ? text.replace("Unknown", "")
        : Number.parseFloat(text.replace(/^[A-Z]{3} |,/g, ""));
    });
  for (const head of heads as (keyof typeof column)[]) {
    const sortedBy = () => table().locator("th[aria-sort]");
    for (let click = 0; click < 2; click++) {
      await table().locator("thead a", { hasText: head }).click();
      assert.equal(await sortedBy().count(), 1);
      assert.equal(await sortedBy().innerText(), head);
      const direction = await sortedBy().getAttribute("aria-sort");
      const text = new URL(page.url()).searchParams.get("sort")!;
      assert.equal(direction, text.startsWith("-") ? "descending" : "ascending");
      const values = await valuesOf(head);
      const sign = direction === "descending" ? -1 : 1;
      const sorted = values.toSorted((a, b) => sign * (a < b ? -1 : a > b ? 1 : 0));
      assert.deepEqual(values, sorted, `${head} ${direction}`);
      await page.reload();
      assert.deepEqual(await valuesOf(head), values);
    }
  }
});

test("52. the CSV file has the table's rows, order and numbers", async () => {
  for (const query of [`by=code&${SPAN}&currency=USD&sort=rate`, `by=plan&${SPAN}&currency=JPY&sort=-n&country=DE`]) {
    await page.goto(`/analytics?${query}`);
    const href = (await page.getByRole("link", { name: "CSV" }).getAttribute("href"))!;
    const file = await csvRows(href.split("?")[1]!);
    const currency = file[0]!.currency!;
    const short = (text: string) => nbsp(formatMoneyShort(minor(text), currency));
    const expected = file.map((row) => [
      ...[row.label, short(row.failed_amount!), "", short(row.recovered_amount!), short(row.left_amount!)],
      ...[rateWords(row), "", formatCount(Number(row.invoices_or_retries))],
    ]);
    assert.deepEqual(await cellsOf("tbody tr"), expected);
  }
});

test("53. the page, the API and the command agree", async () => {
  const { db } = stage.database;
  const key = await createApiKey(db, { merchantId: stage.merchant.id, permissions: ["read:analytics"] }, stage.ports);
  const span = { from: `${FROM}T00:00:00.000Z`, to: "2026-09-01T00:00:00.000Z" };
  for (const by of BREAKDOWN_DIMENSIONS) {
    const query = new URLSearchParams({ by, ...span });
    const reply = await owner.request.get(`/v1/analytics/recovery?${query}`, {
      headers: { authorization: `Bearer ${key.apiKey}` },
    });
    assert.equal(reply.status(), 200, await reply.text());
    const api = await reply.json();
    const { context, lines } = createTestContext(db, {}, stage.ports);
    await analytics.run(context, { by, ...span, json: true }, []);
    assert.deepEqual(JSON.parse(lines.join("\n")), api, by);
    for (const currency of isOfRetries(by) ? ["EUR"] : ["EUR", "USD", "JPY"]) {
      const own = api.rows.filter((row: { currency?: string }) => isOfRetries(by) || row.currency === currency);
      const file = await csvRows(`by=${by}&${SPAN}&currency=${currency}&sort=value`);
      const numbersOf = (row: { value: string; count: number; recovered: number; rate: number; rateLow: number }) => [
        ...[row.value, row.count, row.recovered, row.rate, row.rateLow],
      ];
      const fileNumbers = file.map((row) => [
        ...[row.value, Number(row.invoices_or_retries), Number(row.recovered), Number(row.rate), Number(row.rate_low)],
      ]);
      const order = (a: unknown[], b: unknown[]) => (String(a[0]) < String(b[0]) ? -1 : 1);
      assert.deepEqual(fileNumbers.sort(order), own.map(numbersOf).sort(order), `${by} ${currency}`);
      if (!isOfRetries(by))
        assert.deepEqual(
          file.map((row) => [row.value, minor(row.failed_amount!), minor(row.recovered_amount!)]).sort(order),
          own
            .map((row: Record<string, string>) => [row.value, BigInt(row.failedAmount!), BigInt(row.recoveredAmount!)])
            .sort(order),
        );
    }
  }
});

test("54. the map of weekday and hour has a table of its numbers, and hours with few retries are blank", async () => {
  await page.goto(`/analytics?by=hour&${SPAN}`);
  const counts = Array.from({ length: 168 }, () => ({ n: 0, paid: 0 }));
  for (const { hourOfWeek, isPaid } of cases.filter(inSpan).flatMap(({ tries }) => tries)) {
    counts[hourOfWeek]!.n++;
    if (isPaid) counts[hourOfWeek]!.paid++;
  }
  await page.getByText("Show the numbers").click();
  const rows = await Promise.all(
    (await page.locator(".small-table tbody tr").all()).map((row) => row.locator("th, td").allInnerTexts()),
  );
  const days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
  const expected = counts.flatMap(({ n, paid }, hour) =>
    n === 0
      ? []
      : [
          [
            `${days[Math.floor(hour / 24)]}, ${String(hour % 24).padStart(2, "0")}:00`,
            formatCount(n),
            formatCount(paid),
          ],
        ],
  );
  assert.deepEqual(rows, expected);
  const cells = await page
    .locator(".heat rect")
    .evaluateAll((all) => all.map((each) => [each.getAttribute("class"), each.textContent] as [string, string]));
  assert.equal(cells.length, 168);
  for (const [hour, [shade, words]] of cells.entries()) {
    const { n, paid } = counts[hour]!;
    assert.equal(shade === "h0", n < 20, words);
    assert.ok(words.endsWith(n === 0 ? "no retries" : `${paid} of ${n} paid`), words);
  }
  assert.ok(counts.filter(({ n }) => n >= 20).length >= 3 && counts.some(({ n }) => n >= 5 && n < 20));
});

test("55. the switch of currencies shows the exact sums of one currency, also of one without cents", async () => {
  await page.goto(`/analytics?by=plan&${SPAN}`);
  for (const currency of ["JPY", "USD", "EUR"] as const) {
    await page.locator(".tools summary", { hasText: /^(EUR|USD|JPY)$/ }).click();
    await page.locator(".tools").getByRole("link", { name: currency, exact: true }).click();
    assert.equal(new URL(page.url()).searchParams.get("currency"), currency);
    const own = cases.filter((each) => inSpan(each) && each.currency === currency);
    const sum = own.reduce((total, { amount }) => total + BigInt(amount), 0n);
    const [foot] = await cellsOf("tfoot tr");
    assert.equal(foot![1], nbsp(formatMoneyShort(sum, currency)));
    const main = nbsp(await table().innerText());
    for (const other of ["EUR", "USD", "JPY"]) assert.equal(main.includes(`${other} `), other === currency, other);
    const file = await csvRows(`by=plan&${SPAN}&currency=${currency}`);
    assert.equal(
      file.reduce((total, row) => total + minor(row.failed_amount!), 0n),
      sum,
    );
    const decimals = file.map((row) => row.failed_amount!.split(".")[1]?.length ?? 0);
    assert.deepEqual(new Set(decimals), new Set([currency === "JPY" ? 0 : 2]));
    if (currency === "JPY") assert.match(foot![1]!, /^JPY [\d,]+$/);
  }
});

for (const colorScheme of ["light", "dark"] as const)
  test(`82. axe finds nothing on the overview, analytics and plans with a year of data, ${colorScheme}`, async () => {
    for (const viewport of [
      { width: 1440, height: 900 },
      { width: 390, height: 844 },
    ]) {
      const context = await stage.as("owner", { colorScheme, bypassCSP: true, viewport });
      const violations = await findViolations(await context.newPage(), [
        ["overview", "/overview?period=12m"],
        ["analytics", `/analytics?${SPAN}&country=DE`],
        ["hours", `/analytics?by=hour&${SPAN}`],
        ["plan", "/experiments/new"],
        ["shadow mode", "/settings/recovery/shadow"],
      ]);
      assert.deepEqual(violations, [], `${viewport.width} px`);
      await context.close();
    }
  });

/** Tables that are wider than their card. Those in closed details are not drawn. */
const OVERFLOWS = `[...document.querySelectorAll("main .card table")].filter((table) => table.checkVisibility()
  && table.getBoundingClientRect().right > table.closest(".card").getBoundingClientRect().right + 1).length`;

test("no table is wider than its card, from small laptops to wide screens", async () => {
  for (const width of [1024, 1280, 1366, 1440]) {
    const context = await stage.as("owner", { viewport: { width, height: 800 } });
    const at = await context.newPage();
    for (const path of [`/analytics?${SPAN}&currency=EUR`, `/overview?${SPAN}&currency=EUR`]) {
      await at.goto(path);
      assert.equal(await at.evaluate(OVERFLOWS), 0, `${path} at ${width}`);
      assert.ok(
        (await at.evaluate<number>("document.documentElement.scrollWidth - innerWidth")) <= 0,
        `${path} at ${width}`,
      );
    }
    await context.close();
  }
});
