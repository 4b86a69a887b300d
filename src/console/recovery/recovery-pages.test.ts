import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../../../lab/trial/open-world.ts";
import { DAY_MS } from "../../domain/durations.ts";
import type { Invoice } from "../../domain/invoice.ts";
import type { Merchant } from "../../domain/merchant.ts";
import type { Transaction } from "../../domain/transaction.ts";
import { ingestTransactions } from "../../ingest/ingest.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createModelCache } from "../../learning/model-cache.ts";
import { createMerchant, type MerchantSettings } from "../../merchants/merchant-settings.ts";
import { prepared } from "../../postgres/database.ts";
import { processDueCases } from "../../recovery/process-due-cases.ts";
import { insertExperiment } from "../../tables/experiments.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const SCRIPT = `<script>alert("1")</script>`;
let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const log = pino({ level: "silent" });
async function shop(settings: MerchantSettings = {}) {
  const merchant = await createMerchant(at.db, "Shop", settings, SECRET_KEYS, at.ports);
  const browser = await at.browser(await at.person("viewer", merchant));
  return { merchant, browser };
}
const unpaid = (id: string, over: Partial<Invoice> = {}): Invoice => ({
  id,
  state: "UNPAID",
  customerId: "cus_1",
  amount: 123456,
  currency: "USD",
  createdAt: at.ports.now(),
  updatedAt: at.ports.now(),
  ...over,
});
async function push(merchant: Merchant, ...invoices: Invoice[]) {
  for (const invoice of invoices) {
    await ingestInvoices(at.db, merchant, [[invoice]], at.ports, () => {});
    const { amount, currency, customerId } = invoice;
    const now = at.ports.now();
    const failed: Transaction = {
      id: `tx_${at.ports.newId()}`,
      state: "FAILED",
      invoiceId: invoice.id,
      amount,
      currency,
      customerId,
      createdAt: now,
      updatedAt: now,
      paymentMethodType: "card",
      cardCountry: "DE",
      cardFingerprint: `fp_${invoice.id}`,
      networkDeclineCode: "51",
      paymentGatewayErrorMessage: SCRIPT,
    };
    if (invoice.state === "UNPAID") await ingestTransactions(at.db, merchant, [[failed]], at.ports, () => {});
  }
  const { db, ports } = at;
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });
  while ((await processDueCases({ db, ports, log, onEvents() {}, onWithdrawn() {}, models })).processedCount > 0)
    at.clock.serviceMs++;
}
const SUCCEED = {
  name: "test_succeed",
  text: "update recovery_actions set status = 'SUCCEEDED', decided_at = $3, executed_at = $3, updated_at = $3 where merchant_id = $1 and invoice_id = $2",
};
async function recover(merchant: Merchant, invoice: Invoice) {
  at.clock.serviceMs += 1_000;
  await at.db.run(SUCCEED, [merchant.id, invoice.id, at.ports.now()]);
  await push(merchant, { ...invoice, state: "PAID", updatedAt: at.ports.now() });
}

test("the overview says that no instruction is sent when there are cases but no endpoint", async () => {
  const { merchant, browser } = await shop();
  await push(merchant, unpaid("in_1"));
  assert.match(
    (await browser.get("/overview")).body,
    /No endpoint is set\. Dunlin plans cases, but sends no instructions/,
  );
  const watched = await shop({ shadow: true });
  await push(watched.merchant, unpaid("in_1"));
  for (const path of ["/overview", "/deliveries"])
    assert.doesNotMatch(
      (await watched.browser.get(path)).body,
      /No endpoint is set|Nothing has been in recovery/,
      path,
    );
});

test("the overview shows a problem with the endpoint beside the first steps, unless there is no endpoint", async () => {
  const empty = async (settings: MerchantSettings) => (await (await shop(settings)).browser.get("/overview")).body;
  assert.doesNotMatch(await empty({}), /No endpoint is set/);
  const paused = await empty({ webhookUrl: "https://shop.example/", webhookPaused: true });
  assert.match(paused, /Deliveries have been paused since[^\n]*\n[\s\S]*Nothing has been in recovery yet/);
});

