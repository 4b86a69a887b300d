import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DAY_MS } from "../../domain/durations.ts";
import type { Merchant } from "../../domain/merchant.ts";
import type { ActionStatus } from "../../domain/recovery-action.ts";
import type { Transaction } from "../../domain/transaction.ts";
import { ingestTransactions } from "../../ingest/ingest.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { type Database, prepared } from "../../postgres/database.ts";
import { plannedAction, settleAction } from "../../tables/actions-list/action-list.fixture.ts";
import { insertRecoveryActions, updateRecoveryActions } from "../../tables/recovery-actions.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

const ROWS = 25;
let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const INVOICE = prepared(
  "test_invoice",
  `insert into invoices (merchant_id, id, state, customer_id, subscription_id, amount, currency, created_at, updated_at)
   values ($1, $2, 'UNPAID', $3, $4, $5, $6, $7, $7)`,
);
const CASE = prepared(
  "test_case_of_list",
  `insert into cases (merchant_id, id, invoice_id, customer_id, subscription_id, amount, currency, unpaid_at, window_ends_at,
     budget, opened_at, ended_at, end_reason)
   values ($1, $2, $3, $4, $5, $6, $7, $8::timestamptz, $8::timestamptz + interval '28 days', 8, $8, $9::timestamptz,
     case when $9::timestamptz is null then null else 'window_over' end)`,
);

interface Row {
  invoice: string;
  customer?: string;
  subscription?: string | null;
  amount?: number;
  currency?: string;
  endedAt?: Date | null;
  status?: ActionStatus;
}

/** An invoice with a case and one action. */
async function add(
  merchant: Merchant,
  { invoice, customer = "cus", subscription = null, ...row }: Row,
  db: Database = at.db,
) {
  at.clock.serviceMs += 1_000;
  const { amount = 4900, currency = "EUR", endedAt = null } = row;
  const now = at.ports.now();
  const caseId = at.ports.newId();
  await db.run(INVOICE, [merchant.id, invoice, customer, subscription, amount, currency, now]);
  await db.run(CASE, [merchant.id, caseId, invoice, customer, subscription, amount, currency, now, endedAt]);
  const index = added++;
  const action = {
    ...plannedAction(index, now),
    id: at.ports.newId(),
    caseId,
    invoiceId: invoice,
    customerId: customer,
    subscriptionId: subscription,
    amountDue: amount,
    currency,
  };
  const settled = {
    ...(row.status
      ? { ...action, status: row.status, executedAt: row.status === "SUCCEEDED" ? now : null }
      : settleAction(action, index)),
    ...{ currency, cardCountry: "DE" },
  };
  await insertRecoveryActions(db, merchant.id, [action]);
  await updateRecoveryActions(db, merchant.id, [{ ...settled, amountDue: amount }]);
}
let added = 0;

async function shop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  return { merchant, browser: await at.browser(await at.person("viewer", merchant)) };
}
type Browser = Awaited<ReturnType<typeof shop>>["browser"];

const invoicesOn = (page: string) =>
  [...page.matchAll(/<th scope="row" class="a"><a class="id" href="\/invoices\/([^"]+)"/g)].map(([, id]) =>
    decodeURIComponent(id!.replaceAll("&#39;", "'")),
  );
const linkOn = (page: string, rel: "next" | "prev") =>
  new RegExp(`rel="${rel}" href="([^"]+)"`).exec(page)?.[1]?.replaceAll("&amp;", "&");
const listed = async (browser: Browser, path: string) => {
  const reply = await browser.get(path);
  assert.equal(reply.statusCode, 200, path);
  return invoicesOn(reply.body);
};
const withSearch = (path: string, q: string) => `${path}?${new URLSearchParams({ q })}`;

const ODD_IDS = [
  "in_%",
  "in_%a",
  "in_a",
  "in__",
  "in__a",
  "in_é",
  "in_éa",
  "in_e",
  "in_😀",
  "in_日本",
  "IN_a",
  "in",
  "i",
  "in_",
  "in_\\",
  "in_'",
];

