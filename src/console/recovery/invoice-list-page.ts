import { valueLabel } from "../../analytics/dimension-labels.ts";
import { endingBefore, requestedBefore } from "../../attention/list-attention.ts";
import { formatMajorUnits } from "../../domain/currency.ts";
import type { RecoveryRule } from "../../domain/recovery-rule.ts";
import { DECLINE_GROUPS } from "../../engine/rules/decline-groups.ts";
import type { Tx } from "../../postgres/database.ts";
import { findCasesByPrefix } from "../../tables/id-prefix.ts";
import { listConflicts } from "../../tables/invoice-conflicts.ts";
import {
  ATTENTION_FILTERS,
  type AttentionFilter,
  countByOutcome,
  INVOICE_ORDERS,
  type InvoiceFilter,
  type InvoiceOrder,
  type ListedInvoice,
  listInvoices,
  OUTCOMES,
  type Outcome,
  sumInvoices,
} from "../../tables/invoice-list.ts";
import { listRecoveryRules } from "../../tables/recovery-rules.ts";
import { redirectToCanonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { customerLink, invoiceLink } from "../deliveries/delivery-list-page.ts";
import { html } from "../html.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import {
  enumReader,
  identifierReader,
  isUuid,
  parsePageQuery,
  utcTimeReader,
  uuidReader,
  withQuery,
} from "../page-query.ts";
import { loadViewMenu } from "../saved-view-routes.ts";
import { readInPages, sendCsv } from "../show/csv-export.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { icon } from "../show/icons.ts";
import {
  filtersOf,
  type ListColumn,
  type ListFilter,
  listHref,
  listTable,
  listTools,
  SAVED,
} from "../show/list-page.ts";
import {
  COUNTED_MAX,
  formatCountUpTo,
  type ListPosition,
  pager,
  readListRows,
  readPosition,
} from "../show/list-paging.ts";
import { formatMoney } from "../show/number-format.ts";
import { type StateKind, stateLabel, toSpacedWords } from "../show/state-labels.ts";
import { emptyNotice } from "../show/table.ts";
import { formatTime, formatZonedIso, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { CONFLICTS_SHOWN, conflictList } from "./conflict-list.ts";

const CSV_PAGE_ROWS = 1_000;
const USUAL_ORDER = "opened_at";

const CONTRADICTORY = "contradictory";
/** Contradictory invoices may have no case, so they are a list of their own. */
const CONTRADICTORY_SHOWN = 1_000;
const ATTENTION_LABELS: Readonly<Record<AttentionFilter | typeof CONTRADICTORY, string>> = {
  ending: "window ends within 3 days",
  card_change: "card change without an answer",
  large: "large",
  contradictory: "contradictory data",
};
const ATTENTION_LIMITS: Readonly<Record<AttentionFilter, (now: Date) => Date>> = {
  ending: endingBefore,
  card_change: requestedBefore,
  large: (now) => now,
};

/** An empty parameter is missing, so an unknown value has a word. */
const UNKNOWN_REASON = "unknown";
const textReader = (text: string) => text;
const QUERY_READERS = {
  [SAVED]: identifierReader,
  q: identifierReader,
  outcome: enumReader(OUTCOMES),
  invoiceId: identifierReader,
  customerId: identifierReader,
  subscriptionId: identifierReader,
  currency: (text: string) =>
    /^[A-Z]{3}$/.test(text) ? text : { wrong: "must be three capital letters, such as EUR" },
  reason: enumReader([...DECLINE_GROUPS, UNKNOWN_REASON]),
  endedFrom: utcTimeReader,
  endedTo: utcTimeReader,
  leftOutBy: uuidReader,
  attention: enumReader([...ATTENTION_FILTERS, CONTRADICTORY]),
  orderBy: enumReader(INVOICE_ORDERS),
  orderDirection: enumReader(["asc", "desc"]),
  before: uuidReader,
  after: textReader,
  back: textReader,
};

export const OUTCOME_LABELS: Record<Outcome, string> = {
  open: "in recovery",
  recovered: "recovered",
  paid: "paid without an instruction",
  lost: "not recovered",
  stopped: "nothing to recover",
  watched: "observed",
};
const OUTCOME_KINDS: Record<Outcome, StateKind> = {
  open: "tide",
  recovered: "good",
  paid: "good",
  lost: "bad",
  stopped: "",
  watched: "",
};
export const outcomeState = (outcome: Outcome) => stateLabel(OUTCOME_LABELS[outcome], OUTCOME_KINDS[outcome]);

export function invoiceListRoutes(console: Console) {
  console.page(
    "/invoices",
    null,
    (visit) =>
      redirectToCanonicalQuery(visit, { times: ["endedFrom", "endedTo"], uppercase: ["currency"] }) ??
      listPage(visit, console.ports.now()),
  );
  console.page("/invoices.csv", null, async ({ db, query, merchantId, person: { zone }, reply }) => {
    const { filter, orderBy, isAscending, position } = await readListing(db, merchantId, query, console.ports.now());
    const start = position.isBack ? null : position.cursor;
    const pages = readInPages(
      CSV_PAGE_ROWS,
      (last: ListedInvoice | null) => {
        const after = last ? { key: last.cursorKey, id: last.caseId } : (start ?? undefined);
        return listInvoices(db, merchantId, filter, { orderBy, isAscending, after }, CSV_PAGE_ROWS);
      },
      (row) => csvCells(row, zone),
    );
    return sendCsv(reply, "invoices.csv", HEADINGS, pages);
  });
}

const csvCells = (row: ListedInvoice, zone: string) => [
  row.invoiceId,
  row.customerId,
  row.subscriptionId,
  row.outcome,
  row.endReason,
  row.amount,
  formatMajorUnits(row.amount, row.currency),
  row.currency,
  row.openedAt.toISOString(),
  formatZonedIso(row.openedAt, zone),
  row.endedAt?.toISOString() ?? null,
  row.endedAt && formatZonedIso(row.endedAt, zone),
  row.requestedRetries,
  row.nextAt?.toISOString() ?? null,
];

const HEADINGS = [
  "invoice_id",
  "customer_id",
  "subscription_id",
  "outcome",
  "end_reason",
  "amount_minor",
  "amount",
  "currency",
  "opened_at_utc",
  "opened_at",
  "ended_at_utc",
  "ended_at",
  "retries_asked_for",
  "next_action_at_utc",
];

interface Listing {
  filter: InvoiceFilter;
  orderBy: InvoiceOrder;
  isAscending: boolean;
  position: ListPosition;
}

async function readListing(tx: Tx, merchantId: string, query: URLSearchParams, now: Date): Promise<Listing> {
  const {
    q,
    orderBy = USUAL_ORDER,
    orderDirection,
    before,
    after: _,
    back: __,
    attention,
    reason,
    [SAVED]: _saved,
    ...rest
  } = parsePageQuery(query, QUERY_READERS);
  if (orderBy === "amount" && rest.currency === undefined)
    throw new PageError(400, 'The order "amount" needs the filter "currency".', "orderBy");
  if (attention === CONTRADICTORY) throw new PageError(400, "Contradictory invoices have no file.", "attention");
  const found = q === undefined ? undefined : await findCasesByPrefix(tx, merchantId, q);
  // So that counts, too, leave out cases that this order leaves out.
  const endedFrom = rest.endedFrom ?? (orderBy === "ended_at" ? new Date(0) : undefined);
  return {
    filter: {
      ...{ ...rest, endedFrom, found },
      ...(reason && { declineGroup: reason === UNKNOWN_REASON ? "" : reason }),
      ...(attention && { attention: { kind: attention, before: ATTENTION_LIMITS[attention](now) } }),
    },
    orderBy,
    isAscending: orderDirection === "asc",
    position:
      before === undefined
        ? readPosition(query, (key, id) => isUuid(id) && KEY_PATTERNS[orderBy].test(key))
        : { cursor: { key: "", id: before, number: null }, isBack: false },
  };
}

const KEY_PATTERNS: Readonly<Record<InvoiceOrder, RegExp>> = {
  opened_at: /^$/,
  ended_at: /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}Z$/,
  amount: /^\d{1,18}$/,
};

