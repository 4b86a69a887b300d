import { formatMajorUnits } from "../../domain/currency.ts";
import { listConflicts } from "../../tables/invoice-conflicts.ts";
import {
  type InvoiceFilter,
  type ListedInvoice,
  listInvoices,
  OUTCOMES,
  type Outcome,
  type OutcomeSum,
  sumInvoices,
} from "../../tables/invoice-list.ts";
import { redirectToCanonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { invoiceLink } from "../deliveries/delivery-list-page.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, identifierReader, parsePageQuery, utcTimeReader, uuidReader, withQuery } from "../page-query.ts";
import { readInPages, sendCsv } from "../show/csv-export.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { formatCount, formatMoney } from "../show/number-format.ts";
import { stateLabel, toSpacedWords } from "../show/state-labels.ts";
import { emptyNotice, pageLinks, table } from "../show/table.ts";
import { formatZonedIso, timeElement, toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { CONFLICTS_SHOWN, conflictList } from "./conflict-list.ts";

const PAGE_ROWS = 50;
const CSV_PAGE_ROWS = 1_000;

const QUERY_READERS = {
  outcome: enumReader(OUTCOMES),
  invoiceId: identifierReader,
  customerId: identifierReader,
  subscriptionId: identifierReader,
  currency: (text: string) =>
    /^[A-Z]{3}$/.test(text) ? text : { wrong: "must be three capital letters, such as EUR" },
  endedFrom: utcTimeReader,
  endedTo: utcTimeReader,
  before: uuidReader,
};

export const OUTCOME_LABELS: Record<Outcome, string> = {
  open: "in recovery",
  recovered: "recovered",
  paid: "paid without an instruction",
  lost: "not recovered",
  stopped: "nothing to recover",
  watched: "observed",
};
const OUTCOME_KINDS: Record<Outcome, "good" | "bad" | "warn" | ""> = {
  open: "warn",
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
      redirectToCanonicalQuery(visit, { times: ["endedFrom", "endedTo"], uppercase: ["currency"] }) ?? listPage(visit),
  );
  console.page("/invoices.csv", null, ({ db, query, merchantId, person: { zone }, reply }) => {
    const { before, ...filter } = parsePageQuery(query, QUERY_READERS);
    const pages = readInPages(
      CSV_PAGE_ROWS,
      (last: ListedInvoice | null) => listInvoices(db, merchantId, filter, last?.caseId ?? before, CSV_PAGE_ROWS),
      (row) => [
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
      ],
    );
    return sendCsv(reply, "invoices.csv", HEADINGS, pages);
  });
}

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

async function listPage({ db, query, path, merchantId, person: { zone } }: Visit): Promise<Page> {
  const { before, ...filter } = parsePageQuery(query, QUERY_READERS);
  const isFiltered = query.size > 0;
  const [sums, readRows, contradicted] = await Promise.all([
    // A sum of all cases ever would be slow and of no use.
    before === undefined ? sumInvoices(db, merchantId, isFiltered ? filter : { outcome: "open" }) : null,
    listInvoices(db, merchantId, filter, before, PAGE_ROWS + 1),
    before === undefined && !isFiltered ? listConflicts(db, merchantId, CONFLICTS_SHOWN) : null,
  ]);
  const rows = readRows.slice(0, PAGE_ROWS);
  const next = readRows.length > PAGE_ROWS ? withQuery(path, query, { before: rows.at(-1)!.caseId }) : null;
  return {
    title: "Invoices",
    tools: html`<a class="button" href="${withQuery("/invoices.csv", query, { before: null })}">Export CSV</a>`,
    body: html`${sums && summaryLine(sums, isFiltered)}
${contradicted && conflictList(contradicted.conflicts, contradicted.total, zone)}
${filterForm(filter, isFiltered, zone)}
${rows.length > 0 ? invoiceTable(rows, zone) : isFiltered ? emptyNotice("No invoice in recovery matches these filters.") : emptyNotice("No invoice has been in recovery yet. A case opens when an unpaid invoice is pushed.")}
${pageLinks(before === undefined, withQuery(path, query, { before: null }), next)}`,
  };
}

function summaryLine(sums: readonly OutcomeSum[], isFiltered: boolean): Html {
  const cases = sums.reduce((total, { n }) => total + n, 0);
  const byCurrency = Map.groupBy(sums, ({ currency }) => currency);
  const amounts = [...byCurrency].map(([currency, each]) =>
    formatMoney(
      each.reduce((total, { amount }) => total + BigInt(amount), 0n),
      currency,
    ),
  );
  return html`<p class="lead">${formatCount(cases)} ${cases === 1 ? "case" : "cases"} ${isFiltered ? `${cases === 1 ? "matches" : "match"} these filters` : "in recovery now"}</p>
<p>${amounts.length > 0 && html`For ${amounts.join(", ")}.`} This list leaves out invoices that were never in recovery. Find one by its id.</p>`;
}

const filterForm = (filter: InvoiceFilter, isFiltered: boolean, zone: string): Html => html`
<form method="get" class="filters" data-search>
${selectField("Outcome", "outcome", [["", "any"], ...OUTCOMES.map((each) => [each, OUTCOME_LABELS[each]] as const)], filter.outcome ?? "")}
${formField({ label: "Invoice", name: "invoiceId", value: filter.invoiceId ?? "" })}
${formField({ label: "Customer", name: "customerId", value: filter.customerId ?? "" })}
${formField({ label: "Subscription", name: "subscriptionId", value: filter.subscriptionId ?? "" })}
${formField({ label: "Currency", name: "currency", value: filter.currency ?? "", maxlength: 3, placeholder: "EUR" })}
${formField({ label: "Ended from", name: "endedFrom", type: "datetime-local", value: filter.endedFrom ? toDatetimeLocal(filter.endedFrom, zone) : "" })}
${formField({ label: "Ended before", name: "endedTo", type: "datetime-local", value: filter.endedTo ? toDatetimeLocal(filter.endedTo, zone) : "" })}
<button>Filter</button>${isFiltered && html`<a class="button" href="/invoices">Clear</a>`}${
  filter.invoiceId &&
  html`<a class="button" href="/invoices/${encodeURIComponent(filter.invoiceId)}">Open this invoice</a>`
}</form>`;

const invoiceTable = (rows: readonly ListedInvoice[], zone: string) =>
  table(
    "Invoices",
    [
      { head: "Invoice", cell: ({ invoiceId }) => invoiceLink(invoiceId) },
      { head: "Customer", cell: ({ customerId }) => html`<span class="id" title="${customerId}">${customerId}</span>` },
      { head: "Amount", cell: ({ amount, currency }) => formatMoney(amount, currency), numeric: true },
      {
        head: "Outcome",
        cell: (row) =>
          html`${outcomeState(row.outcome)}${row.outcome === "lost" && html` <small>${toSpacedWords(row.endReason!)}</small>`}`,
      },
      { head: "In recovery since", cell: ({ openedAt }) => timeElement(openedAt, zone) },
      { head: "Ended", cell: ({ endedAt }) => timeElement(endedAt, zone) },
      { head: "Retries", cell: ({ requestedRetries }) => requestedRetries, numeric: true },
      { head: "Next action", cell: ({ nextAt }) => timeElement(nextAt, zone) },
    ],
    rows,
  );