test("a search finds exactly the ids that begin with its characters, whatever they are", async () => {
  const { merchant, browser } = await shop();
  for (const id of ODD_IDS) await add(merchant, { invoice: id });
  for (const q of [...ODD_IDS, "in_日", "In", "_", "%", "in_😀x"])
    for (const list of ["/actions", "/invoices"])
      assert.deepEqual(
        new Set(await listed(browser, withSearch(list, q))),
        new Set(ODD_IDS.filter((id) => id.startsWith(q))),
        `${list} ${q}`,
      );
});

test("a search finds actions and invoices by invoice, customer and subscription, and only the merchant's", async () => {
  const [{ merchant, browser }, theirs] = [await shop(), await shop()];
  await add(merchant, { invoice: "x_1" });
  await add(merchant, { invoice: "in_2", customer: "x_2" });
  await add(merchant, { invoice: "in_3", subscription: "x_3" });
  await add(merchant, { invoice: "in_4", customer: "cus_x", subscription: "sub_x" });
  await add(theirs.merchant, { invoice: "x_5", customer: "x_5", subscription: "x_5" });
  for (const list of ["/actions", "/invoices"]) {
    assert.deepEqual(await listed(browser, `${list}?q=x_`), ["in_3", "in_2", "x_1"], list);
    assert.equal((await browser.get(`${list}.csv?q=x_`)).body.trim().split("\r\n").length, 4, list);
  }
});

const ORDERS = [
  ["/actions", ["created_at", "updated_at"]],
  ["/invoices", ["opened_at", "amount"]],
] as const;

test("pages in both directions show every row once while rows are added, in each order", async () => {
  for (const [list, orders] of ORDERS)
    for (const orderBy of orders)
      for (const orderDirection of ["asc", "desc"]) {
        const { merchant, browser } = await shop();
        const ids = Array.from({ length: 60 }, (_, n) => `in_${String(n).padStart(2, "0")}`);
        // Equal amounts are in the order of their cases.
        for (const [n, invoice] of ids.entries()) await add(merchant, { invoice, amount: 1_000 + Math.floor(n / 7) });
        const query = new URLSearchParams({
          orderBy,
          orderDirection,
          ...(list === "/invoices" && { currency: "EUR" }),
        });
        const forth: string[] = [];
        let path: string | undefined = `${list}?${query}`;
        let last = "";
        for (let page = 0; path; page++) {
          last = path;
          const body: string = (await browser.get(path)).body;
          forth.push(...invoicesOn(body));
          path = linkOn(body, "next");
          await add(merchant, { invoice: `new_${page}`, amount: 1_000 });
        }
        const old = (found: readonly string[]) => found.filter((id) => ids.includes(id));
        assert.equal(new Set(forth).size, forth.length, `${list} ${query}`);
        assert.deepEqual(old(forth).toSorted(), ids, `${list} ${query}`);
        const back: string[] = [];
        for (path = last; path; ) {
          const body: string = (await browser.get(path)).body;
          back.unshift(...invoicesOn(body));
          path = linkOn(body, "prev");
          await add(merchant, { invoice: `newer_${back.length}`, amount: 9_000 });
        }
        assert.equal(new Set(back).size, back.length, `${list} ${query}`);
        assert.deepEqual(old(back), old(forth), `${list} ${query}`);
      }
});

test("a link to the rows before a case, as pages had before, still works", async () => {
  const { merchant, browser } = await shop();
  for (let n = 0; n < 30; n++) await add(merchant, { invoice: `in_${n}` });
  const { rows } = await at.db.run<{ id: string }>(
    prepared("", "select id from cases where merchant_id = $1 and invoice_id = 'in_3'"),
    [merchant.id],
  );
  const page = (await browser.get(`/invoices?before=${rows[0]!.id}`)).body;
  assert.deepEqual(invoicesOn(page), ["in_2", "in_1", "in_0"]);
  assert.equal(invoicesOn((await browser.get(linkOn(page, "prev")!)).body).length, ROWS);
});