async function listPage(visit: Visit, now: Date): Promise<Page> {
  const { db, query, path, merchantId, person } = visit;
  if (query.get("attention") === CONTRADICTORY) {
    const { conflicts, total } = await listConflicts(db, merchantId, CONTRADICTORY_SHOWN);
    const body = conflictList(conflicts, total, person.zone) ?? emptyNotice("No invoice has contradictory data.");
    return { title: "Invoices", body };
  }
  const { filter, orderBy, isAscending, position } = await readListing(db, merchantId, query, now);
  const isFiltered = filtersOf(query).size > 0;
  const [figures, page, conflicts, views, rules] = await Promise.all([
    readFigures(db, merchantId, filter),
    readListRows(position, (cursor, isBack, limit) =>
      listInvoices(
        db,
        merchantId,
        filter,
        { orderBy, isAscending: isAscending !== isBack, after: cursor ?? undefined },
        limit,
      ),
    ),
    position.cursor === null && !isFiltered ? listConflicts(db, merchantId, CONFLICTS_SHOWN) : null,
    loadViewMenu(visit),
    filter.leftOutBy === undefined ? [] : listRecoveryRules(db, merchantId),
  ]);
  const order = { orderBy, isAscending, usual: USUAL_ORDER };
  return {
    title: "Invoices",
    tools: html`<a class="button" href="${withQuery("/invoices.csv", filtersOf(query), {})}">${icon("down")}CSV</a>`,
    body: html`${conflicts && conflictList(conflicts.conflicts, conflicts.total, person.zone)}
${listTools({
  path,
  query,
  searched: "an invoice, customer or subscription id",
  states: { label: "Outcome", choices: outcomeChoices(filter, figures, visit) },
  filters: invoiceFilters(filter, query, rules, person.zone),
  figures: figuresText(figures),
  views,
})}
${page.rows.length > 0 ? listTable("Invoices", invoiceColumns(person.zone, onlyCurrency(filter, figures)), page.rows, order, visit) : isFiltered ? emptyNotice(html`No invoice in recovery matches these filters.${filter.invoiceId && html` <a href="/invoices/${encodeURIComponent(filter.invoiceId)}">Open this invoice</a>`}`) : emptyNotice("No invoice has been in recovery yet. A case opens when an unpaid invoice is pushed.")}
${pager(page, figures.total === null ? null : formatCountUpTo(figures.total), ({ cursorKey, caseId }) => [cursorKey, caseId], visit)}
<p class="soft small">This list leaves out invoices that were never in recovery. <a href="/search">Find one by its id</a>.</p>`,
  };
}

