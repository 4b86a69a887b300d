import { PAGE_SIZE_MAX, parseListQuery, STATUS_PREFIX, TYPE_PREFIX, toListing } from "../../actions-api/list-query.ts";
import { formatMajorUnits } from "../../domain/currency.ts";
import { ACTION_STATUSES, ACTION_TYPES, type ActionStatus } from "../../domain/recovery-action.ts";
import type { Tx } from "../../postgres/database.ts";
import { type ListedAction, readFirstPage, readPageAfter } from "../../tables/actions-list/action-list.ts";
import { type ActionListing, type Cursor, LISTING_ORDERS } from "../../tables/actions-list/action-listing.ts";
import { findInvoices } from "../../tables/invoices.ts";
import { redirectToCanonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { invoiceLink } from "../deliveries/delivery-list-page.ts";
import { type HtmlPart, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { isUuid, withQuery } from "../page-query.ts";
import { sendCsv } from "../show/csv-export.ts";
import { CA_HINT, curlCommand, ingestCommand } from "../show/curl-commands.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { formatCount, formatMoney } from "../show/number-format.ts";
import { countryName, stateLabel, toSpacedWords } from "../show/state-labels.ts";
import { commandHint, copyableText, emptyNotice, pageLinks, table } from "../show/table.ts";
import { formatZonedIso, timeElement, toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const PAGE_ROWS = 50;
const NORMALIZED_FIELDS = { times: ["executedAfter", "executedBefore"], uppercase: ["currency", "cardCountry"] };
const CSV_PAGE_ROWS = PAGE_SIZE_MAX * 10;

export function actionRoutes(console: Console) {
  console.page(
    "/actions",
    null,
    (visit) => redirectToCanonicalQuery(visit, NORMALIZED_FIELDS) ?? actionsPage(console, visit),
  );
  console.page("/actions.csv", null, ({ db, query, merchantId, person, reply }) => {
    const { listing } = parseListing(query);
    return sendCsv(reply, "recovery-actions.csv", HEADINGS, csvPages(db, merchantId, listing, person.zone));
  });
}

function parseListing(query: URLSearchParams) {
  const params = new URLSearchParams([...query].filter(([name, value]) => name !== "after" && value !== ""));
  for (const name of ["pageToken", "pageSize"])
    if (params.has(name)) throw new PageError(400, `"${name}" is available only in the API.`);
  const { filters, orderBy = "created_at", direction = "desc" } = parseListQuery(params.toString());
  return {
    asked: params,
    filters,
    orderBy,
    direction,
    listing: toListing(filters, orderBy, direction),
    after: parseCursor(query.get("after")),
  };
}

function parseCursor(text: string | null): { cursor: Cursor; total: number } | null {
  if (text === null || text === "") return null;
  const [at, id, total] = text.split("~");
  if (!/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/.test(at!) || !isUuid(id ?? "") || !/^\d{1,15}$/.test(total ?? ""))
    throw new PageError(400, '"after" is not the end of a page.');
  return { cursor: { at: at!, id: id! }, total: Number(total) };
}

async function actionsPage({ baseUrl, caPath }: Console, visit: Visit): Promise<Page> {
  const { db, query, path, merchantId, person } = visit;
  const { asked: params, filters, orderBy, direction, listing, after } = parseListing(query);
  const first = after === null ? await readFirstPage(db, merchantId, listing, PAGE_ROWS + 1) : null;
  const total = first?.total ?? after!.total;
  const readRows =
    first?.actions ?? (await readPageAfter(db, merchantId, listing, after!.cursor, total, PAGE_ROWS + 1));
  const rows = readRows.slice(0, PAGE_ROWS);
  const last = rows.at(-1);
  const next =
    readRows.length > PAGE_ROWS && last
      ? withQuery(path, query, { after: `${last.cursorAt}~${last.id}~${total}` })
      : null;
  const isFiltered = params.size > 0;
  const curl = `${curlCommand(caPath)} "${baseUrl}/v1/recovery_actions${isFiltered ? `?${params}` : ""}"`;
  const value = (name: string) => filters[name] ?? "";
  const local = (name: string) => (filters[name] ? toDatetimeLocal(new Date(filters[name]), person.zone) : "");
  return {
    title: "Recovery actions",
    tools: html`<a class="button" href="${withQuery("/actions.csv", params, {})}">Export CSV</a>`,
    body: html`
${first && html`<p class="lead">${formatCount(first.total)} ${first.total === 1 ? "action" : "actions"}${isFiltered && ` ${first.total === 1 ? "matches" : "match"} these filters`}</p>`}
<form method="get" class="filters" data-search>
${formField({ label: "Invoice", name: "invoiceId", value: value("invoiceId") })}
${formField({ label: "Customer", name: "customerId", value: value("customerId") })}
${formField({ label: "Subscription", name: "subscriptionId", value: value("subscriptionId") })}
${selectField("Status", "status", [["", "any"], ...ACTION_STATUSES.map((each) => [STATUS_PREFIX + each, toSpacedWords(each)] as const)], value("status"))}
${selectField("Type", "type", [["", "any"], ...ACTION_TYPES.map((each) => [TYPE_PREFIX + each, toSpacedWords(each)] as const)], value("type"))}
${formField({ label: "Card country", name: "cardCountry", value: value("cardCountry"), maxlength: 2, placeholder: "DE" })}
${formField({ label: "Currency", name: "currency", value: value("currency"), maxlength: 3, placeholder: "EUR" })}
${formField({ label: "Executed after", name: "executedAfter", type: "datetime-local", value: local("executedAfter") })}
${formField({ label: "Executed before", name: "executedBefore", type: "datetime-local", value: local("executedBefore") })}
${selectField(
  "Order",
  "orderBy",
  LISTING_ORDERS.map((each) => [each, toSpacedWords(each)] as const),
  orderBy,
)}
${selectField(
  "Direction",
  "orderDirection",
  [
    ["desc", "latest first"],
    ["asc", "earliest first"],
  ],
  direction,
)}
<button>Filter</button>${isFiltered && html`<a class="button" href="/actions">Clear</a>`}</form>
${rows.length > 0 ? await actionTable(db, merchantId, rows, person.zone) : isFiltered ? emptyNotice("No action matches these filters.") : noActionsNotice(visit, ingestCommand(baseUrl, caPath), caPath)}
${pageLinks(after === null, withQuery(path, query, { after: null }), next)}
<details class="more"><summary>Use the API</summary>${caPath && html`<p class="soft">${CA_HINT}</p>`}${copyableText("Command", curl)}</details>`,
  };
}

const noActionsNotice = ({ may }: Visit, command: string, caPath: string | null) =>
  html`<div class="empty"><p>No actions yet. Dunlin plans the first one when your billing system pushes an unpaid invoice. ${may("keys") ? html`<a href="/org/api_keys">Create a key for it</a>.` : "An owner, admin or developer can create a key for it."}</p>${commandHint(command, caPath && CA_HINT)}</div>`;

const STATUS_KINDS: Partial<Record<ActionStatus, "good" | "bad" | "warn">> = {
  SUCCEEDED: "good",
  FAILED: "bad",
  DELIVERY_FAILED: "bad",
  SENT: "warn",
  SCHEDULED: "warn",
};
export const actionState = (status: ActionStatus) => stateLabel(toSpacedWords(status), STATUS_KINDS[status] ?? "");

async function actionTable(tx: Tx, merchantId: string, rows: readonly ListedAction[], zone: string): Promise<HtmlPart> {
  const invoices = await findInvoices(tx, merchantId, [...new Set(rows.map(({ invoiceId }) => invoiceId))]);
  // As of the plan, if it was stored.
  const amount = ({ invoiceId, amountDue, currency }: ListedAction) => {
    const invoice = invoices.get(invoiceId);
    return amountDue === null
      ? invoice && formatMoney(invoice.amount, invoice.currency)
      : formatMoney(amountDue, currency);
  };
  return table(
    "Recovery actions",
    [
      { head: "Created", cell: ({ createdAt }) => timeElement(new Date(createdAt), zone) },
      { head: "Type", cell: ({ type }) => html`<span class="whole">${toSpacedWords(type)}</span>` },
      { head: "Status", cell: ({ status }) => actionState(status) },
      { head: "Planned for", cell: ({ idealRetryTime }) => timeElement(new Date(idealRetryTime), zone) },
      {
        head: "Executed",
        cell: ({ executedAt }) => timeElement(executedAt === null ? null : new Date(executedAt), zone),
      },
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
  const { total, actions } = await readFirstPage(tx, merchantId, listing, CSV_PAGE_ROWS);
  for (let rows = actions; ; ) {
    const last = rows.at(-1);
    if (!last) return;
    const invoices = await findInvoices(tx, merchantId, [...new Set(rows.map(({ invoiceId }) => invoiceId))]);
    yield rows.map((row) => {
      const amount = row.amountDue ?? invoices.get(row.invoiceId)?.amount ?? null;
      return [
        row.id,
        row.createdAt,
        formatZonedIso(new Date(row.createdAt), zone),
        row.type,
        row.status,
        row.invoiceId,
        row.customerId,
        row.subscriptionId,
        row.transactionId,
        amount,
        amount === null ? null : formatMajorUnits(amount, row.currency),
        row.currency,
        row.cardCountry,
        row.idealRetryTime,
        row.executedAt,
        row.executedAt && formatZonedIso(new Date(row.executedAt), zone),
        row.reasons.join(" "),
      ];
    });
    rows = await readPageAfter(tx, merchantId, listing, { at: last.cursorAt, id: last.id }, total, CSV_PAGE_ROWS);
  }
}
