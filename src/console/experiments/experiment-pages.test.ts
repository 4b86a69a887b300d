import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { DAY_MS } from "../../domain/durations.ts";
import type { Arm } from "../../domain/experiment.ts";
import type { Invoice } from "../../domain/invoice.ts";
import type { Merchant } from "../../domain/merchant.ts";
import type { Role } from "../../domain/role.ts";
import { countMatureInvoices } from "../../experiments/count-mature-invoices.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { prepared } from "../../postgres/database.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { addTallies } from "../../tables/experiment-results.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const SCRIPT = `<script>alert("1")</script>`;
const CUSTOMERS = 600;
const PLAN = {
  name: "Holdout",
  share: "50",
  calibrationDays: "0",
  primary: "count",
  currency: "",
  margin: "3",
  maturityDays: "30",
};

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop(role: Role = "owner", settings: Parameters<typeof createMerchant>[2] = {}) {
  const merchant = await createMerchant(at.db, "Shop", settings, SECRET_KEYS, at.ports);
  return { merchant, browser: await at.browser(await at.person(role, merchant)) };
}
const pathOf = (reply: { headers: { location?: unknown } }) => String(reply.headers.location).split("?")[0]!;

const ARMS = prepared("test_arms", "select invoice_id as id, arm from experiment_invoices where merchant_id = $1");
const LOSE = prepared(
  "test_lose",
  `delete from experiment_invoices where merchant_id = $1 and arm = 'dunlin' and invoice_id ~ '[1-6]$'`,
);
const look = () => countMatureInvoices({ db: at.db, ports: at.ports, log: pino({ level: "silent" }) });

/** In batches of the API's size. */
async function push(merchant: Merchant, invoices: readonly Invoice[]) {
  for (let from = 0; from < invoices.length; from += 200)
    await ingestInvoices(at.db, merchant, [[...invoices.slice(from, from + 200)]], at.ports, () => {});
}

/**
 * Every customer's invoice fails, and a percentage of each arm is paid before it counts. More customers than usual,
 * because some are lost.
 */
async function run(
  merchant: Merchant,
  paidOf: Record<Arm, number>,
  customers = CUSTOMERS,
  amountOf = (_: number) => 5_000,
) {
  const now = at.ports.now();
  const invoices = Array.from({ length: customers }, (_, n): Invoice => {
    return {
      id: `in_${String(n).padStart(4, "0")}`,
      state: "UNPAID",
      customerId: `cus_${n}`,
      amount: amountOf(n),
      currency: "EUR",
      createdAt: now,
      updatedAt: now,
    };
  });
  await push(merchant, invoices);
  const { rows } = await at.db.run<{ id: string; arm: Arm }>(ARMS, [merchant.id]);
  const arms = new Map(rows.map(({ id, arm }) => [id, arm]));
  if (customers > CUSTOMERS) await at.db.run(LOSE, [merchant.id]);
  at.clock.serviceMs += DAY_MS;
  const paid = invoices.filter(({ id }, n) => (n * 37) % 100 < paidOf[arms.get(id)!]);
  const updatedAt = at.ports.now();
  await push(
    merchant,
    paid.map((each) => ({ ...each, state: "PAID", updatedAt })),
  );
  at.clock.serviceMs += 30 * DAY_MS;
  await look();
}

test("the page explains experiments and offers a start when there is none", async () => {
  const { browser } = await shop();
  const page = (await browser.get("/experiments")).body;
  assert.match(
    page,
    /No experiments yet[\s\S]*href="\/experiments\/new"|href="\/experiments\/new"[\s\S]*No experiments yet/,
  );
  assert.match(page, /dunlin experiment start/);
});

test("the page offers no experiment in shadow mode and says when one can start", async () => {
  const { browser } = await shop("owner", { shadow: true });
  const page = (await browser.get("/experiments")).body;
  assert.match(page, /An experiment cannot start while shadow mode is on/);
  assert.doesNotMatch(page, /href="\/experiments\/new"/);
  assert.doesNotMatch((await (await shop()).browser.get("/experiments")).body, /Shadow mode is on/);
});