test("heads sort and say how, and an order that cannot be is refused", async () => {
  const { merchant, browser } = await shop();
  const end = new Date(at.clock.serviceMs + 90 * DAY_MS);
  await add(merchant, { invoice: "in_a", amount: 300, endedAt: new Date(end.getTime() + 2) });
  await add(merchant, { invoice: "in_b", amount: 200, endedAt: null });
  await add(merchant, { invoice: "in_c", amount: 100, endedAt: end });
  const page = (await browser.get("/invoices")).body;
  assert.match(page, /aria-sort="descending"><a href="\/invoices\?orderDirection=asc">In recovery since</);
  const href = /href="([^"]+)">Amount</.exec(page)![1]!.replaceAll("&amp;", "&");
  assert.deepEqual(await listed(browser, href), ["in_a", "in_b", "in_c"]);
  assert.deepEqual(await listed(browser, `${href}&orderDirection=asc`), ["in_c", "in_b", "in_a"]);
  const ended = (await browser.get("/invoices?orderBy=ended_at")).body;
  assert.deepEqual(invoicesOn(ended), ["in_a", "in_c"]);
  assert.match(ended, />2 cases, EUR.4\.00</);
  await add(merchant, { invoice: "in_d", currency: "USD" });
  assert.doesNotMatch((await browser.get("/invoices")).body, />Amount<\/a>/, "amounts of two currencies have no order");
  for (const query of ["orderBy=amount", "orderBy=name", "after=x", "back=~~", "after=~x~1", "q=%00"])
    assert.equal((await browser.get(`/invoices?${query}`)).statusCode, 400, query);
});

test("counts of states and sums per currency equal the rows, with filters and a search too", async () => {
  const { merchant, browser } = await shop();
  for (let n = 0; n < 70; n++)
    await add(merchant, {
      invoice: `in_${n}`,
      customer: `cus_${n % 3}`,
      amount: 1_000 + n,
      currency: n % 4 === 0 ? "JPY" : "EUR",
      endedAt: n % 5 === 0 ? new Date(at.clock.serviceMs + 40 * DAY_MS) : null,
    });
  const executedAfter = new Date(at.clock.serviceMs - DAY_MS).toISOString();
  const queries = ["", "?currency=EUR", "?q=in_1", "?customerId=cus_1", "?q=cus_2&currency=JPY"];
  const lists = [
    ...queries.flatMap((query) => [`/actions${query}`, `/invoices${query}`]),
    "/actions?orderBy=executed_at",
    `/actions?executedAfter=${executedAfter}&currency=EUR`,
  ];
  for (const list of lists) {
    const page = (await browser.get(list)).body;
    const segments = [...page.matchAll(/<a href="([^"]+)"[^>]*>[A-Z][a-z ]+<span class="count">(\d+)<\/span><\/a>/g)];
    assert.ok(segments.length >= 2, list);
    const counts = segments.map(([, , n]) => Number(n));
    assert.equal(
      counts[0],
      counts.slice(1).reduce((sum, n) => sum + n, 0),
      list,
    );
    for (const [, href, n] of segments) {
      const path = href!.replaceAll("&amp;", "&");
      const [heading, ...lines] = (await browser.get(path.replace(/^\/\w+/, "$&.csv"))).body.trim().split("\r\n");
      assert.equal(lines.length, Number(n), path);
      const sums = new Map<string, number>();
      const [amount, currency] = ["amount_minor", "currency"].map((name) => heading!.split(",").indexOf(name));
      for (const cells of lines.map((line) => line.split(",")))
        sums.set(cells[currency!]!, (sums.get(cells[currency!]!) ?? 0) + Number(cells[amount!]));
      const shown = / list-sum">([^<]*)</.exec((await browser.get(path)).body)![1]!;
      assert.match(shown, new RegExp(`^${n} `), path);
      assert.equal(shown.split(/, (?=[A-Z])/).length - 1, sums.size, path);
      for (const [name, sum] of sums)
        assert.ok(shown.replaceAll(/[^\dA-Z]/g, "").includes(name + sum), `${path}: ${shown} lacks ${name} ${sum}`);
    }
  }
});