interface Figures {
  /** Up to one more than COUNTED_MAX each; null if a search found too much to count. */
  byOutcome: ReadonlyMap<Outcome, number> | null;
  total: number | null;
  /** By currency; null if there is too much to add. */
  sums: ReadonlyMap<string, bigint> | null;
}

async function readFigures(tx: Tx, merchantId: string, filter: InvoiceFilter): Promise<Figures> {
  if (filter.found && "range" in filter.found) return { byOutcome: null, total: null, sums: null };
  const byOutcome = await countByOutcome(tx, merchantId, filter, COUNTED_MAX);
  const total = filter.outcome === undefined ? sumOf(byOutcome.values()) : (byOutcome.get(filter.outcome) ?? 0);
  if (total > COUNTED_MAX) return { byOutcome, total, sums: null };
  const sums = new Map<string, bigint>();
  for (const { currency, amount } of await sumInvoices(tx, merchantId, filter))
    sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(amount));
  return { byOutcome, total, sums };
}

const sumOf = (counts: Iterable<number>) => [...counts].reduce((sum, n) => sum + n, 0);

const figuresText = ({ total, sums }: Figures) =>
  total === null
    ? "Many cases match. A longer start finds fewer."
    : [
        `${formatCountUpTo(total)} ${total === 1 ? "case" : "cases"}`,
        ...[...(sums ?? [])].map(([currency, amount]) => formatMoney(amount, currency)),
      ].join(", ");

/** Amounts in several currencies have no order. */
const onlyCurrency = ({ currency }: InvoiceFilter, { sums }: Figures): string | null =>
  currency ?? (sums?.size === 1 ? [...sums.keys()][0]! : null);

