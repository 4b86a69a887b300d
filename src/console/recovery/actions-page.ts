import { PAGE_SIZE_MAX, parseListQuery, STATUS_PREFIX, TYPE_PREFIX, toListing } from "../../actions-api/list-query.ts";
import { valueLabel } from "../../analytics/dimension-labels.ts";
import { formatMajorUnits } from "../../domain/currency.ts";
import {
  ACTION_STATUSES,
  ACTION_TYPES,
  type ActionStatus,
  OPEN_ACTION_STATUSES,
} from "../../domain/recovery-action.ts";
import { findDeclineGroup } from "../../engine/rules/interpret-decline.ts";
import type { Tx } from "../../postgres/database.ts";
import { declineCodesOf, instrumentOf } from "../../recovery/build-decision-facts.ts";
import { countByStatus, sumActions } from "../../tables/actions-list/action-figures.ts";
import { type ListedAction, readPageAfter } from "../../tables/actions-list/action-list.ts";
import type { ActionListing, ListingOrder } from "../../tables/actions-list/action-listing.ts";
import { findCasesByPrefix } from "../../tables/id-prefix.ts";
import { findInvoices } from "../../tables/invoices.ts";
import { findLastDeclines } from "../../tables/last-declines.ts";
import { redirectToCanonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { customerLink, invoiceLink } from "../deliveries/delivery-list-page.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { identifierReader, isInvalidParameter, isUuid, withQuery } from "../page-query.ts";
import { loadViewMenu } from "../saved-view-routes.ts";
import { sendCsv } from "../show/csv-export.ts";
import { CA_HINT, curlCommand, ingestCommand } from "../show/curl-commands.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { icon } from "../show/icons.ts";
import {
  filtersOf,
  type ListColumn,
  type ListFilter,
  listHref,
  listTable,
  listTools,
  onlyOnPhone,
} from "../show/list-page.ts";
import { COUNTED_MAX, pager, readListRows, readPosition } from "../show/list-paging.ts";
import { formatCount, formatMoney } from "../show/number-format.ts";
import { drop } from "../show/parts.ts";
import { countryName, type StateKind, stateLabel, toSpacedWords } from "../show/state-labels.ts";
import { commandHint, copyableText, emptyNotice } from "../show/table.ts";
import { formatTime, formatZonedIso, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const NORMALIZED_FIELDS = { times: ["executedAfter", "executedBefore"], uppercase: ["currency", "cardCountry"] };
const USUAL_ORDER = "created_at";
const CSV_PAGE_ROWS = PAGE_SIZE_MAX * 10;

export function actionRoutes(console: Console) {
  console.page(
    "/actions",
    null,
    (visit) => redirectToCanonicalQuery(visit, NORMALIZED_FIELDS) ?? actionsPage(console, visit),
  );
  console.page("/actions.csv", null, async ({ db, query, merchantId, person, reply }) => {
    const listing = await findListing(db, merchantId, parseListing(query));
    return sendCsv(reply, "recovery-actions.csv", HEADINGS, csvPages(db, merchantId, listing, person.zone));
  });
}

/** As a status in the address. The API has none for several statuses. */
const OPEN = "open";

/** The API's parameters, `q`, and `status=open`. */
function parseListing(query: URLSearchParams) {
  const params = filtersOf(query);
  const q = params.get("q");
  params.delete("q");
  const isOpen = params.get("status") === OPEN;
  if (isOpen) params.delete("status");
  const prefix = q === null ? null : identifierReader(q);
  if (isInvalidParameter(prefix)) throw new PageError(400, `"q" ${prefix.wrong}.`, "q");
  for (const name of ["pageToken", "pageSize"])
    if (params.has(name)) throw new PageError(400, `"${name}" is available only in the API.`);
  const { filters, orderBy = USUAL_ORDER, direction = "desc" } = parseListQuery(params.toString());
  const listing = toListing(filters, orderBy, direction);
  if (isOpen) listing.filters.status = "OPEN";
  return { params, filters, prefix, isOpen, orderBy, listing };
}
type ParsedListing = ReturnType<typeof parseListing>;

async function findListing(tx: Tx, merchantId: string, { listing, prefix }: ParsedListing): Promise<ActionListing> {
  return prefix === null ? listing : { ...listing, found: await findCasesByPrefix(tx, merchantId, prefix) };
}

const isActionCursor = (key: string, id: string) => /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/.test(key) && isUuid(id);

async function actionsPage(console: Console, visit: Visit): Promise<Page> {
  const { db, query, path, merchantId, person } = visit;
  const parsed = parseListing(query);
  const position = readPosition(query, isActionCursor);
  const listing = await findListing(db, merchantId, parsed);
  const [figures, views] = await Promise.all([readFigures(db, merchantId, listing), loadViewMenu(visit)]);
  const page = await readListRows(position, (cursor, isBack, limit) =>
    readPageAfter(
      db,
      merchantId,
      { ...listing, descending: listing.descending !== isBack },
      cursor && { at: cursor.key, id: cursor.id },
      figures.total ?? 0,
      limit,
    ),
  );
  const isFiltered = filtersOf(query).size > 0;
  const total = figures.total === null ? null : formatCount(figures.total);
  const order = { orderBy: listing.orderBy, isAscending: !listing.descending, usual: USUAL_ORDER };
  return {
    title: "Recovery actions",
    tools: html`<a class="button" href="${withQuery("/actions.csv", filtersOf(query), {})}">${icon("down")}CSV</a>${apiMenu(console, parsed)}`,
    body: html`${listTools({
      path,
      query,
      searched: "an invoice, customer or subscription id",
      states: { label: "Status", choices: statusChoices(parsed, figures, visit) },
      filters: actionFilters(parsed, person.zone),
      figures: figuresText(figures),
      views,
    })}
${page.rows.length > 0 ? listTable("Recovery actions", await actionColumns(db, merchantId, page.rows, listing, person.zone), page.rows, order, visit) : isFiltered ? emptyNotice("No action matches these filters.") : noActionsNotice(visit, ingestCommand(console.baseUrl, console.caPath), console.caPath)}
${pager(page, total, ({ cursorAt, id }) => [cursorAt, id], visit)}`,
  };
}

interface Figures {
  /** null if a search found too much to count. */
  byStatus: ReadonlyMap<ActionStatus, number> | null;
  total: number | null;
  /** null if there is too much to add. */
  sums: Awaited<ReturnType<typeof sumActions>> | null;
}

async function readFigures(tx: Tx, merchantId: string, listing: ActionListing): Promise<Figures> {
  const counts = await readCounts(tx, merchantId, listing);
  const canAdd = counts.total !== null && counts.total <= COUNTED_MAX;
  return { ...counts, sums: canAdd ? await sumActions(tx, merchantId, listing) : null };
}

async function readCounts(tx: Tx, merchantId: string, listing: ActionListing): Promise<Omit<Figures, "sums">> {
  if (listing.found && "range" in listing.found) return { byStatus: null, total: null };
  const byStatus = await countByStatus(tx, merchantId, listing);
  const { status } = listing.filters;
  if (status === undefined) return { byStatus, total: sumOf(byStatus.values()) };
  return { byStatus, total: status === "OPEN" ? countOpen(byStatus) : (byStatus.get(status) ?? 0) };
}

const countOpen = (byStatus: ReadonlyMap<ActionStatus, number>) =>
  sumOf(OPEN_ACTION_STATUSES.map((status) => byStatus.get(status) ?? 0));
const isOpenStatus = (status: ActionStatus) => OPEN_ACTION_STATUSES.some((each) => each === status);

const sumOf = (counts: Iterable<number>) => [...counts].reduce((sum, n) => sum + n, 0);

const figuresText = ({ total, sums }: Figures) =>
  total === null
    ? "Many actions match. A longer start finds fewer."
    : [
        `${formatCount(total)} ${total === 1 ? "action" : "actions"}`,
        ...(sums ?? []).map(({ amount, currency }) => formatMoney(BigInt(amount), currency)),
      ].join(", ");

/** All, the open ones together, and the other statuses that occur or are chosen. */
function statusChoices({ filters, isOpen }: ParsedListing, { byStatus }: Figures, { path, query }: Visit) {
  const choice = (words: string, status: string | null, isCurrent: boolean, n = 0) => ({
    words: html`${words} ${byStatus !== null && html`<span class="count">${formatCount(n)}</span>`}`,
    href: listHref(path, query, { status }),
    isCurrent,
  });
  const openCount = byStatus ? countOpen(byStatus) : 0;
  const others = ACTION_STATUSES.filter((each) => !isOpenStatus(each)).filter(
    (each) => byStatus === null || byStatus.has(each) || filters.status === STATUS_PREFIX + each,
  );
  return [
    choice("All", null, filters.status === undefined && !isOpen, sumOf(byStatus?.values() ?? [])),
    ...(byStatus === null || openCount > 0 || isOpen ? [choice("Open", OPEN, isOpen, openCount)] : []),
    ...others.map((each) =>
      choice(
        capitalize(toSpacedWords(each)),
        STATUS_PREFIX + each,
        filters.status === STATUS_PREFIX + each,
        byStatus?.get(each),
      ),
    ),
  ];
}

const capitalize = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

/** One of the open statuses by itself. All others have a segment. */
function openStatusFilter({ filters, isOpen }: ParsedListing): ListFilter {
  const chosen = OPEN_ACTION_STATUSES.find((each) => filters.status === STATUS_PREFIX + each);
  const statuses = OPEN_ACTION_STATUSES.map((each) => [STATUS_PREFIX + each, toSpacedWords(each)] as const);
  const isFree = filters.status === undefined && !isOpen;
  return {
    name: "status",
    label: "Status",
    words: chosen ? toSpacedWords(chosen) : null,
    field: isFree ? selectField("Status", "status", [["", "any"], ...statuses], "") : null,
  };
}

const ORDER_WORDS: Readonly<Record<ListingOrder, string>> = {
  created_at: "created",
  executed_at: "executed",
  updated_at: "updated",
};

/** Most orders have no head on the page to choose them by. */
const orderChoice = (orderBy: ListingOrder): ListFilter => ({
  name: "orderBy",
  label: "Order",
  words: orderBy === USUAL_ORDER ? null : ORDER_WORDS[orderBy],
  field: selectField(
    "Order",
    "orderBy",
    (["created_at", "executed_at", "updated_at"] as const).map(
      (each) => [each === USUAL_ORDER ? "" : each, ORDER_WORDS[each]] as const,
    ),
    "",
  ),
  needed: ["orderDirection"],
});

function actionFilters(parsed: ParsedListing, zone: string): ListFilter[] {
  const { filters, orderBy } = parsed;
  const value = (name: string) => filters[name] ?? null;
  const text = (name: string, label: string, more = {}): ListFilter => ({
    name,
    label,
    words: value(name),
    field: formField({ label, name, ...more }),
  });
  const time = (name: string, label: string): ListFilter => ({
    ...text(name, label, { type: "datetime-local" }),
    words: filters[name] ? formatTime(new Date(filters[name]), zone) : null,
  });
  const types = ACTION_TYPES.map((each) => [TYPE_PREFIX + each, toSpacedWords(each)] as const);
  return [
    {
      name: "type",
      label: "Type",
      words: filters.type ? toSpacedWords(filters.type.slice(TYPE_PREFIX.length)) : null,
      field: selectField("Type", "type", [["", "any"], ...types], ""),
    },
    openStatusFilter(parsed),
    text("currency", "Currency", { maxlength: 3, placeholder: "EUR" }),
    {
      ...text("cardCountry", "Card country", { maxlength: 2, placeholder: "DE" }),
      words: countryName(value("cardCountry")),
    },
    time("executedAfter", "Executed after"),
    time("executedBefore", "Executed before"),
    text("invoiceId", "Invoice"),
    text("customerId", "Customer"),
    text("subscriptionId", "Subscription"),
    { ...text("transactionId", "Transaction"), field: null },
    orderChoice(orderBy),
  ];
}

function apiMenu({ baseUrl, caPath }: Console, { params, prefix, isOpen }: ParsedListing): Html {
  const curl = `${curlCommand(caPath)} "${baseUrl}/v1/recovery_actions${params.size > 0 ? `?${params}` : ""}"`;
  return drop(
    "By the API",
    html`${prefix !== null && html`<p class="soft">The API has no search by the start of an id.</p>`}${isOpen && html`<p class="soft">The API has no filter for all open actions: ask for each status.</p>`}${caPath && html`<p class="soft">${CA_HINT}</p>`}${copyableText("Command", curl)}`,
    "end api-menu",
  );
}

const noActionsNotice = ({ may }: Visit, command: string, caPath: string | null) =>
  html`<div class="empty"><p>No actions yet. Dunlin plans the first one when your billing system pushes an unpaid invoice. ${may("keys") ? html`<a href="/org/api_keys">Create a key for it</a>.` : "An owner, admin or developer can create a key for it."}</p>${commandHint(command, caPath && CA_HINT)}</div>`;

const STATUS_KINDS: Partial<Record<ActionStatus, StateKind>> = {
  SUCCEEDED: "good",
  FAILED: "bad",
  DELIVERY_FAILED: "bad",
  EXPIRED: "warn",
  SCHEDULED: "tide",
};
export const actionState = (status: ActionStatus) => stateLabel(toSpacedWords(status), STATUS_KINDS[status] ?? "");

async function actionColumns(
  tx: Tx,
  merchantId: string,
  rows: readonly ListedAction[],
  listing: ActionListing,
  zone: string,
): Promise<ListColumn<ListedAction>[]> {
  const invoiceIds = [...new Set(rows.map(({ invoiceId }) => invoiceId))];
  const [invoices, declines] = await Promise.all([
    findInvoices(tx, merchantId, invoiceIds),
    findLastDeclines(tx, merchantId, invoiceIds),
  ]);
  const declineWords = ({ invoiceId }: ListedAction) => {
    const decline = declines.get(invoiceId);
    return decline && valueLabel("reason", findDeclineGroup(declineCodesOf(decline), instrumentOf(decline)));
  };
  // As of the plan, if it was stored.
  const amount = ({ invoiceId, amountDue, currency }: ListedAction) => {
    const invoice = invoices.get(invoiceId);
    return amountDue === null
      ? invoice && formatMoney(invoice.amount, invoice.currency)
      : formatMoney(amountDue, currency);
  };
  const time = (at: string | null) => timeElement(at === null ? null : new Date(at), zone);
  return [
    { head: "Created", cell: ({ createdAt }) => time(createdAt), place: "d", orderBy: USUAL_ORDER },
    { head: "Invoice", cell: ({ invoiceId }) => invoiceLink(invoiceId), place: "a" },
    {
      head: "Customer",
      cell: ({ customerId }) => customerLink(customerId),
      isOptional: true,
    },
    { head: "Type", cell: ({ type }) => html`<span class="whole">${toSpacedWords(type)}</span>` },
    {
      head: "Status",
      cell: ({ status, type }) => html`${actionState(status)}${onlyOnPhone(toSpacedWords(type))}`,
      place: "c",
    },
    { head: "Last decline", cell: declineWords },
    timeColumn(listing, time),
    {
      head: "Card",
      cell: ({ cardCountry }) => cardCountry && html`<abbr title="${countryName(cardCountry)!}">${cardCountry}</abbr>`,
      isOptional: true,
    },
    { head: "Amount", cell: amount, isNumeric: true, place: "b" },
  ];
}

/** Beside the creation: a usual window has room for one more time. */
function timeColumn(
  { orderBy, filters: { status, executedAfter, executedBefore } }: ActionListing,
  time: (at: string | null) => HtmlPart,
): ListColumn<ListedAction> {
  if (orderBy === "updated_at") return { head: "Updated", cell: ({ updatedAt }) => time(updatedAt), orderBy };
  const isExecuted = status === "SUCCEEDED" || status === "FAILED" || Boolean(executedAfter ?? executedBefore);
  return isExecuted || orderBy === "executed_at"
    ? { head: "Executed", cell: ({ executedAt }) => time(executedAt), orderBy: "executed_at" }
    : { head: "Planned for", cell: ({ idealRetryTime }) => time(idealRetryTime) };
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
  const total = (await readCounts(tx, merchantId, listing)).total ?? 0;
  let last: ListedAction | undefined;
  for (;;) {
    const cursor = last ? { at: last.cursorAt, id: last.id } : null;
    const rows = await readPageAfter(tx, merchantId, listing, cursor, total, CSV_PAGE_ROWS);
    last = rows.at(-1);
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
  }
}