test("the segment Open has the scheduled and the sent actions, and each of these is a filter of its own", async () => {
  const { merchant, browser } = await shop();
  const statuses = ["SCHEDULED", "SENT", "SUCCEEDED", "SENT", "DELIVERY_FAILED", "CANCELED"] as const;
  for (const [n, status] of statuses.entries()) await add(merchant, { invoice: `in_${n}`, status });
  const all = (await browser.get("/actions")).body;
  const segmentsOf = (body: string) =>
    [...body.matchAll(/<a href="[^"]+"[^>]*>([A-Z][a-z ]+)<span class="count">(\d+)<\/span><\/a>/g)].map(
      ([, words, n]) => `${words!.trim()} ${n}`,
    );
  const expected = ["All 6", "Open 3", "Succeeded 1", "Canceled 1", "Delivery failed 1"];
  assert.deepEqual(segmentsOf(all), expected);
  const open = (await browser.get("/actions?status=open")).body;
  assert.deepEqual(invoicesOn(open), ["in_3", "in_1", "in_0"]);
  assert.match(open, /<a href="\/actions\?status=open" aria-current="true">Open/);
  assert.match(open, / list-sum">3 actions, EUR.147\.00</);
  assert.match(open, /The API has no filter for all open actions: ask for each status\./);
  assert.deepEqual(segmentsOf(open), expected);
  assert.equal((await browser.get("/actions.csv?status=open")).body.trim().split("\r\n").length, 4);
  assert.deepEqual(await listed(browser, "/actions?status=open&q=in_3&orderBy=updated_at"), ["in_3"]);
  assert.deepEqual(await listed(browser, "/actions?status=open&invoiceId=in_1&currency=EUR"), ["in_1"]);
  assert.match(all, /<option value="RECOVERY_ACTION_STATUS_SCHEDULED">scheduled</);
  const sent = (await browser.get("/actions?status=RECOVERY_ACTION_STATUS_SENT")).body;
  assert.deepEqual(invoicesOn(sent), ["in_3", "in_1"]);
  assert.match(sent, /Status: sent<a href="\/actions"/);
  assert.deepEqual(segmentsOf(sent), expected);
  assert.equal((await browser.get("/actions?status=OPEN")).statusCode, 400);
  assert.match(all, /<select[^>]*name="orderBy">.*<option value="updated_at">updated</);
  const byUpdate = (await browser.get("/actions?orderBy=updated_at&orderDirection=asc&status=open")).body;
  assert.match(byUpdate, /Order: updated<a href="\/actions\?status=open"/);
  assert.match(byUpdate, /<th scope="col" aria-sort="ascending"><a href="[^"]*">Updated</);
  assert.match(all, /<th scope="col">Planned for</);
  for (const query of [
    "status=RECOVERY_ACTION_STATUS_SUCCEEDED",
    "orderBy=executed_at",
    "executedAfter=2026-01-01T00:00:00Z",
  ])
    assert.match(
      (await browser.get(`/actions?${query}`)).body,
      /<th scope="col"[^>]*><a href="[^"]*">Executed</,
      query,
    );
});

