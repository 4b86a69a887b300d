import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { readReportingRates } from "../../tables/reporting-rates.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const PATH = "/settings/recovery/currency";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

/** A merchant with open invoices in the currencies. */
async function shop(...currencies: string[]) {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const now = at.ports.now();
  const invoices = currencies.map(
    (currency, n) =>
      ({
        id: `in_${n}`,
        state: "UNPAID",
        customerId: "cus_1",
        amount: 100,
        currency,
        createdAt: now,
        updatedAt: now,
      }) as const,
  );
  await ingestInvoices(at.db, merchant, [invoices], at.ports, () => {});
  const browser = await at.browser(await at.person("admin", merchant));
  const hidden = async () => {
    const { body } = await browser.get("/settings/recovery");
    const [, was] = /action="\/settings\/recovery\/currency"[^>]*><input type="hidden" name="was" value="([^"]+)"/.exec(
      body,
    )!;
    const [, to] = /name="to" value="([^"]+)"/.exec(body)!;
    return { was: was!, to: to! };
  };
  return {
    merchant,
    browser,
    hidden,
    save: async (fields: Record<string, string>) => browser.post(PATH, { ...(await hidden()), ...fields }),
    stored: async () => {
      const reporting = await readReportingRates(at.db, merchant.id);
      return reporting && { currency: reporting.currency, rates: Object.fromEntries(reporting.rates) };
    },
    audited: async () =>
      (await listAuditEntries(at.db, merchant.id, { noun: "merchant" }, 10)).map((each) => each.details),
  };
}

test("a currency and its rates are saved as exact decimals, and the audit log has each change", async () => {
  const { save, stored, audited, browser } = await shop("EUR", "GBP", "USD");
  const saved = await save({ report: "EUR", rateGBP: "1.1700", rateUSD: "0.9200000001" });
  assert.equal(saved.headers.location, "/settings/recovery?done=reporting");
  assert.deepEqual(await stored(), { currency: "EUR", rates: { GBP: "1.17", USD: "0.9200000001" } });
  const details = { "report in": "none → EUR", "rate GBP": "none → 1.17 EUR", "rate USD": "none → 0.9200000001 EUR" };
  assert.deepEqual(await audited(), [details]);
  const page = (await browser.get("/settings/recovery?done=reporting")).body;
  assert.match(page, /1 GBP =<\/label>\s*<input[^>]+value="1\.17"/);
  assert.match(page, /<option value="EUR" selected>/);
  assert.doesNotMatch(page, /1 EUR =/);

  await save({ report: "EUR", rateGBP: "1.18", rateUSD: "0.9200000001" });
  assert.deepEqual((await audited())[0], { "rate GBP": "1.17 EUR → 1.18 EUR" });
  await save({ report: "EUR", rateGBP: "1.180", rateUSD: "0.9200000001" });
  assert.equal((await audited()).length, 2, "the same rates are no change");
  assert.equal((await save({ report: "none" })).headers.location, "/settings/recovery?done=separate");
  assert.equal(await stored(), null);
  assert.equal((await audited())[0]!["report in"], "EUR → none");
});

test("a wrong or missing rate is named at its field, and nothing is saved", async () => {
  const { save, stored, audited } = await shop("EUR", "GBP");
  for (const wrong of ["1,17", "0", "0.00", "-1", "1e3", "1.", ".5", "1.12345678901", "1234567890", "GBP", ""]) {
    const reply = await save({ report: "EUR", rateGBP: wrong });
    assert.equal(reply.statusCode, 400, wrong);
    assert.match(reply.body, /Nothing was saved/);
    assert.match(reply.body, /id="rateGBP"[^>]+aria-invalid="true" aria-describedby="rateGBP-problem"/, wrong);
    assert.match(reply.body, /<small id="rateGBP-problem" class="bad">Enter /);
    assert.ok(reply.body.includes(`name="rateGBP" type="text" value="${wrong}"`), "the input stays");
  }
  assert.match((await save({ report: "euro", rateGBP: "1" })).body, /id="otherReport-problem" class="bad">/);
  assert.match(
    (await save({ report: "EUR", rateGBP: "1", otherCurrency: "GBP", otherRate: "2" })).body,
    /otherCurrency-problem/,
  );
  assert.match(
    (await save({ report: "EUR", rateGBP: "1", otherCurrency: "SEK", otherRate: "x" })).body,
    /otherRate-problem/,
  );
  assert.equal(await stored(), null);
  assert.deepEqual(await audited(), []);
});

