import {
  CUSTOMER_INVOICES_MAX,
  type FoundCustomer,
  type FoundInvoice,
  type FoundSubscription,
  type FoundTransaction,
  findCustomersByPrefix,
  findExactHits,
  findInvoicesByPrefix,
  findSubscriptionsByPrefix,
  findTransactionsByPrefix,
  type IdSearch,
  latestInvoicesOfCustomer,
  subscriptionsOfCustomer,
} from "../tables/id-search.ts";
import { type Console, redirectTo } from "./console.ts";
import { customerLink, invoiceLink } from "./deliveries/delivery-list-page.ts";
import { type Html, type HtmlPart, html } from "./html.ts";
import type { Page } from "./page-layout.ts";
import { enumReader, identifierReader, parsePageQuery, withQuery } from "./page-query.ts";
import { outcomeState } from "./recovery/invoice-list-page.ts";
import { icon } from "./show/icons.ts";
import { type ListColumn, plainListTable } from "./show/list-page.ts";
import { LIST_ROWS } from "./show/list-paging.ts";
import { formatCount, formatMoney } from "./show/number-format.ts";
import { type StateKind, stateLabel, toSpacedWords } from "./show/state-labels.ts";
import { emptyNotice } from "./show/table.ts";
import { timeElement } from "./show/time-format.ts";
import type { Visit } from "./visit.ts";

const GROUP_ROWS = 8;
const GROUPS = ["invoices", "customers", "subscriptions", "transactions"] as const;
type Group = (typeof GROUPS)[number];
const TITLES: Readonly<Record<Group, string>> = {
  invoices: "Invoices",
  customers: "Customers",
  subscriptions: "Subscriptions",
  transactions: "Transactions",
};

const QUERY_READERS = {
  q: identifierReader,
  in: enumReader(GROUPS),
  after: identifierReader,
  back: identifierReader,
};

export function searchRoutes({ page }: Console) {
  page("/search", null, async (visit) => {
    const { q: typed, in: group, after, back } = parsePageQuery(visit.query, QUERY_READERS);
    const q = typed?.trim() ?? "";
    if (q === "")
      return searchPage(
        q,
        "Type an id or its start",
        emptyNotice(
          "Type the start of the id of an invoice, a customer, a subscription or a transaction, as your billing system gives it. Capital letters count.",
        ),
      );
    if (group !== undefined) return groupPage(visit, q, group, after, back);
    return (await redirectToExactHit(visit, q)) ?? resultsPage(visit, q);
  });
}

const searchPage = (q: string, note: HtmlPart, body: Html): Page => ({
  title: "Search",
  body: html`
<div class="bar"><form method="get" action="/search" class="find list-find" role="search" aria-label="All ids" data-search>${icon("find")}<input name="q" type="search" value="${q}" maxlength="255" placeholder="Start of an id" aria-label="Start of an invoice, customer, subscription or transaction id" autocomplete="off"></form><span class="soft small">${note}</span></div>
${body}`,
});

/** Invoices and transactions have a page. A customer's and a subscription's records are the results themselves. */
async function redirectToExactHit({ db, merchantId, reply }: Visit, q: string) {
  const { invoice, invoiceOfTransaction, isSubscription, isCustomer } = await findExactHits(db, merchantId, q);
  const hits = [invoice !== null, invoiceOfTransaction !== null, isSubscription, isCustomer].filter(Boolean).length;
  const target = invoice ?? invoiceOfTransaction;
  return hits === 1 && target !== null ? redirectTo(reply, `/invoices/${encodeURIComponent(target)}`) : null;
}

async function resultsPage(visit: Visit, q: string): Promise<Page> {
  const { db, merchantId } = visit;
  const search = { prefix: q, limit: GROUP_ROWS + 1 };
  const [invoices, customers, subscriptions, transactions] = await Promise.all([
    findInvoicesByPrefix(db, merchantId, search),
    findCustomersByPrefix(db, merchantId, search),
    findSubscriptionsByPrefix(db, merchantId, search),
    findTransactionsByPrefix(db, merchantId, search),
  ]);
  const customer = customers.find(({ id }) => id === q);
  const owned = customer && (await customerRecords(visit, customer));
  const cards = [
    groupCard(visit, q, "customers", customers),
    owned,
    groupCard(visit, q, "subscriptions", subscriptions),
    groupCard(visit, q, "invoices", invoices),
    groupCard(visit, q, "transactions", transactions),
  ].filter((each) => each);
  const note = `Ids that begin with “${q}”${customer ? ", and what belongs to them" : ""}`;
  return cards.length === 0 ? searchPage(q, note, nothingFound(q)) : searchPage(q, note, html`${cards}`);
}

