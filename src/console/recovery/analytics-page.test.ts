import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createAttentionStore } from "../../attention/attention.fixture.ts";
import { DAY_MS } from "../../domain/durations.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { saveCaseTraits } from "../../tables/recovery-sums.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const textOf = (page: string) =>
  page
    .replaceAll(/<[^>]+>/g, " ")
    .replaceAll("\u00a0", " ")
    .replaceAll(/\s+/g, " ");
const dayOf = (date: Date) => date.toISOString().slice(0, 10);

/** Invoices that failed 100 days ago: 60 after insufficient funds, 30 for a blocked card. */
async function shop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const now = at.ports.now();
  const failedAt = new Date(now.getTime() - 100 * DAY_MS);
  const store = createAttentionStore(at.db, merchant.id, now);
  const traits = {
    paymentMethod: null,
    cardCountry: null,
    cardIssuer: null,
    planId: null,
    amountBand: null,
    tries: [],
  };
  const add = async (declineGroup: string, declineCode: string, isPaid: boolean, amount: number) => {
    const ended = { unpaidAt: failedAt, endedAt: new Date(failedAt.getTime() + DAY_MS), amount };
    const reason = isPaid ? { endReason: "paid", recovered: true } : { endReason: "window_over" };
    const { id } = await store.openCase({ ...ended, ...reason });
    await saveCaseTraits(at.db, merchant.id, [{ id, declineGroup, declineCode, ...traits }]);
  };
  for (let n = 0; n < 60; n++) await add("FUNDS", "51", n < 45, 1_000);
  for (let n = 0; n < 30; n++) await add("HARD_CARD", "43", n < 3, 2_000);
  const browser = await at.browser(await at.person("owner", merchant));
  const read = async (path: string) => textOf((await browser.get(path)).body);
  return { merchant, browser, read, failedAt };
}

test("a decline reason comes with how Dunlin treats it, a code with its meaning, and both with the invoices", async () => {
  const { read, browser, failedAt } = await shop();
  const period = `from=${dayOf(failedAt)}&to=${dayOf(failedAt)}`;
  const page = await read(`/analytics?${period}`);
  assert.match(page, /53\.3% of 90 invoices\. Most is left after: card or account blocked or closed \( EUR 540 \)\./);
  assert.match(page, /Dunlin asks the customer for another card\. .* It is also recovered least often \(10\.0%\)\./);
  const filtered = await read(`/analytics?${period}&reason=FUNDS&by=code`);
  assert.match(filtered, /75\.0% of 60 invoices\. Dunlin retries when money has most likely arrived/);
  assert.match(filtered, /51, there was not enough money/);
  assert.doesNotMatch(filtered, /least often/);
  const list = (await browser.get("/invoices?outcome=lost&reason=HARD_CARD")).body;
  assert.match(textOf(list), /First decline: Card or account blocked or closed/);
  assert.match(textOf(list), /27 cases/);
  assert.match(await read("/invoices?reason=unknown"), /No invoice/);
});

test("the overview has the rate of a period that is old enough, also if a named one is not", async () => {
  const { read, failedAt } = await shop();
  assert.match(await read("/overview?period=7d"), /Recovery rate none yet An invoice counts 35 days after it failed\./);
  const dated = await read(`/overview?from=${dayOf(failedAt)}&to=${dayOf(failedAt)}`);
  assert.match(dated, /Recovery rate 53\.3% \d+\.\d to \d+\.\d% , of 90 invoices/);
});

test("dates in the wrong order are exchanged, one date is enough, and what cannot be shown is said", async () => {
  const { read, browser } = await shop();
  const shown = async (query: string) =>
    /Dates|\d+ \w{3} \d{4} to \d+ \w{3} \d{4}/.exec(await read(`/overview?${query}`))?.[0];
  assert.equal(await shown("from=2025-12-31&to=2025-12-02"), "2 Dec 2025 to 31 Dec 2025");
  assert.equal(await shown("to=2025-12-31"), "9 Oct 2025 to 31 Dec 2025");
  for (const query of ["from=2026-02-30&to=2026-03-01", "from=2020-01-01&to=2026-01-01"]) {
    const reply = await browser.get(`/analytics?${query}`);
    assert.equal(reply.statusCode, 400);
    assert.match(reply.body, /Without “from”/, "this leads to a page that works");
  }
  assert.match(await read("/analytics?from=9999-01-01&to=9999-12-31"), /The period begins in the future\./);
  assert.match(await read("/analytics?reason=FRAUD"), /fits the filters\./);
  assert.match(await read("/overview?currency=JPY"), /JPY 0/);
});
