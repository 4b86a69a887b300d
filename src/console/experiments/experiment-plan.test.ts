import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DAY_MS } from "../../domain/durations.ts";
import type { Invoice } from "../../domain/invoice.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { planInvoiceCount } from "../../experiments/statistics/sample-size.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  return { merchant, browser: await at.browser(await at.person("owner", merchant)) };
}

async function push(merchant: Merchant, invoices: readonly Invoice[]) {
  for (let from = 0; from < invoices.length; from += 200)
    await ingestInvoices(at.db, merchant, [[...invoices.slice(from, from + 200)]], at.ports, () => {});
}

function failing(name: string, count: number, currency = "EUR"): Invoice[] {
  const now = at.ports.now();
  return Array.from({ length: count }, (_, n) => ({
    id: `${name}_${n}`,
    state: "UNPAID",
    customerId: `${name}_${n}`,
    amount: 1000,
    currency,
    createdAt: now,
    updatedAt: now,
  }));
}

/** 500 old failures of as many customers, of which 30% were paid; then 10 failures a day for 28 days. */
async function fillHistory(merchant: Merchant) {
  const old = [...failing("old", 400), ...failing("yen", 100, "JPY")];
  await push(merchant, old);
  at.clock.serviceMs += DAY_MS;
  const updatedAt = at.ports.now();
  await push(
    merchant,
    old.filter((_, n) => n % 10 < 3).map((each) => ({ ...each, state: "PAID", updatedAt })),
  );
  at.clock.serviceMs += 39 * DAY_MS;
  for (let day = 0; day < 28; day++) {
    await push(merchant, failing(`day${day}`, 10));
    at.clock.serviceMs += DAY_MS;
  }
}

const neededOf = (page: string) => Number(/class="figure mid">([\d,]+) </.exec(page)![1]!.replaceAll(",", ""));
const dateOf = (page: string) => Date.parse(`${/<b>about ([^<]+)<\/b>/.exec(page)![1]} UTC`);

test("the start page plans the size and the date by the merchant's own history, and Check plans again", async () => {
  const { merchant, browser } = await shop();
  await fillHistory(merchant);
  const count = { customers: 500, due: 500, got: 150, dueDue: 500, dueGot: 150, gotGot: 150 };
  const checkPage = async (query: string, share: number, margin: number, maturityDays: number, delayDays = 0) => {
    const { body } = await browser.get(`/experiments/new${query}`);
    const needed = planInvoiceCount(count, 500, { share, margin })!;
    assert.equal(neededOf(body), needed, query);
    const days = delayDays + needed / 10 + maturityDays;
    assert.ok(Math.abs(dateOf(body) - (at.clock.serviceMs + days * DAY_MS)) < 1.1 * DAY_MS, query);
    return body;
  };
  const page = await checkPage("", 0.5, 0.03, 35);
  assert.match(page, /10 failed invoices a day/);
  assert.match(page, /From 500 invoices that failed at least 35 days ago, of 500 customers[\s\S]*30\.0% was recovered/);
  assert.match(page, /<button formmethod="get" formaction="\/experiments\/new" formnovalidate>Check</);
  const form = "?name=&share=90&calibrationDays=14&primary=count&currency=&margin=2.5&maturityDays=30";
  const checked = await checkPage(form, 0.9, 0.025, 30, 14);
  assert.match(checked, /name="share" type="number" value="90"/);
  assert.match(checked, /Can tell<\/dt><dd>2\.5 points or more/);

  const byMoney = (await browser.get("/experiments/new?primary=money&currency=EUR")).body;
  const euros = { ...count, customers: 400, due: 400, got: 120, dueDue: 400, dueGot: 120, gotGot: 120 };
  assert.equal(
    neededOf(byMoney),
    planInvoiceCount(euros, 500, { share: 0.5, margin: 0.03 }),
    "yen invoices come along",
  );
  const yen = (await browser.get("/experiments/new?primary=money&currency=USD")).body;
  assert.match(yen, /The number of invoices cannot be planned/);
  const wrong = await browser.get("/experiments/new?margin=90");
  assert.equal(wrong.statusCode, 400);
  assert.match(wrong.body, /must be from 0\.1 to 50 points[\s\S]*value="90"/);

  const other = await shop();
  assert.match((await other.browser.get("/experiments/new")).body, /Your history has too few customers/);
});

test("an experiment without results shows the plan that it was started with", async () => {
  const { merchant, browser } = await shop();
  await fillHistory(merchant);
  const plan = { name: "Holdout", share: "50", calibrationDays: "0", primary: "count", currency: "", margin: "3" };
  const planned = neededOf((await browser.get("/experiments/new")).body);
  const path = String((await browser.post("/experiments", { ...plan, maturityDays: "" })).headers.location);
  const page = (await browser.get(path.split("?")[0]!)).body;
  assert.match(page, new RegExp(`Invoices that are counted: 0 of ${planned.toLocaleString("en")} counted`));
  assert.match(page, /Enough by<\/dt><dd>about \d+ \w+ \d{4}/);
  assert.match(page, /Not known yet/);
});