test("forms start and stop an experiment once, and the audit log has both with the settings", async () => {
  const { merchant, browser } = await shop("admin");
  const started = await browser.post("/experiments", {
    ...PLAN,
    name: SCRIPT,
    share: "90",
    primary: "money",
    currency: "eur",
  });
  assert.equal(started.statusCode, 303);
  const page = (await browser.get(String(started.headers.location))).body;
  assert.match(page, /Started\. Invoices that fail from now on/);
  assert.match(page, /90\.0% of customers/);
  assert.match(page, /recovered money in EUR/);
  assert.ok(!page.includes("<script>alert"), "its name is text");
  assert.equal((await browser.post("/experiments", PLAN)).statusCode, 409, "one at a time");
  assert.match((await browser.get("/experiments/new")).body, /is running\. Only one experiment can run at a time/);
  const path = pathOf(started);
  assert.equal((await browser.post(`${path}/stop`, { reason: "enough" })).statusCode, 303);
  assert.equal((await browser.post(`${path}/stop`, {})).statusCode, 409);
  assert.match((await browser.get(path)).body, /stopped <time/);
  const [stop, start] = await listAuditEntries(at.db, merchant.id, { noun: "experiment" }, 10);
  assert.deepEqual([stop?.operation, stop?.details], ["experiment.stopped", { reason: "enough" }]);
  assert.equal(start?.operation, "experiment.started");
  assert.deepEqual([start?.details.share, start?.details["verdict on"]], ["90%", "recovered EUR"]);
});

test("an invalid plan is refused with a reason and keeps the input", async () => {
  const { browser } = await shop();
  for (const [over, says] of [
    [{ name: " " }, /Give the experiment a name/],
    [{ share: "100" }, /from 1 to 99/],
    [{ share: "1e1" }, /from 1 to 99/],
    [{ calibrationDays: "-1" }, /from 0 to 365/],
    [{ primary: "money", currency: "euro" }, /three letters/],
    [{ currency: "EUR" }, /Choose money, or clear the currency[\s\S]*value="EUR"/],
    [{ margin: "0" }, /from 0\.1 to 50 points/],
    [{ maturityDays: "0" }, /from 1 to 365/],
  ] as const) {
    const reply = await browser.post("/experiments", { ...PLAN, ...over });
    assert.equal(reply.statusCode, 400, JSON.stringify(over));
    assert.match(reply.body, says);
    if (!("name" in over)) assert.match(reply.body, /value="Holdout"/);
  }
  assert.match((await browser.get("/experiments")).body, /No experiments yet/);
});

test("a role without the permission sees results without forms, and a forged form is refused", async () => {
  const { merchant, browser } = await shop("owner");
  const path = pathOf(await browser.post("/experiments", PLAN));
  for (const role of ["developer", "viewer"] as const) {
    const other = await at.browser(await at.person(role, merchant));
    assert.doesNotMatch((await other.get(path)).body, /Stop the experiment/);
    assert.equal((await other.get("/experiments/new")).statusCode, 403);
    assert.equal((await other.post("/experiments", PLAN)).statusCode, 403);
    assert.equal((await other.post(`${path}/stop`, {})).statusCode, 403);
  }
  const stranger = (await shop()).browser;
  assert.equal((await stranger.get(path)).statusCode, 404);
  assert.equal((await stranger.post(`${path}/stop`, {})).statusCode, 409);
  assert.match((await browser.get(path)).body, /running/);
});

test("an effect is shown with its range, and is green only when the whole range is above zero", async () => {
  const { merchant, browser } = await shop();
  const path = pathOf(await browser.post("/experiments", PLAN));
  await run(merchant, { dunlin: 75, merchant: 35 });
  const detail = (await browser.get(path)).body;
  assert.match(detail, /Dunlin recovers more invoices and more money than your own retries\./);
  assert.match(
    detail,
    /By count <span class="soft small">decides<\/span><\/h2>[\s\S]{0,60}<span class="tag good">Recovers more/,
  );
  assert.match(detail, /class="figure mid good">\+\d+ invoices <span class="range">\+\d+ to \+\d+<\/span>/);
  assert.match(detail, /class="figure mid good">\+EUR\u00a0[\d,]+ <span class="range">\+EUR\u00a0[\d,]+ to \+EUR/);
  assert.doesNotMatch(detail, /Why they differ/);
  for (const page of [detail, (await browser.get("/experiments")).body]) {
    assert.match(page, /class="effect good">\+\d+\.\d <small>\+\d+\.\d to \+\d+\.\d<\/small>/);
    assert.match(page, /Dunlin recovers more/);
  }
  const overview = (await browser.get("/overview")).body;
  assert.match(overview, /What Dunlin added[\s\S]*Experiment: <a[^>]+>Holdout/);
  assert.match(
    overview,
    /class="figure mid good">\+EUR\u00a0[\d,.]+ <span class="range">between \+EUR\u00a0[\d,.]+ and \+EUR/,
  );
});