const nothingFound = (q: string): Html =>
  emptyNotice(
    html`No invoice, customer, subscription or transaction has an id that begins with “${q}”. Type the id as your billing system gives it, from its first character. Capital letters count.`,
  );

async function customerRecords({ db, merchantId, person }: Visit, { id, invoices }: FoundCustomer): Promise<Html> {
  const [latest, subscriptions] = await Promise.all([
    latestInvoicesOfCustomer(db, merchantId, id, GROUP_ROWS),
    subscriptionsOfCustomer(db, merchantId, id, GROUP_ROWS),
  ]);
  const more = html`<a href="${withQuery("/invoices", new URLSearchParams(), { customerId: id })}">Invoices of this customer in recovery</a>`;
  return html`${subscriptions.length > 0 && resultCard("Subscriptions of this customer", null, plainListTable("Subscriptions of this customer", subscriptionColumns(null), subscriptions), null)}
${resultCard("Latest invoices of this customer", invoiceCount(invoices), plainListTable("Latest invoices of this customer", invoiceColumns(null, person.zone), latest), more)}`;
}

const invoiceCount = (n: number) =>
  n > CUSTOMER_INVOICES_MAX ? `${formatCount(CUSTOMER_INVOICES_MAX)}+` : formatCount(n);

const resultCard = (title: string, count: string | null, body: Html, foot: HtmlPart): Html =>
  html`<section class="card mb"><header><h2>${title}${count !== null && html` <span class="count">${count}</span>`}</h2></header>${body}${foot && html`<div class="foot">${foot}</div>`}</section>`;

type Rows = readonly (FoundInvoice | FoundCustomer | FoundSubscription | FoundTransaction)[];

/** @param found  one more than is shown if there are more */
function groupCard(visit: Visit, q: string, group: Group, found: Rows): Html | null {
  if (found.length === 0) return null;
  const hasMore = found.length > GROUP_ROWS;
  const count = hasMore ? `${GROUP_ROWS}+` : String(found.length);
  const more =
    hasMore &&
    html`<a href="${withQuery("/search", new URLSearchParams({ q }), { in: group })}">More ${TITLES[group].toLowerCase()}</a>`;
  return resultCard(TITLES[group], count, groupTable(group, q, found.slice(0, GROUP_ROWS), visit.person.zone), more);
}

function groupTable(group: Group, q: string, rows: Rows, zone: string): Html {
  const label = TITLES[group];
  if (group === "invoices") return plainListTable(label, invoiceColumns(q, zone), rows as FoundInvoice[]);
  if (group === "customers") return plainListTable(label, customerColumns(q), rows as FoundCustomer[]);
  if (group === "subscriptions") return plainListTable(label, subscriptionColumns(q), rows as FoundSubscription[]);
  return plainListTable(label, transactionColumns(q, zone), rows as FoundTransaction[]);
}

const FINDERS = {
  invoices: findInvoicesByPrefix,
  customers: findCustomersByPrefix,
  subscriptions: findSubscriptionsByPrefix,
  transactions: findTransactionsByPrefix,
} as const;

/** One group's hits, page by page. */
async function groupPage(visit: Visit, q: string, group: Group, after?: string, back?: string): Promise<Page> {
  const { db, merchantId, person } = visit;
  const search: IdSearch = {
    prefix: q,
    after: back === undefined ? after : undefined,
    before: back,
    limit: LIST_ROWS + 1,
  };
  const found: Rows = await FINDERS[group](db, merchantId, search);
  const shown = found.slice(0, LIST_ROWS);
  const rows = back === undefined ? shown : shown.toReversed();
  const hasMore = found.length > LIST_ROWS;
  const hasPrevious = back === undefined ? after !== undefined : hasMore;
  const hasNext = back === undefined ? hasMore : true;
  const all = new URLSearchParams({ q });
  const link = (words: string, rel: string, changes: Record<string, string> | false) =>
    changes
      ? html`<a class="button" rel="${rel}" href="${withQuery("/search", all, { in: group, ...changes })}">${words}</a>`
      : html`<span class="button off">${words}</span>`;
  const body =
    rows.length === 0
      ? nothingFound(q)
      : resultCard(TITLES[group], null, groupTable(group, q, rows, person.zone), null);
  return searchPage(
    q,
    html`${TITLES[group]} with an id that begins with “${q}”. <a href="${withQuery("/search", all, {})}">All results</a>`,
    html`${body}<nav class="pager" aria-label="Pages of the list"><span></span><span class="tools">${link("Previous", "prev", hasPrevious && rows.length > 0 && { back: rows[0]!.id })}${link("Next", "next", hasNext && rows.length > 0 && { after: rows.at(-1)!.id })}</span></nav>`,
  );
}