test("a rate for the reporting currency itself is refused, unless it is 1", async () => {
  const { save, stored } = await shop("EUR", "GBP");
  for (const own of ["2", "x"]) {
    const refused = await save({ report: "EUR", rateEUR: own, rateGBP: "1.17" });
    assert.equal(refused.statusCode, 400);
    assert.match(refused.body, /id="report-problem" class="bad">You typed a rate for EUR itself\./);
    assert.match(refused.body, /name="rateGBP" type="text" value="1\.17"/);
  }
  assert.equal(await stored(), null);
  await save({ report: "EUR", rateEUR: "1.0", rateGBP: "1.17" });
  assert.deepEqual(await stored(), { currency: "EUR", rates: { GBP: "1.17" } });
});

test("rates to the former currency are not taken for rates to a new one", async () => {
  const { save, stored, browser, hidden } = await shop("EUR", "GBP", "USD");
  await save({ report: "EUR", rateGBP: "1.17", rateUSD: "0.92" });
  const changed = await save({ report: "GBP", rateGBP: "1.17", rateUSD: "0.92" });
  assert.equal(changed.statusCode, 400);
  assert.match(changed.body, /id="rateUSD"[^>]+value=""[\s\S]*Enter how many GBP one USD is/);
  assert.match(changed.body, /id="rateEUR"[^>]+value=""[\s\S]*Enter how many GBP one EUR is/);
  assert.match(changed.body, /name="to" value="GBP"/);
  assert.deepEqual((await stored())!.currency, "EUR");
  const { was } = await hidden();
  const saved = await browser.post(PATH, { was, to: "GBP", report: "GBP", rateEUR: "0.85", rateUSD: "0.79" });
  assert.equal(saved.statusCode, 303);
  assert.deepEqual(await stored(), { currency: "GBP", rates: { EUR: "0.85", USD: "0.79" } });
});

test("a rate keeps its time while it stays the same, but not when it is a rate to another currency", async () => {
  const { merchant, save, browser, hidden } = await shop("EUR");
  const setAt = async () => (await readReportingRates(at.db, merchant.id))!.setAt;
  const start = at.ports.now();
  await save({ report: "none", otherReport: "CHF", rateEUR: "0.95" });
  at.clock.serviceMs += 86_400_000;
  await save({ report: "CHF", rateEUR: "0.950", otherCurrency: "SEK", otherRate: "0.08" });
  await save({ report: "CHF", rateEUR: "0.95", rateSEK: "" });
  assert.deepEqual(await setAt(), start);
  const { was } = await hidden();
  await browser.post(PATH, { was, to: "USD", report: "none", otherReport: "USD", rateEUR: "0.95", rateCHF: "1.1" });
  await save({ report: "USD", rateEUR: "0.95", rateCHF: "" });
  assert.deepEqual(await setAt(), at.ports.now());
});

test("currencies without invoices can be added and removed", async () => {
  const { save, stored } = await shop("EUR");
  await save({ report: "none", otherReport: "chf", rateEUR: "0.95", otherCurrency: "sek", otherRate: "0.0884" });
  assert.deepEqual(await stored(), { currency: "CHF", rates: { EUR: "0.95", SEK: "0.0884" } });
  await save({ report: "CHF", rateEUR: "0.95", rateSEK: "" });
  assert.deepEqual(await stored(), { currency: "CHF", rates: { EUR: "0.95" } });
});

test("the form needs the role, its own site and the current rates", async () => {
  const { merchant, save, stored, hidden, browser } = await shop("EUR", "GBP");
  const opened = await hidden();
  const fields = { report: "EUR", rateGBP: "1.17" };
  for (const role of ["developer", "viewer"] as const) {
    const other = await at.browser(await at.person(role, merchant));
    assert.equal((await other.post(PATH, { ...opened, ...fields })).statusCode, 403);
  }
  const crossSite = await browser.post(PATH, { ...opened, ...fields }, { "sec-fetch-site": "cross-site" });
  assert.equal(crossSite.statusCode, 403);
  assert.equal(await stored(), null);
  await save(fields);
  assert.equal((await browser.post(PATH, { ...opened, report: "EUR", rateGBP: "2" })).statusCode, 409);
  const foreign = await shop("EUR", "GBP");
  assert.equal((await foreign.browser.post(PATH, { ...(await hidden()), ...fields })).statusCode, 409);
  assert.equal(await foreign.stored(), null);
  assert.deepEqual(await stored(), { currency: "EUR", rates: { GBP: "1.17" } });
});