test("money is not a headline when its range includes zero, even if the verdict on the count is clear", async () => {
  const { merchant, browser } = await shop();
  const path = pathOf(await browser.post("/experiments", PLAN));
  // Both arms recover half of the large invoices.
  const isLarge = (n: number) => Math.abs(((n * 37) % 100) - 49.5) > 27;
  await run(merchant, { dunlin: 75, merchant: 35 }, CUSTOMERS, (n) => (isLarge(n) ? 60_000 : 1_000));
  const { body: overview } = await browser.get("/overview");
  assert.match(
    overview,
    /<b>By count, which decides:<\/b> <span class="tag good">Recovers more<\/span> Dunlin recovers more/,
  );
  assert.match(
    overview,
    /class="figure mid ">[+−]EUR\u00a0[\d,.]+ <span class="range">between −EUR\u00a0[\d,.]+ and \+EUR/,
  );
  assert.match(overview, /<span class="tag">Not clear yet/);
  assert.doesNotMatch(overview, /class="(effect|figure mid) good"/);
  const detail = (await browser.get(path)).body;
  assert.match(
    detail,
    /Dunlin recovers more invoices than your own retries; whether Dunlin recovers more money is not clear yet\./,
  );
  const [, count, money] = detail.split("<h2>By ").map((card) => card.split("</section>")[0]!);
  assert.match(money!, /^money in EUR<\/h2>[\s\S]*<span class="tag ?">Cannot tell yet<[\s\S]*class="figure mid ">/);
  assert.doesNotMatch(money!, /class="[^"]*good/);
  assert.match(count!, /^count <[^>]+>decides<[\s\S]*<span class="tag good">Recovers more</);
  const large = Array.from({ length: CUSTOMERS }, (_, n) => isLarge(n)).filter(Boolean).length;
  const part = (100 * 60 * 60_000) / (large * 60_000 + (CUSTOMERS - large) * 1_000);
  assert.match(
    detail,
    new RegExp(`Why they differ:</b> the largest 60 of 600 invoices in EUR hold ${part.toFixed(1)}% of the money, so`),
  );
  assert.match(detail, /You chose to decide by count\./);
});

test("a contradictory range is not shown as a success", async () => {
  const { merchant, browser } = await shop();
  const path = pathOf(await browser.post("/experiments", PLAN));
  await run(merchant, { dunlin: 46, merchant: 45 });
  const page = (await browser.get(path)).body;
  assert.match(page, /Cannot tell yet: Dunlin recovers between/);
  assert.match(page, /class="effect ">/);
  for (const body of [page, (await browser.get("/experiments")).body, (await browser.get("/overview")).body])
    assert.doesNotMatch(body, /class="(effect|range|c-point|lead verdict|figure mid|c-band|c-line) good"/);
});