/** Marks the id that was typed. */
const markExact = (id: string, q: string | null, link: Html): Html => (id === q ? html`<mark>${link}</mark>` : link);

const listLink = (name: "customerId" | "subscriptionId", id: string): Html =>
  html`<a class="id" href="${withQuery("/invoices", new URLSearchParams(), { [name]: id })}" title="${id}">${id}</a>`;

const INVOICE_KINDS: Partial<Record<FoundInvoice["state"], StateKind>> = { UNPAID: "warn", PARTIALLY_PAID: "warn" };

const invoiceColumns = (q: string | null, zone: string): ListColumn<FoundInvoice>[] => [
  { head: "Id", cell: ({ id }) => markExact(id, q, invoiceLink(id)), place: "a" },
  {
    head: "State",
    cell: ({ state, outcome }) =>
      outcome === null ? stateLabel(toSpacedWords(state), INVOICE_KINDS[state] ?? "") : outcomeState(outcome),
    place: "c",
  },
  { head: "Customer", cell: ({ customerId }) => customerLink(customerId), isOptional: true },
  { head: "Created", cell: ({ createdAt }) => timeElement(createdAt, zone), place: "d" },
  { head: "Amount", cell: ({ amount, currency }) => formatMoney(amount, currency), isNumeric: true, place: "b" },
];

const customerColumns = (q: string): ListColumn<FoundCustomer>[] => [
  {
    head: "Id",
    cell: ({ id }) => (id === q ? markExact(id, q, listLink("customerId", id)) : customerLink(id)),
    place: "a",
  },
  {
    head: "State",
    cell: ({ openCases }) =>
      openCases > 0 ? stateLabel(`${formatCount(openCases)} in recovery`, "tide") : stateLabel("nothing open", ""),
    place: "c",
  },
  {
    head: "Has",
    cell: ({ invoices }) => `${invoiceCount(invoices)} ${invoices === 1 ? "invoice" : "invoices"}`,
    place: "d",
  },
  {
    head: "In recovery",
    cell: ({ due }) => due.map(({ currency, amount }) => formatMoney(BigInt(amount), currency)).join(", "),
    isNumeric: true,
    place: "b",
  },
];

const SUBSCRIPTION_KINDS: Partial<Record<FoundSubscription["state"], StateKind>> = { ACTIVE: "good", PAST_DUE: "warn" };

const subscriptionColumns = (q: string | null): ListColumn<FoundSubscription>[] => [
  { head: "Id", cell: ({ id }) => markExact(id, q, listLink("subscriptionId", id)), place: "a" },
  {
    head: "State",
    cell: ({ state }) => stateLabel(toSpacedWords(state), SUBSCRIPTION_KINDS[state] ?? ""),
    place: "c",
  },
  { head: "Customer", cell: ({ customerId }) => customerLink(customerId), isOptional: true },
  { head: "Plan", cell: ({ planId }) => planId, place: "d" },
  { head: "Amount", cell: ({ amount, currency }) => formatMoney(amount, currency), isNumeric: true, place: "b" },
];

const TRANSACTION_KINDS: Partial<Record<FoundTransaction["state"], StateKind>> = {
  PAID: "good",
  FAILED: "bad",
  DISPUTED: "bad",
};

const transactionColumns = (q: string, zone: string): ListColumn<FoundTransaction>[] => [
  {
    head: "Id",
    cell: ({ id, invoiceId }) =>
      markExact(id, q, html`<a class="id" href="/invoices/${encodeURIComponent(invoiceId)}" title="${id}">${id}</a>`),
    place: "a",
  },
  {
    head: "State",
    cell: ({ state }) => stateLabel(toSpacedWords(state), TRANSACTION_KINDS[state] ?? ""),
    place: "c",
  },
  { head: "Invoice", cell: ({ invoiceId }) => invoiceLink(invoiceId), isOptional: true },
  { head: "Created", cell: ({ createdAt }) => timeElement(createdAt, zone), place: "d" },
  { head: "Amount", cell: ({ amount, currency }) => formatMoney(amount, currency), isNumeric: true, place: "b" },
];
