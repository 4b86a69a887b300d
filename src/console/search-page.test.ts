import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Subscription } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import { ingestSubscriptions, ingestTransactions } from "../ingest/ingest.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { createMerchant } from "../merchants/merchant-settings.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "./console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const browser = await at.browser(await at.person("viewer", merchant));
  const search = (q: string, more = {}) => browser.get(`/search?${new URLSearchParams({ q, ...more })}`);
  return { merchant, browser, search };
}

const invoiceOf = (id: string, customerId: string, subscriptionId?: string): Invoice => {
  const now = at.ports.now();
  return {
    id,
    state: "PAID",
    customerId,
    subscriptionId,
    amount: 4900,
    currency: "EUR",
    createdAt: now,
    updatedAt: now,
  };
};
const push = (merchant: Merchant, ...invoices: Invoice[]) =>
  ingestInvoices(at.db, merchant, [invoices], at.ports, () => {});

async function pushOthers(merchant: Merchant, subscription: string, transaction: string, invoiceId: string) {
  const now = at.ports.now();
  const both = { amount: 4900, currency: "EUR", createdAt: now, updatedAt: now };
  const subscribed: Subscription = { ...both, id: subscription, state: "ACTIVE", customerId: "cus_1", planId: "Team" };
  const paid: Transaction = { ...both, id: transaction, state: "PAID", invoiceId };
  await ingestSubscriptions(at.db, merchant, [[subscribed]], at.ports, () => {});
  await ingestTransactions(at.db, merchant, [[paid]], at.ports, () => {});
}

const groupsOn = (page: string) =>
  [
    ...page.matchAll(
      /<section class="card mb"><header><h2>([A-Z][a-z ]+?) ?(?:<span class="count">([\d+]+)<\/span>)?<\/h2>/g,
    ),
  ].map(([, title, n]) => [title, n]);
const idsOn = (page: string) =>
  [...page.matchAll(/<th scope="row"[^>]*>(?:<mark>)?<a class="id"[^>]*>([^<]*)</g)].map(([, id]) => id);

test("a search lists invoices, customers, subscriptions and transactions that begin alike, never another merchant's", async () => {
  const [{ merchant, search }, theirs] = [await shop(), await shop()];
  await push(merchant, invoiceOf("ab_in", "ab_cus", "ab_sub"), invoiceOf("in_2", "ab_cus"), invoiceOf("in_3", "cus_1"));
  await pushOthers(merchant, "ab_sub", "ab_tx", "in_3");
  await push(theirs.merchant, invoiceOf("ab_theirs", "ab_theirs"));
  const page = (await search("ab_")).body;
  assert.deepEqual(groupsOn(page), [
    ["Customers", "1"],
    ["Subscriptions", "1"],
    ["Invoices", "1"],
    ["Transactions", "1"],
  ]);
  assert.deepEqual(idsOn(page), ["ab_cus", "ab_sub", "ab_in", "ab_tx"]);
  assert.match(page, />2 invoices</);
  assert.match(
    (await search("AB_")).body,
    /No invoice, customer, subscription or transaction has an id that begins with “AB_”/,
  );
});

test("one exact hit leads to the invoice, also by a transaction; several stay a choice", async () => {
  const { merchant, search } = await shop();
  await push(merchant, invoiceOf("in/1", "cus_1"), invoiceOf("in/12", "cus_1"), invoiceOf("same", "same"));
  await pushOthers(merchant, "sub_1", "tx_1", "in/12");
  assert.equal((await search("in/1")).headers.location, "/invoices/in%2F1");
  assert.equal((await search(" in/1 ")).headers.location, "/invoices/in%2F1");
  assert.equal((await search("tx_1")).headers.location, "/invoices/in%2F12");
  for (const q of ["same", "in/", "sub_1", "cus_1"]) assert.equal((await search(q)).statusCode, 200, q);
});

test("an exact customer is marked and shown with its invoices and subscriptions", async () => {
  const { merchant, search } = await shop();
  await push(merchant, invoiceOf("in_1", "cus_1", "sub_1"), invoiceOf("in_2", "cus_12"));
  await pushOthers(merchant, "sub_1", "tx_1", "in_1");
  const page = (await search("cus_1")).body;
  assert.match(page, /<mark><a class="id"[^>]*>cus_1</);
  assert.deepEqual(idsOn(page), ["cus_1", "cus_12", "sub_1", "in_1"]);
  assert.match(page, /Ids that begin with “cus_1”, and what belongs to them/);
});

test("a group has at most 8 rows, and its link pages through all of them in both directions", async () => {
  const { merchant, browser, search } = await shop();
  const ids = Array.from({ length: 60 }, (_, n) => `x_${String(n).padStart(2, "0")}`);
  await push(merchant, ...ids.map((id) => invoiceOf(id, id)));
  const page = (await search("x_")).body;
  assert.deepEqual(groupsOn(page), [
    ["Customers", "8+"],
    ["Invoices", "8+"],
  ]);
  assert.equal(idsOn(page).length, 16);
  for (const group of ["invoices", "customers"]) {
    const seen: (string | undefined)[] = [];
    const link = (body: string, rel: string) =>
      new RegExp(`rel="${rel}" href="([^"]+)"`).exec(body)?.[1]?.replaceAll("&amp;", "&");
    let body = (await search("x_", { in: group })).body;
    for (;;) {
      seen.push(...idsOn(body));
      const next = link(body, "next");
      if (!next) break;
      body = (await browser.get(next)).body;
    }
    assert.deepEqual(seen, ids, group);
    const back: (string | undefined)[] = idsOn(body);
    for (let previous = link(body, "prev"); previous; previous = link(body, "prev")) {
      body = (await browser.get(previous)).body;
      back.unshift(...idsOn(body));
    }
    assert.deepEqual(back, ids, group);
  }
});

test("characters mean themselves, and beginnings end with the id", async () => {
  const { merchant, search } = await shop();
  const ids = ["%", "%a", "_", "_a", "a%", "é", "éa", "e", "😀", "😀a"];
  await push(merchant, ...ids.map((id) => invoiceOf(`p${id}`, "cus")));
  for (const q of ids) {
    const expected = ids.filter((id) => id.startsWith(q)).map((id) => `p${id}`);
    const reply = await search(`p${q}`, { in: "invoices" });
    assert.deepEqual(new Set(idsOn(reply.body)), new Set(expected), q);
  }
});

test("without a search, the page says what to type", async () => {
  const { browser } = await shop();
  assert.match((await browser.get("/search")).body, /Type the start of the id of an invoice, a customer/);
  assert.match((await browser.get("/search?q=%20")).body, /Type the start of the id of an invoice, a customer/);
  assert.equal((await browser.get("/search?q=a&in=people")).statusCode, 400);
});