test("the page makes no claim before invoices count, and says when the first results come", async () => {
  const { merchant, browser } = await shop();
  const path = pathOf(await browser.post("/experiments", PLAN));
  const now = at.ports.now();
  const invoice = {
    id: "in_1",
    state: "UNPAID",
    customerId: "cus_1",
    amount: 100,
    currency: "EUR",
    createdAt: now,
    updatedAt: now,
  } as const;
  await ingestInvoices(at.db, merchant, [[invoice]], at.ports, () => {});
  await look();
  const page = (await browser.get(path)).body;
  assert.equal(page.match(/Too early: an invoice counts 30 days after it failed/g)?.length, 1);
  assert.doesNotMatch(page, /No comparison yet\. It needs/);
  assert.match(page, /Can the arms be compared\?<\/h2>[\s\S]{0,60}<span class="tag">Not known yet</);
  assert.doesNotMatch(page, /class="effect/);
  assert.doesNotMatch((await browser.get("/overview")).body, /class="effect/);
});

test("weeks with invoices that are too young are marked with their number", async () => {
  const { merchant, browser } = await shop();
  const path = pathOf(await browser.post("/experiments", PLAN));
  await run(merchant, { dunlin: 50, merchant: 50 });
  const now = at.ports.now();
  const late = {
    id: "in_late",
    state: "UNPAID",
    customerId: "late",
    amount: 100,
    currency: "EUR",
    createdAt: now,
    updatedAt: now,
  } as const;
  await ingestInvoices(at.db, merchant, [[late]], at.ports, () => {});
  const rows = (await browser.get(path)).body.split("By the week in which invoices failed")[1]!.split("<tr>").slice(2);
  assert.match(rows[0]!, /incomplete: 1 too young/);
  assert.match(rows[1]!, /600<\/td>[\s\S]*all counted/);
  const csv = (await browser.get(`${path}/weeks.csv`)).body.trim().split("\r\n");
  assert.equal(csv[0], "week_from,arm,failed,counted,recovered,too_young");
  assert.match(csv[1]!, /^\d{4}-\d\d-\d\d,(dunlin|merchant),1,0,0,1$/);
  assert.equal(csv.length, 4);
});

test("a wrong split shows a red banner with an explanation instead of results", async () => {
  const { merchant, browser } = await shop();
  const path = pathOf(await browser.post("/experiments", PLAN));
  await run(merchant, { dunlin: 75, merchant: 35 }, 2 * CUSTOMERS);
  const page = (await browser.get(path)).body;
  assert.match(
    page,
    /class="notice bad" role="alert">[\s\S]*The split is wrong\.[\s\S]*Dunlin's arm should have 50\.0% of the customers[\s\S]*Usual causes/,
  );
  assert.match(page, /class="effect void"/);
  assert.match(page, /Can the arms be compared\?<\/h2>[\s\S]{0,60}<span class="tag bad">No</);
  assert.match(
    page,
    /The split is not as planned: \d+ and \d+ customers, \d+\.\d% against 50\.0%\.<\/span><[^>]+>p &lt; 0\.001/,
  );
  const main = page.split("<main")[1]!;
  assert.doesNotMatch(main, /(EUR|€)\u00a0?[\d+−]|class="figure|>Money failed</, "no amount");
  assert.doesNotMatch(page, /class="(effect|range|dot|lead verdict|figure mid) good"/);
  const overview = (await browser.get("/overview")).body;
  assert.match(overview, /class="notice bad"[^>]*>The experiment <a[^>]+>Holdout<\/a> cannot show what Dunlin added/);
  assert.doesNotMatch(overview, /class="effect/);
  const lists = (await browser.get("/experiments.csv")).body.trim().split("\r\n");
  assert.match(lists[1]!, /,true,void$/);
  assert.match((await browser.get(`${path}/looks.csv`)).body, /,invoices,\d+,0,/);
});

test("a wrong split is reported for the calibration and the comparison separately", async () => {
  const { merchant, browser } = await shop();
  const path = pathOf(await browser.post("/experiments", { ...PLAN, calibrationDays: "10" }));
  const cells = [
    ["calibration", "dunlin", 5000],
    ["calibration", "merchant", 5000],
    ["comparison", "dunlin", 200],
    ["comparison", "merchant", 600],
  ] as const;
  const sums = { dueDue: 0, dueGot: 0, gotGot: 0, got: 0 };
  const tallies = cells.map(([phase, arm, customers]) => {
    const cell = { phase, arm, half: 1, measure: "count" } as const;
    return { ...cell, ...sums, customers, due: customers, dueDue: customers };
  });
  await addTallies(at.db, merchant.id, path.split("/").at(-1)!, tallies);
  await look();
  const page = (await browser.get(path)).body;
  assert.match(page, /Dunlin's arm should have 50\.0% of the customers/);
  assert.match(page, /Of the 10,000 customers counted in the calibration, 50\.0% \(5,000\) are in it\./);
  assert.match(page, /Of the 800 customers counted in the comparison, 25\.0% \(200\) are in it\./);
});

test("an unknown filter shows an error", async () => {
  const { browser } = await shop();
  for (const path of ["/experiments?x=1", "/experiments/new?x=1", "/experiments.csv?x=1"])
    assert.equal((await browser.get(path)).statusCode, 400, path);
  assert.equal((await browser.get("/experiments/nothing")).statusCode, 404);
});