test("numbers on the overview are the exact sums of their rows for each currency", async () => {
  const { merchant, browser } = await shop();
  const huge = [unpaid("in_a", { amount: 2 ** 53 - 1 }), unpaid("in_b", { amount: 2 ** 53 - 1 })];
  const others = [unpaid("in_c", { currency: "JPY", amount: 1234 }), unpaid("in_d", { currency: "KWD", amount: 1234 })];
  await push(merchant, ...huge, ...others, unpaid("in_e", { currency: "HUF", amount: 500_000 }));
  for (const invoice of [...huge, ...others]) await recover(merchant, invoice);
  const page = (await browser.get("/overview?period=7d&currency=USD")).body;
  // 2 × 9007199254740991 cents exceeds the safe integers.
  for (const amount of ["USD\u00a0180,143,985,094,819.82", "JPY\u00a01,234", "KWD\u00a01.234", "HUF\u00a05,000.00"])
    assert.ok(page.includes(amount), amount);
  assert.doesNotMatch(page, /uplift|extra revenue/i, "without a holdout nothing is claimed");
  const link = /href="(\/invoices\?outcome=recovered&amp;endedFrom=[^"]+)"/.exec(page)![1]!.replaceAll("&amp;", "&");
  const rows = (await browser.get(link)).body;
  assert.match(rows, />2 cases, USD.180,143,985,094,819\.82/);
  const all = (await browser.get(link.replace("&currency=USD", ""))).body;
  assert.ok(all.includes("JPY\u00a01,234, KWD\u00a01.234, USD\u00a0180,143,985,094,819.82"));
});

test("the recovery rate covers cases whose window is over, paid or not, and is absent before", async () => {
  const { merchant, browser } = await shop();
  const rate = async (period = "4w") => {
    const page = (await browser.get(`/overview?period=${period}`)).body;
    const [, value, note] = /Recovery rate<\/dt><dd class="value">(.+?)<\/dd><dd class="note">(.+?)<\/dd>/.exec(page)!;
    return [value!, note!].map((part) => part.replaceAll(/<[^>]+>/g, ""));
  };
  const ids = ["in_a", "in_b", "in_c", "in_d"];
  const invoices = ids.map((id) => unpaid(id, { customerId: `cus_${id}` }));
  await push(merchant, ...invoices);
  await recover(merchant, invoices[0]!);
  await push(merchant, { ...invoices[1]!, state: "VOIDED", updatedAt: at.ports.now() });
  assert.deepEqual(await rate(), ["none yet", "An invoice counts 35 days after it failed."]);
  // All of their windows are over, unlike those of later days.
  at.clock.serviceMs += 36 * DAY_MS;
  await push(merchant, unpaid("in_e"));
  const [value, note] = await rate();
  assert.equal(value, "33.3%");
  assert.match(note!, /^[\d.]+ to [\d.]+%, of 3 invoices that failed \d+ \w+ \d{4} to /);
  at.clock.serviceMs += 10 * DAY_MS;
  assert.equal((await rate("7d"))[0], "none yet");
});

test("an invoice paid without an instruction does not count as recovered", async () => {
  const { merchant, browser } = await shop();
  const invoice = unpaid("in_a");
  await push(merchant, invoice);
  at.clock.serviceMs += 60_000;
  await push(merchant, { ...invoice, state: "PAID", updatedAt: at.ports.now() });
  const page = (await browser.get("/overview")).body;
  assert.match(page, /<p class="figure"><a [^>]+title="USD.0\.00">USD.0\.00<\/a>/);
  assert.match(
    page,
    /Paid without an instruction<\/dt><dd class="value"><a[^>]+>USD[^<]+<\/a><\/dd><dd class="note">1 invoice</,
  );
  assert.match((await browser.get("/invoices?outcome=paid")).body, />1 case,/);
  assert.match((await browser.get("/invoices?outcome=recovered")).body, /No invoice in recovery matches/);
});

const LEAVE_ALONE = prepared("test_leave_alone", "update cases set arm = 'merchant' where merchant_id = $1");

test("an invoice in the merchant's arm never counts as Dunlin's, and the page links to the experiment", async () => {
  const { merchant, browser } = await shop();
  assert.doesNotMatch((await browser.get("/overview")).body, /What Dunlin added/);
  const startedAt = at.ports.now();
  const fixed = { id: at.ports.newId(), name: "Holdout", salt: "s", share: 0.1, startedAt, comparedFrom: startedAt };
  const plan = { stoppedAt: null, maturityDays: 28, primary: "count", margin: 0.01 } as const;
  assert.equal(await insertExperiment(at.db, merchant.id, { ...fixed, ...plan }), true);
  const invoice = unpaid("in_a");
  await push(merchant, invoice);
  await at.db.run(LEAVE_ALONE, [merchant.id]);
  at.clock.serviceMs += 60_000;
  await push(merchant, { ...invoice, state: "PAID", updatedAt: at.ports.now() });
  const page = (await browser.get("/overview")).body;
  assert.match(page, /What Dunlin added[\s\S]*Experiment: <a[^>]+>Holdout<[\s\S]*Dunlin has not analyzed it yet/);
  assert.match(
    page,
    /Paid without an instruction<\/dt><dd class="value"><a[^>]+>[^<]+<\/a><\/dd><dd class="note">0 invoices</,
  );
  assert.match((await browser.get("/invoices?outcome=watched")).body, />1 case,/);
});

