// The overview over a year of ended cases, and experiments from their plan to their verdicts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { convertSums } from "../../src/analytics/reporting-money.ts";
import { formatPoints, upliftsOf } from "../../src/console/experiments/experiment-effect.ts";
import { formatCount, formatMoney, formatMoneyShort } from "../../src/console/show/number-format.ts";
import { DAY_MS } from "../../src/domain/durations.ts";
import { COUNT_MEASURE } from "../../src/domain/experiment.ts";
import type { InterimAnalysis } from "../../src/experiments/statistics/interim-analysis.ts";
import { insertInterimAnalysis, listInterimAnalyses } from "../../src/tables/experiment-results.ts";
import { listExperiments } from "../../src/tables/experiments.ts";
import type { ConsoleStage } from "./console-server.ts";
import { type EndedCase, openEndedCasesStage } from "./fill-ended-cases.ts";
import { fillExperiments } from "./fill-experiments.ts";
import { parseCsvRows } from "./parse-csv-rows.ts";

let stage: ConsoleStage;
let owner: BrowserContext;
let page: Page;
let cases: EndedCase[];
before(async () => {
  ({ stage, cases, owner, page } = await openEndedCasesStage());
});
after(() => stage?.close());

const nbsp = (text: string) => text.replaceAll("\u00a0", " ");
const textOf = async (selector: string) => nbsp(await page.locator(selector).first().innerText());
const endedIn = (from: Date, to: Date, currency = "EUR", outcome = "recovered") =>
  cases.filter(
    (each) => each.outcome === outcome && each.currency === currency && each.endedAt >= from && each.endedAt < to,
  );
const sumOf = (found: readonly EndedCase[]) => found.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
/** From the link of a figure. */
const spanOf = (href: string) => {
  const { searchParams } = new URL(href, stage.origin);
  return [new Date(searchParams.get("endedFrom")!), new Date(searchParams.get("endedTo")!)] as const;
};
const MONEY_CARD = ".card:has(h2:text-matches('^Recovered money by'))";
const moneyHref = async () => (await page.locator(`${MONEY_CARD} .figure a`).getAttribute("href"))!;

test("43. recovered money over time equals the rows behind it, step by step, beside the period before", async () => {
  for (const [period, count, days] of [
    ["12w", 12, 84],
    ["7d", 7, 7],
  ] as const) {
    await page.goto(`/overview?period=${period}&currency=EUR`);
    await page.locator(`${MONEY_CARD} summary`).click();
    const rows = page.locator(`${MONEY_CARD} tbody tr`);
    assert.equal(await rows.count(), count);
    const bars = page.locator(`${MONEY_CARD} svg.front a`);
    for (const [index, row] of (await rows.all()).entries()) {
      const link = row.getByRole("link");
      const href = (await link.getAttribute("href"))!;
      const [from, to] = spanOf(href);
      const [found, earlier] = [
        endedIn(from, to),
        endedIn(new Date(from.getTime() - days * DAY_MS), new Date(to.getTime() - days * DAY_MS)),
      ];
      const cells = (await row.locator("td").allInnerTexts()).map(nbsp);
      assert.deepEqual(cells, [
        formatCount(found.length),
        nbsp(formatMoney(sumOf(found), "EUR")),
        nbsp(formatMoney(sumOf(earlier), "EUR")),
      ]);
      const bar = bars.nth(index);
      assert.equal(await bar.getAttribute("href"), href);
      assert.ok(nbsp((await bar.locator("title").textContent())!).includes(`${cells[1]}`), "the bar has its number");
      assert.equal(await bar.locator("rect.c-prev").count(), 1);
      const reply = await owner.request.get(href.replace("/invoices?", "/invoices.csv?"));
      const listed = parseCsvRows(await reply.text()).map(({ invoice_id }) => invoice_id);
      assert.deepEqual(listed.sort(), found.map(({ invoiceId }) => invoiceId).sort());
    }
    const [from, to] = spanOf(await moneyHref());
    assert.equal(await textOf(`${MONEY_CARD} .figure`), nbsp(formatMoneyShort(sumOf(endedIn(from, to)), "EUR")));
  }
});

test("44. the recovery rate shows its interval, and a span without old invoices says when one counts", async () => {
  await page.goto("/overview?period=12w&currency=EUR");
  const [from, to] = spanOf(await moneyHref()).map((at) => at.getTime() - 35 * DAY_MS) as [number, number];
  const counted = cases.filter(
    ({ currency, failedAt }) => currency === "EUR" && failedAt.getTime() >= from && failedAt.getTime() < to,
  );
  const recovered = counted.filter(({ outcome }) => outcome === "recovered").length;
  const cell = nbsp(await page.locator(".figures > div", { hasText: "Recovery rate" }).innerText());
  const share = ((100 * recovered) / counted.length).toFixed(1);
  const [, low, high] = /([\d.]+) to ([\d.]+)%, of (?:\d+) invoices/.exec(cell)!;
  assert.ok(cell.includes(`${share}%`) && cell.includes(`of ${counted.length} invoices that failed`), cell);
  assert.ok(Number(low) < Number(share) && Number(share) < Number(high) && Number(low) > 0, cell);
  await page.goto("/overview?from=2024-01-01&to=2024-01-07");
  assert.match(
    nbsp(await page.locator(".figures > div", { hasText: "Recovery rate" }).innerText()),
    /none yet\s+An invoice counts 35 days after it failed\./,
  );
});