/** Outcomes that occur, and the chosen one. */
function outcomeChoices({ outcome }: InvoiceFilter, { byOutcome }: Figures, { path, query }: Visit) {
  const count = (n: number | undefined) =>
    byOutcome !== null && html`<span class="count">${formatCountUpTo(n ?? 0)}</span>`;
  return [
    {
      words: html`All ${count(sumOf(byOutcome?.values() ?? []))}`,
      href: listHref(path, query, { outcome: null }),
      isCurrent: outcome === undefined,
    },
    ...OUTCOMES.filter((each) => byOutcome === null || byOutcome.has(each) || each === outcome).map((each) => ({
      words: html`${SEGMENT_WORDS[each]} ${count(byOutcome?.get(each))}`,
      href: listHref(path, query, { outcome: each }),
      isCurrent: each === outcome,
    })),
  ];
}

const SEGMENT_WORDS: Readonly<Record<Outcome, string>> = {
  open: "In recovery",
  recovered: "Recovered",
  paid: "Paid without",
  lost: "Not recovered",
  stopped: "Nothing to recover",
  watched: "Observed",
};

/** @param rules  may be empty if the filter names none */
function invoiceFilters(
  filter: InvoiceFilter,
  query: URLSearchParams,
  rules: readonly RecoveryRule[],
  zone: string,
): ListFilter[] {
  const text = (name: "currency" | "invoiceId" | "customerId" | "subscriptionId", label: string, more = {}) => ({
    name,
    label,
    words: filter[name] ?? null,
    field: formField({ label, name, ...more }),
  });
  const time = (name: "endedFrom" | "endedTo", label: string) => ({
    name,
    label,
    words: query.get(name) && filter[name] ? formatTime(filter[name], zone) : null,
    field: formField({ label, name, type: "datetime-local" }),
  });
  const attention = query.get("attention") as keyof typeof ATTENTION_LABELS | null;
  const needed = query.get("orderBy") === "amount" ? ["orderBy", "orderDirection"] : [];
  return [
    { ...text("currency", "Currency", { maxlength: 3, placeholder: "EUR" }), needed },
    {
      name: "reason",
      label: "First decline",
      words: filter.declineGroup === undefined ? null : valueLabel("reason", filter.declineGroup),
      field: selectField("First decline", "reason", [["", "any"], ...REASON_CHOICES], ""),
    },
    time("endedFrom", "Ended from"),
    time("endedTo", "Ended before"),
    {
      name: "attention",
      label: "Needs attention",
      words: attention && ATTENTION_LABELS[attention],
      field: selectField("Needs attention", "attention", [["", "any"], ...Object.entries(ATTENTION_LABELS)], ""),
    },
    text("invoiceId", "Invoice"),
    text("customerId", "Customer"),
    text("subscriptionId", "Subscription"),
    {
      name: "leftOutBy",
      label: "Left out by",
      words: filter.leftOutBy ? (rules.find(({ id }) => id === filter.leftOutBy)?.name ?? "a deleted rule") : null,
      field: null,
    },
  ];
}

const REASON_CHOICES = [...DECLINE_GROUPS, UNKNOWN_REASON].map(
  (group) => [group, valueLabel("reason", group === UNKNOWN_REASON ? "" : group)] as const,
);

/** @param currency  in all rows; null: there are several */
const invoiceColumns = (zone: string, currency: string | null): ListColumn<ListedInvoice>[] => [
  { head: "Invoice", cell: ({ invoiceId }) => invoiceLink(invoiceId), place: "a" },
  {
    head: "Customer",
    cell: ({ customerId }) => customerLink(customerId),
    isOptional: true,
  },
  {
    head: "Outcome",
    cell: (row) =>
      html`${outcomeState(row.outcome)}${(row.outcome === "lost" || row.outcome === "stopped") && html` <small>${toSpacedWords(row.endReason!)}</small>`}`,
    place: "c",
  },
  {
    head: "In recovery since",
    cell: ({ openedAt }) => timeElement(openedAt, zone),
    place: "d",
    orderBy: USUAL_ORDER,
  },
  { head: "Ended", cell: ({ endedAt }) => timeElement(endedAt, zone), orderBy: "ended_at" },
  { head: "Retries", cell: ({ requestedRetries }) => requestedRetries, isNumeric: true, isOptional: true },
  { head: "Next action", cell: ({ nextAt }) => timeElement(nextAt, zone), isOptional: true },
  {
    head: "Amount",
    cell: ({ amount, currency: own }) => formatMoney(amount, own),
    isNumeric: true,
    place: "b",
    ...(currency !== null && { orderBy: "amount", orderFilters: { currency } }),
  },
];