test("Last decline has the latest failed attempt on the invoice in words, also under an older action", async () => {
  const { merchant, browser } = await shop();
  for (const invoice of ["in_funds", "in_none", "in_other"]) await add(merchant, { invoice });
  const now = at.ports.now();
  const attempt = (invoiceId: string, code: string, minutes: number, over: Partial<Transaction> = {}): Transaction => ({
    ...{
      id: `tx_${invoiceId}_${minutes}`,
      state: "FAILED",
      invoiceId,
      customerId: "cus",
      amount: 4_900,
      currency: "EUR",
    },
    ...{ createdAt: new Date(now.getTime() - minutes * 60_000), updatedAt: now, paymentMethodType: "card" },
    ...{ cardBrand: "visa", networkDeclineCode: code },
    ...over,
  });
  const attempts = [
    attempt("in_funds", "41", 9),
    attempt("in_funds", "51", 5),
    attempt("in_funds", "", 3, { state: "PENDING", networkDeclineCode: undefined }),
    attempt("in_funds", "54", 2, { amount: 0 }),
    attempt("in_other", "54", 4),
  ];
  await ingestTransactions(at.db, merchant, [attempts], at.ports, () => {});
  const theirs = await shop();
  await add(theirs.merchant, { invoice: "in_none" });
  const { body } = await browser.get("/actions");
  const rows = [...body.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row]) => row!);
  const index = [...rows[0]!.matchAll(/<th scope="col"[^>]*>(.*?)<\/th>/g)].findIndex(
    ([, head]) => head === "Last decline",
  );
  const declines = rows.slice(1).map((row) => [...row.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/gs)][index]![1]);
  assert.deepEqual(declines, ["Expired card", "", "Insufficient funds"]);
});

test("the API's command has the list's filters, but not the search", async () => {
  const { merchant, browser } = await shop();
  await add(merchant, { invoice: "in_1" });
  const page = (await browser.get("/actions?cardCountry=de&q=in&orderBy=updated_at")).headers.location!;
  const body = (await browser.get(String(page))).body;
  assert.match(body, /recovery_actions\?cardCountry=DE&amp;orderBy=updated_at&quot;/);
  assert.match(body, /The API has no search by the start of an id/);
  assert.match(body, /Card country: Germany<a href="\/actions\?q=in&amp;orderBy=updated_at"/);
});

const MANY = 5_200;
const MANY_ROWS = [
  `insert into invoices (merchant_id, id, state, customer_id, amount, currency, created_at, updated_at)
   select $1, 'w_' || n, 'UNPAID', 'cus_' || n, 900, 'EUR', $2, $2 from generate_series(1, $3::int4) n`,
  `insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at)
   select $1, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'w_' || n, 'cus_' || n, 900, 'EUR', $2,
     $2::timestamptz + interval '28 days', 8, $2 from generate_series(1, $3::int4) n`,
  `insert into recovery_actions (merchant_id, id, case_id, invoice_id, customer_id, currency, type, status, action_suggestion,
     ideal_retry_time, reasons, created_at, updated_at)
   select merchant_id, id, id, invoice_id, customer_id, currency, 'RETRY', 'SCHEDULED', 'RETRY', $2, '[]', $2, $2
   from cases where merchant_id = $1 and id < ('00000000-0000-7000-8000-' || lpad(($3::int4 + 1)::text, 12, '0'))::uuid`,
];

test("a search that finds thousands shows the same order of rows, without counts", async () => {
  const { merchant, browser } = await shop();
  for (const text of MANY_ROWS) await at.db.run(prepared("", text), [merchant.id, at.ports.now(), MANY]);
  await add(merchant, { invoice: "x" });
  const newest = (from: number) => Array.from({ length: ROWS }, (_, n) => `w_${from - n}`);
  for (const list of ["/actions", "/invoices"]) {
    const page = (await browser.get(`${list}?q=w_`)).body;
    assert.deepEqual(invoicesOn(page), newest(MANY), list);
    assert.match(page, /list-sum">Many (actions|cases) match\. A longer start finds fewer\.</);
    const second = (await browser.get(linkOn(page, "next")!)).body;
    assert.deepEqual(invoicesOn(second), newest(MANY - ROWS), list);
    assert.deepEqual(await listed(browser, linkOn(second, "prev")!), newest(MANY), list);
    assert.equal((await browser.get(`${list}.csv?q=w_`)).body.trim().split("\r\n").length, MANY + 1, list);
    assert.equal((await listed(browser, `${list}?q=w_520`)).length, 2, list);
  }
});