test("46. each named period and one by dates work and stay in the address, and a wrong date is named", async () => {
  await page.goto("/overview?currency=EUR");
  for (const [words, name, days] of [
    ["7 d", "7d", 7],
    ["4 w", "4w", 28],
    ["12 w", "12w", 84],
    ["12 m", "12m", 366],
    ["Quarter", "quarter", 92],
  ] as const) {
    await page.getByRole("navigation", { name: "Period" }).getByRole("link", { name: words, exact: true }).click();
    assert.equal(new URL(page.url()).searchParams.get("period"), name);
    await page.reload();
    assert.equal(await page.locator("[aria-label=Period] [aria-current]").innerText(), words);
    const [from, to] = spanOf(await moneyHref());
    const length = (to.getTime() - from.getTime()) / DAY_MS;
    assert.ok(length > 0 && length <= days, `${name} has ${length} days`);
    assert.equal(await textOf(`${MONEY_CARD} .figure`), nbsp(formatMoneyShort(sumOf(endedIn(from, to)), "EUR")));
  }
  await page.locator("summary", { hasText: "Dates" }).click();
  await page.getByLabel("From", { exact: true }).fill("2026-06-03");
  await page.getByLabel("To", { exact: true }).fill("2026-06-20");
  await page.getByRole("button", { name: "Show" }).click();
  const { searchParams } = new URL(page.url());
  assert.deepEqual([...searchParams].sort(), [
    ["currency", "EUR"],
    ["from", "2026-06-03"],
    ["to", "2026-06-20"],
  ]);
  await page.reload();
  assert.match(nbsp(await page.locator(".tools").innerText()), /3 Jun 2026 to 20 Jun 2026/);
  const chosen = endedIn(new Date("2026-06-03"), new Date("2026-06-21"));
  assert.ok(chosen.length > 0);
  assert.equal(await textOf(`${MONEY_CARD} .figure`), nbsp(formatMoneyShort(sumOf(chosen), "EUR")));
  for (const [query, words] of [
    ["from=2026-02-30&to=2026-03-01", /must be a date such as 2027-01-31/],
    ["from=2020-03-02&to=2026-03-01", /A period has at most three years/],
    ["from=June&to=2026-03-01", /must be a date such as 2027-01-31/],
  ] as const) {
    const reply = await page.goto(`/overview?${query}`);
    assert.equal(reply?.status(), 400, query);
    assert.match(await page.locator("main").innerText(), words);
  }
});

test("47. with a reporting currency sums are marked as converted, at the same rates for the period before; without one, currencies stand side by side", async () => {
  const report = async (currency: string, rates: Record<string, string>) => {
    await page.goto("/settings/recovery");
    const form = page.locator("form[action$='/currency']");
    await form.locator("[name=report]").selectOption(currency);
    for (const [each, rate] of Object.entries(rates)) await form.getByLabel(`1 ${each} =`).fill(rate);
    await form.getByRole("button", { name: "Save" }).click();
    assert.match(await page.locator(".notice.good").innerText(), /^Saved\./);
  };
  const rates = { USD: "0.92", JPY: "0.0061" };
  await report("EUR", rates);
  try {
    await page.goto("/overview?period=12w");
    const [from, to] = spanOf(await moneyHref());
    const converted = (since: Date, until: Date) => {
      const sums = (["EUR", "USD", "JPY"] as const).map((currency) => ({
        currency,
        amount: sumOf(endedIn(since, until, currency)),
      }));
      return convertSums(sums, { currency: "EUR", rates: new Map(Object.entries(rates)) })!;
    };
    assert.equal(await textOf(`${MONEY_CARD} .figure`), `≈ ${nbsp(formatMoneyShort(converted(from, to), "EUR"))}`);
    const shifted = (at: Date) => new Date(at.getTime() - 84 * DAY_MS);
    const before = `≈ ${nbsp(formatMoneyShort(converted(shifted(from), shifted(to)), "EUR"))}`;
    const words = await textOf(`${MONEY_CARD} .figure + p`);
    assert.ok(words.includes(`against ${before} from`) && words.endsWith(", both at the same rates"), words);
    for (const value of await page.locator(".figures .value").allInnerTexts())
      assert.match(nbsp(value), /^(≈ EUR |[\d.]+%$)/);
  } finally {
    await report("none", {});
  }
  await page.goto("/overview?period=12w");
  const [from, to] = spanOf(await moneyHref());
  assert.doesNotMatch(await page.locator("main").innerText(), /≈|same rates/);
  const rows = page.locator(".card:has(h2:text-is('By currency')) tbody tr");
  const shown = await Promise.all(
    (await rows.all()).map(async (row) => [
      await row.locator("th").innerText(),
      nbsp(await row.locator("td").first().innerText()),
    ]),
  );
  const expected = (["EUR", "JPY", "USD"] as const).map((currency) => {
    const found = endedIn(from, to, currency);
    return [currency, `${nbsp(formatMoney(sumOf(found), currency))} ${found.length}`];
  });
  assert.deepEqual(shown.sort(), expected);
});

