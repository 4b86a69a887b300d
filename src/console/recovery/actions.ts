import { PAGE_SIZE_MAX, readQuery, STATUS_PREFIX, TYPE_PREFIX, toListing } from "../../api/list/query.ts";
import { majorText } from "../../domain/currency.ts";
import { ACTION_STATUSES, ACTION_TYPES, type ActionStatus } from "../../domain/recovery-action.ts";
import { actionsAfter, firstActions, type ListedAction } from "../../store/action-list.ts";
import { type ActionListing, type Cursor, ORDERS } from "../../store/action-listing.ts";
import type { Tx } from "../../store/database.ts";
import { findInvoices } from "../../store/invoices.ts";
import { canonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { invoiceLink } from "../deliveries/list.ts";
import type { Page } from "../frame.ts";
import { html, type Part } from "../html.ts";
import { PageError } from "../page-error.ts";
import { isUuid, withQuery } from "../query.ts";
import { CA_HINT, curlOf, ingestCommand } from "../show/commands.ts";
import { sendCsv } from "../show/csv.ts";
import { choice, field } from "../show/fields.ts";
import { localField, moment, zonedIso } from "../show/moments.ts";
import { count, money } from "../show/money.ts";
import { byCommand, copyable, empty, paging, table } from "../show/table.ts";
import { countryName, spaced, state } from "../show/words.ts";
import type { Visit } from "../visit.ts";

const PAGE = 50;
const TYPED = { moments: ["executedAfter", "executedBefore"], capitals: ["currency", "cardCountry"] };
/** Rows of the export that are read at once. */
const CSV_ROWS = PAGE_SIZE_MAX * 10;

/** Recovery actions with the filters that the API has, under the same names. */
export function actionRoutes(console: Console) {
  console.page("/actions", null, (visit) => canonicalQuery(visit, TYPED) ?? actionsPage(console, visit));
  console.page("/actions.csv", null, ({ db, query, merchantId, person, reply }) => {
    const { listing } = listingOf(query);
    return sendCsv(reply, "recovery-actions.csv", HEADINGS, csvPages(db, merchantId, listing, person.zone));
  });
}

/** The listing that an address asks for. What is wrong with it is said as the API says it. */
function listingOf(query: URLSearchParams) {
  const asked = new URLSearchParams([...query].filter(([name, value]) => name !== "after" && value !== ""));
  for (const name of ["pageToken", "pageSize"])
    if (asked.has(name)) throw new PageError(400, `"${name}" is for programs.`);
  const { filters, orderBy = "created_at", direction = "desc" } = readQuery(asked.toString());
  return {
    asked,
    filters,
    orderBy,
    direction,
    listing: toListing(filters, orderBy, direction),
    after: afterOf(query.get("after")),
  };
}

/** The end of the page before, and the number of actions that the first page counted. */
function afterOf(text: string | null): { cursor: Cursor; total: number } | null {
  if (text === null || text === "") return null;
  const [at, id, total] = text.split("~");
  if (!/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/.test(at!) || !isUuid(id ?? "") || !/^\d{1,15}$/.test(total ?? ""))
    throw new PageError(400, '"after" does not say where a page begins.');
  return { cursor: { at: at!, id: id! }, total: Number(total) };
}

async function actionsPage({ baseUrl, caPath }: Console, visit: Visit): Promise<Page> {
  const { db, query, path, merchantId, person } = visit;
  const { asked, filters, orderBy, direction, listing, after } = listingOf(query);
  const first = after === null ? await firstActions(db, merchantId, listing, PAGE + 1) : null;
  const total = first?.total ?? after!.total;
  const found = first?.actions ?? (await actionsAfter(db, merchantId, listing, after!.cursor, total, PAGE + 1));
  const rows = found.slice(0, PAGE);
  const last = rows.at(-1);
  const next =
    found.length > PAGE && last ? withQuery(path, query, { after: `${last.cursorAt}~${last.id}~${total}` }) : null;
  const isFiltered = asked.size > 0;
  const curl = `${curlOf(caPath)} "${baseUrl}/v1/recovery_actions${isFiltered ? `?${asked}` : ""}"`;
  const value = (name: string) => filters[name] ?? "";
  const local = (name: string) => (filters[name] ? localField(new Date(filters[name]), person.zone) : "");
  return {
    title: "Recovery actions",
    tools: html`<a class="button" href="${withQuery("/actions.csv", asked, {})}">Export CSV</a>`,
    body: html`
${first && html`<p class="lead">${count(first.total)} ${first.total === 1 ? "action" : "actions"}${isFiltered && " in the filter"}</p>`}
<form method="get" class="filters" data-search>
${field({ label: "Invoice", name: "invoiceId", value: value("invoiceId") })}
${field({ label: "Customer", name: "customerId", value: value("customerId") })}
${field({ label: "Subscription", name: "subscriptionId", value: value("subscriptionId") })}
${choice("Status", "status", [["", "any"], ...ACTION_STATUSES.map((each) => [STATUS_PREFIX + each, spaced(each)] as const)], value("status"))}
${choice("Type", "type", [["", "any"], ...ACTION_TYPES.map((each) => [TYPE_PREFIX + each, spaced(each)] as const)], value("type"))}
${field({ label: "Card country", name: "cardCountry", value: value("cardCountry"), maxlength: 2, placeholder: "DE" })}
${field({ label: "Currency", name: "currency", value: value("currency"), maxlength: 3, placeholder: "EUR" })}
${field({ label: "Executed after", name: "executedAfter", type: "datetime-local", value: local("executedAfter") })}
${field({ label: "Executed before", name: "executedBefore", type: "datetime-local", value: local("executedBefore") })}
${choice(
  "Order",
  "orderBy",
  ORDERS.map((each) => [each, spaced(each)] as const),
  orderBy,
)}
${choice(
  "Direction",
  "orderDirection",
  [
    ["desc", "latest first"],
    ["asc", "earliest first"],
  ],
  direction,
)}
<button>Filter</button>${isFiltered && html`<a class="button" href="/actions">Clear</a>`}</form>
${rows.length > 0 ? await actionTable(db, merchantId, rows, person.zone) : isFiltered ? empty("No action fits these filters.") : none(visit, ingestCommand(baseUrl, caPath), caPath)}
${paging(after === null, withQuery(path, query, { after: null }), next)}
<details class="more"><summary>The same by the API</summary>${caPath && html`<p class="soft">${CA_HINT}</p>`}${copyable("Command", curl)}</details>`,
  };
}

/** Before anything was pushed. */
const none = ({ may }: Visit, command: string, caPath: string | null) =>
  html`<div class="empty"><p>No action yet. Dunlin plans the first one when your billing system pushes an unpaid invoice. ${may("keys") ? html`<a href="/org/api_keys">Make a key for it</a>.` : "An owner, admin or developer makes a key for it."}</p>${byCommand(command, caPath && CA_HINT)}</div>`;

const KINDS: Partial<Record<ActionStatus, "good" | "bad" | "warn">> = {
  SUCCEEDED: "good",
  FAILED: "bad",
  DELIVERY_FAILED: "bad",
  SENT: "warn",
  SCHEDULED: "warn",
};
export const actionState = (status: ActionStatus) => state(spaced(status), KINDS[status] ?? "");

async function actionTable(tx: Tx, merchantId: string, rows: readonly ListedAction[], zone: string): Promise<Part> {
  const invoices = await findInvoices(tx, merchantId, [...new Set(rows.map(({ invoiceId }) => invoiceId))]);
  // The amount due when the action was planned, if it was stored.
  const amount = ({ invoiceId, amountDue, currency }: ListedAction) => {
    const invoice = invoices.get(invoiceId);
    return amountDue === null ? invoice && money(invoice.amount, invoice.currency) : money(amountDue, currency);
  };
  return table(
    "Recovery actions",
    [
      { head: "Created", cell: ({ createdAt }) => moment(new Date(createdAt), zone) },
      { head: "Type", cell: ({ type }) => html`<span class="whole">${spaced(type)}</span>` },
      { head: "Status", cell: ({ status }) => actionState(status) },
      { head: "Planned for", cell: ({ idealRetryTime }) => moment(new Date(idealRetryTime), zone) },
      { head: "Executed", cell: ({ executedAt }) => moment(executedAt === null ? null : new Date(executedAt), zone) },
      { head: "Invoice", cell: ({ invoiceId }) => invoiceLink(invoiceId) },
      { head: "Customer", cell: ({ customerId }) => html`<span class="id" title="${customerId}">${customerId}</span>` },
      { head: "Amount", cell: amount, numeric: true },
      {
        head: "Country",
        cell: ({ cardCountry }) => cardCountry && html`<span class="whole">${countryName(cardCountry)}</span>`,
      },
    ],
    rows,
  );
}

const HEADINGS = [
  "id",
  "created_at_utc",
  "created_at",
  "type",
  "status",
  "invoice_id",
  "customer_id",
  "subscription_id",
  "transaction_id",
  "amount_minor",
  "amount",
  "currency",
  "card_country",
  "planned_for_utc",
  "executed_at_utc",
  "executed_at",
  "reasons",
];

async function* csvPages(tx: Tx, merchantId: string, listing: ActionListing, zone: string) {
  const { total, actions } = await firstActions(tx, merchantId, listing, CSV_ROWS);
  for (let rows = actions; ; ) {
    const last = rows.at(-1);
    if (!last) return;
    const invoices = await findInvoices(tx, merchantId, [...new Set(rows.map(({ invoiceId }) => invoiceId))]);
    yield rows.map((row) => {
      const owed = row.amountDue ?? invoices.get(row.invoiceId)?.amount ?? null;
      return [
        row.id,
        row.createdAt,
        zonedIso(new Date(row.createdAt), zone),
        row.type,
        row.status,
        row.invoiceId,
        row.customerId,
        row.subscriptionId,
        row.transactionId,
        owed,
        owed === null ? null : majorText(owed, row.currency),
        row.currency,
        row.cardCountry,
        row.idealRetryTime,
        row.executedAt,
        row.executedAt && zonedIso(new Date(row.executedAt), zone),
        row.reasons.join(" "),
      ];
    });
    rows = await actionsAfter(tx, merchantId, listing, { at: last.cursorAt, id: last.id }, total, CSV_ROWS);
  }
}