test("the overview announces shadow mode, and an invoice shows what Dunlin would do and had considered", async () => {
  const { merchant, browser } = await shop({ shadow: true });
  await push(merchant, unpaid("in_a"));
  const owner = await at.browser(await at.person("owner", merchant));
  const over = unpaid("in_b", { customerId: "cus_2" });
  await push(merchant, over);
  at.clock.serviceMs += 60_000;
  await push(merchant, { ...over, state: "PAID", updatedAt: at.ports.now() });
  const overview = (await owner.get("/overview")).body;
  assert.match(overview, /Shadow mode is on[\s\S]*You can start one when shadow mode is off/);
  assert.doesNotMatch(overview, /Start an experiment/, "what is refused is not offered");
  const page = (await browser.get("/invoices/in_a")).body;
  assert.match(
    page,
    /Show the numbers[\s\S]*Shadow mode: Dunlin would request a retry<\/b> <span class="soft">on <time/,
  );
  assert.match((await browser.get("/invoices?outcome=watched")).body, />2 cases,/);
});

test("the overview starts its days and weeks in the viewer's zone", async () => {
  const { merchant, browser } = await shop();
  at.clock.serviceMs = Date.UTC(2026, 9, 25, 22, 30); // A Monday in Auckland, a Sunday in Berlin.
  const invoice = unpaid("in_a");
  await push(merchant, invoice);
  await recover(merchant, invoice);
  const figureIn = async (zone: string) => {
    await browser.post("/account", { zone, theme: "system" });
    const page = (await browser.get("/overview?period=7d")).body;
    const [, from] = /class="figure"><a href="\/invoices\?outcome=recovered&amp;endedFrom=([^&]+)/.exec(page)!;
    const [, words] = /aria-label="Recovered money by day\. ([^"]+)"/.exec(page)!;
    return [
      decodeURIComponent(from!),
      words!
        .split(". ")
        .filter((day) => day.includes(": USD") && !day.includes("0.00"))[0]!
        .split(":")[0],
    ];
  };
  // The change of clocks gave the Sunday 25 hours in Berlin; seven days end with it.
  assert.deepEqual(await figureIn("Europe/Berlin"), ["2026-10-18T22:00:00.000Z", "25 Oct"]);
  assert.deepEqual(await figureIn("Pacific/Auckland"), ["2026-10-19T11:00:00.000Z", "26 Oct"]);
});

test("the action list has the API's filters, and shows the same query as a command", async () => {
  const { merchant, browser } = await shop();
  await push(merchant, unpaid("in_a"), unpaid("in_b", { currency: "EUR", customerId: "cus_2" }));
  const all = (await browser.get("/actions")).body;
  assert.match(all, />2 actions,/);
  assert.match(all, /<abbr title="Germany">DE</);
  const page = (await browser.get("/actions?customerId=cus_2&orderBy=updated_at")).body;
  assert.match(page, />1 action,/);
  assert.match(page, /v1\/recovery_actions\?customerId=cus_2&amp;orderBy=updated_at&quot;/);
  for (const [query, says] of [
    ["currency=euro", /currency must be/],
    ["invoice=in_a", /is not a parameter/],
    ["pageToken=x", /only in the API/],
    ["after=x", /not the end of a page/],
  ] as const) {
    const reply = await browser.get(`/actions?${query}`);
    assert.equal(reply.statusCode, 400, query);
    assert.match(reply.body, says);
  }
});