test("77. the plan of an experiment shows size and date before a start, follows the margin, and stores nothing", async () => {
  const planned = async () => {
    const size = Number((await textOf(".figure.mid")).replace(/ failed[\s\S]*/, "").replaceAll(",", ""));
    const date = /about (\d+ \w+ \d{4})/.exec(await textOf(".plan-facts"))![1]!;
    return { size, date: new Date(`${date} UTC`) };
  };
  await page.goto("/experiments/new");
  const first = await planned();
  assert.ok(first.size > 100 && first.date > stage.ports.now(), `${first.size} ${first.date}`);
  await page.getByLabel("Smallest difference that matters").fill("1.5");
  await page.getByRole("button", { name: "Check" }).click();
  assert.equal(new URL(page.url()).searchParams.get("margin"), "1.5");
  const finer = await planned();
  const factor = finer.size / first.size;
  assert.ok(factor > 3.5 && factor < 4.5, `half the margin needs ${factor} times as many`);
  assert.ok(finer.date > first.date);
  assert.match(await textOf(".plan-facts"), /1\.5 points or more/);
  assert.deepEqual(await listExperiments(stage.database.db, stage.merchant.id), []);
  await page.goto("/org/audit?noun=experiment");
  assert.doesNotMatch(await page.locator("main").innerText(), /experiment (started|created)/);
});

/** Fills experiments, and gives the running one a further result in which the count is clear and the euros are not. */
async function analyzed() {
  const { db } = stage.database;
  const { id } = stage.merchant;
  if ((await listExperiments(db, id)).length === 0) {
    let state = 5;
    const random = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
    await fillExperiments(db, stage.merchant, stage.ports, random);
    const [running] = await listExperiments(db, id);
    const [latest] = await listInterimAnalyses<InterimAnalysis>(db, id, running!.id, 1);
    const { at, comparisons, ...rest } = latest!;
    const changed = comparisons.map((each) =>
      each.measure === "EUR"
        ? { ...each, difference: 0.02, lower: -0.03, upper: 0.07 }
        : { ...each, difference: 0.08, lower: 0.02, upper: 0.14 },
    );
    const later = new Date(new Date(at).getTime() + 1_000);
    await insertInterimAnalysis(db, id, running!.id, later, { ...rest, comparisons: changed });
  }
  const [experiment] = await listExperiments(db, id);
  const [analysis] = await listInterimAnalyses<InterimAnalysis>(db, id, experiment!.id, 1);
  return { experiment: experiment!, analysis: analysis! };
}

test("45. the money that Dunlin added has its headline and its color by its own interval", async () => {
  const { analysis } = await analyzed();
  await page.goto("/overview?period=12w");
  const figures = page.locator(".added .figure.mid");
  const uplifts = upliftsOf(analysis);
  assert.deepEqual(new Set(uplifts.map(({ side }) => side)), new Set(["", "good"]), "both colors are needed");
  assert.equal(await figures.count(), uplifts.length);
  for (const [index, { amount, low, high, side }] of uplifts.entries()) {
    const figure = figures.nth(index);
    assert.equal(nbsp(await figure.innerText()), nbsp(`${amount} between ${low} and ${high}`));
    const classes = (await figure.getAttribute("class"))!.split(" ");
    assert.equal(classes.includes("good"), side === "good");
    const words = nbsp(await page.locator(".added-words").nth(index).innerText());
    assert.match(words, side === "good" ? /^Recovers more/ : /^Not clear yet/);
  }
});

test("78. counts and money have verdicts and intervals of their own", async () => {
  const { experiment, analysis } = await analyzed();
  await page.goto(`/experiments/${experiment.id}`);
  for (const { measure, difference, lower, upper } of analysis.comparisons) {
    const title = measure === COUNT_MEASURE ? "By count" : `By money in ${measure}`;
    const card = page.locator(".card", { has: page.locator("h2", { hasText: title }) });
    const text = nbsp(await card.innerText());
    assert.match(text, measure === "EUR" ? /Cannot tell yet/ : /Recovers more/, title);
    assert.ok(text.includes(`(${formatPoints(lower)} to ${formatPoints(upper)})`), text);
    assert.ok(text.includes(`Dunlin recovered ${formatPoints(difference!).slice(1)} more`), text);
    const classes = (await card.locator(".figure.mid").getAttribute("class"))!.split(" ");
    assert.equal(classes.includes("good"), measure !== "EUR", title);
  }
  assert.match(await page.locator("main").innerText(), /Why they differ:/);
});