test("the CSV of actions opens in a spreadsheet without running formulas, with amounts in both units", async () => {
  const { merchant, browser } = await shop();
  await push(
    merchant,
    unpaid("=1+1", { currency: "KWD", amount: 1234 }),
    unpaid('in "b", c', { customerId: "@SUM(A1)" }),
  );
  const reply = await browser.get("/actions.csv?orderBy=created_at&orderDirection=asc");
  assert.equal(reply.headers["content-disposition"], 'attachment; filename="recovery-actions.csv"');
  const [head, first, second] = reply.body.split("\r\n");
  assert.ok(head!.startsWith("\ufeffid,created_at_utc,created_at,"));
  assert.match(first!, /,'=1\+1,cus_1,,,1234,1\.234,KWD,DE,/);
  assert.match(second!, /,"in ""b"", c",'@SUM\(A1\),,,123456,1234\.56,USD,DE,/);
});

test("pages of actions and invoices have no gap and no duplicate, and the CSV has all rows", async () => {
  const { merchant, browser } = await shop();
  await push(merchant, ...Array.from({ length: 120 }, (_, n) => unpaid(`in_${n}`, { customerId: `cus_${n}` })));
  for (const list of ["/actions", "/invoices"]) {
    const seen: string[] = [];
    let path: string | undefined = list;
    while (path) {
      const page: string = (await browser.get(path)).body;
      seen.push(...[...page.matchAll(/<a class="id" href="\/invoices\/(in_\d+)"/g)].map(([, id]) => id!));
      path = /rel="next" href="([^"]+)"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
    }
    assert.equal(seen.length, 120, list);
    assert.equal(new Set(seen).size, 120, list);
    assert.equal((await browser.get(`${list}.csv`)).body.trim().split("\r\n").length, 121);
  }
});

test("an invoice shows its history, latest first, with the reasons of each decision", async () => {
  const { merchant, browser } = await shop();
  const invoice = unpaid("in/a ?&", { customerId: SCRIPT });
  await push(merchant, invoice);
  const page = (await browser.get(`/invoices/${encodeURIComponent(invoice.id)}`)).body;
  assert.match(page, /<h1>in\/a \?&amp; <span class="tag tide">in recovery/);
  assert.match(
    page,
    /<b>USD 1,234\.56 has been unpaid for less than an hour\.<\/b> The first attempt failed: there was not enough money \(code 51\)\. The next attempt is planned for <b/,
  );
  assert.match(page, /<b>Planned: retry<\/b> <span class="soft">on <time [^>]*>\w+ \d+ \w+, \d\d:\d\d<\/time>/);
  assert.match(
    page,
    /<details open><summary>Next step<\/summary>[\s\S]*<p>The last attempt failed: [^<]+\(code 51\)\.<\/p>/,
  );
  assert.match(page, /Payment attempt: failed[\s\S]*code 51/);
  assert.ok(!page.includes("<script>alert"), "nothing from outside is markup");
  at.clock.serviceMs += DAY_MS;
  await recover(merchant, invoice);
  const after = (await browser.get(`/invoices/${encodeURIComponent(invoice.id)}`)).body;
  const titles = [...after.split('id="log"')[1]!.matchAll(/<b>([A-Z][^<:]+)/g)].map(([, title]) => title!.trim());
  assert.ok(titles.includes("Recovery ended"), titles.join(", "));
  assert.ok(titles.indexOf("Recovery ended") < titles.indexOf("Recovery began"), titles.join(", "));
  assert.ok(titles.includes("The retry succeeded"));
});

test("the page plots the other times of one decision at a time, and a CSV has all of them", async () => {
  const { merchant, browser } = await shop();
  await push(merchant, unpaid("in_a"));
  const page = (await browser.get("/invoices/in_a")).body;
  assert.match(page, /id="considered"[\s\S]*Chosen: \w+ \d+ \w+, [\s\S]*<circle class="c-point full"/);
  const other = (await browser.get(`/invoices/in_a?decision=${at.ports.newId()}`)).body;
  assert.doesNotMatch(other, /id="considered"/);
  const link = /href="(\?decision=[0-9a-f-]+)#considered"/.exec(other)![1]!;
  assert.match((await browser.get(`/invoices/in_a${link}`)).body, /id="considered"/);
  const csv = (await browser.get("/decisions.csv?invoiceId=in_a")).body.trim().split("\r\n");
  const shown = page.split("Considered times")[1]!.match(/best compared time of its day/g)!.length;
  const listed = csv.filter((line) => line.includes(",best compared of its day,")).length;
  assert.ok([shown, shown + 1].includes(listed), "the chosen one may be one of them");
  assert.equal((await browser.get("/decisions.csv")).statusCode, 400);
});

test("invoices of another merchant and unknown invoices are not found", async () => {
  const [mine, theirs] = [await shop(), await shop()];
  await push(theirs.merchant, unpaid("in_theirs"));
  for (const id of ["in_theirs", "nothing"]) assert.equal((await mine.browser.get(`/invoices/${id}`)).statusCode, 404);
  assert.doesNotMatch((await mine.browser.get("/invoices")).body, /in_theirs/);
  assert.doesNotMatch((await mine.browser.get("/actions.csv")).body, /in_theirs/);
});
