import { majorText } from "../../domain/currency.ts";
import { listConflicts } from "../../store/invoice-conflicts.ts";
import {
  type InvoiceFilter,
  type ListedInvoice,
  listInvoices,
  OUTCOMES,
  type Outcome,
  type Sum,
  sumInvoices,
} from "../../store/invoice-list.ts";
import { canonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { invoiceLink } from "../deliveries/list.ts";
import type { Page } from "../frame.ts";
import { type Html, html } from "../html.ts";
import { identifier, oneOf, readQuery, utcMoment, uuid, withQuery } from "../query.ts";
import { inPages, sendCsv } from "../show/csv.ts";
import { choice, field } from "../show/fields.ts";
import { localField, moment, zonedIso } from "../show/moments.ts";
import { count, money } from "../show/money.ts";
import { empty, paging, table } from "../show/table.ts";
import { spaced, state } from "../show/words.ts";
import type { Visit } from "../visit.ts";
import { CONFLICTS_SHOWN, conflictList } from "./conflicts.ts";

const PAGE = 50;
const CSV_PAGE = 1_000;

const READERS = {
  outcome: oneOf(OUTCOMES),
  invoiceId: identifier,
  customerId: identifier,
  subscriptionId: identifier,
  currency: (text: string) =>
    /^[A-Z]{3}$/.test(text) ? text : { wrong: "must be three capital letters, such as EUR" },
  endedFrom: utcMoment,
  endedTo: utcMoment,
  before: uuid,
};

export const OUTCOME_WORDS: Record<Outcome, string> = {
  open: "in recovery",
  recovered: "recovered",
  paid: "paid without an instruction",
  lost: "not recovered",
  stopped: "nothing to recover",
  watched: "left alone",
};
const KINDS: Record<Outcome, "good" | "bad" | "warn" | ""> = {
  open: "warn",
  recovered: "good",
  paid: "good",
  lost: "bad",
  stopped: "",
  watched: "",
};
export const outcomeState = (outcome: Outcome) => state(OUTCOME_WORDS[outcome], KINDS[outcome]);

/** Invoices that are or were in recovery. */
export function invoiceListRoutes(console: Console) {
  console.page(
    "/invoices",
    null,
    (visit) => canonicalQuery(visit, { moments: ["endedFrom", "endedTo"], capitals: ["currency"] }) ?? listPage(visit),
  );
  console.page("/invoices.csv", null, ({ db, query, merchantId, person: { zone }, reply }) => {
    const { before, ...filter } = readQuery(query, READERS);
    const pages = inPages(
      CSV_PAGE,
      (last: ListedInvoice | null) => listInvoices(db, merchantId, filter, last?.caseId ?? before, CSV_PAGE),
      (row) => [
        row.invoiceId,
        row.customerId,
        row.subscriptionId,
        row.outcome,
        row.endReason,
        row.amount,
        majorText(row.amount, row.currency),
        row.currency,
        row.openedAt.toISOString(),
        zonedIso(row.openedAt, zone),
        row.endedAt?.toISOString() ?? null,
        row.endedAt && zonedIso(row.endedAt, zone),
        row.asked,
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
  const { before, ...filter } = readQuery(query, READERS);
  const isFiltered = query.size > 0;
  const [sums, found, contradicted] = await Promise.all([
    // Those of all times are many to add up, and tell nobody anything.
    before === undefined ? sumInvoices(db, merchantId, isFiltered ? filter : { outcome: "open" }) : null,
    listInvoices(db, merchantId, filter, before, PAGE + 1),
    before === undefined && !isFiltered ? listConflicts(db, merchantId, CONFLICTS_SHOWN) : null,
  ]);
  const rows = found.slice(0, PAGE);
  const next = found.length > PAGE ? withQuery(path, query, { before: rows.at(-1)!.caseId }) : null;
  return {
    title: "Invoices",
    tools: html`<a class="button" href="${withQuery("/invoices.csv", query, { before: null })}">Export CSV</a>`,
    body: html`${sums && lead(sums, isFiltered)}
${contradicted && conflictList(contradicted.conflicts, contradicted.total, zone)}
${filterForm(filter, isFiltered, zone)}
${rows.length > 0 ? invoiceTable(rows, zone) : isFiltered ? empty("No invoice in recovery fits these filters.") : empty("No invoice has been in recovery yet. A case opens when an unpaid one is pushed.")}
${paging(before === undefined, withQuery(path, query, { before: null }), next)}`,
  };
}

function lead(sums: readonly Sum[], isFiltered: boolean): Html {
  const cases = sums.reduce((total, { n }) => total + n, 0);
  const byCurrency = Map.groupBy(sums, ({ currency }) => currency);
  const amounts = [...byCurrency].map(([currency, each]) =>
    money(
      each.reduce((total, { amount }) => total + BigInt(amount), 0n),
      currency,
    ),
  );
  return html`<p class="lead">${count(cases)} ${cases === 1 ? "case" : "cases"} ${isFiltered ? "in the filter" : "in recovery now"}</p>
<p>${amounts.length > 0 && html`For ${amounts.join(", ")}.`} Invoices that were never in recovery are not listed; find one by its id.</p>`;
}

const filterForm = (filter: InvoiceFilter, isFiltered: boolean, zone: string): Html => html`
<form method="get" class="filters" data-search>
${choice("Outcome", "outcome", [["", "any"], ...OUTCOMES.map((each) => [each, OUTCOME_WORDS[each]] as const)], filter.outcome ?? "")}
${field({ label: "Invoice", name: "invoiceId", value: filter.invoiceId ?? "" })}
${field({ label: "Customer", name: "customerId", value: filter.customerId ?? "" })}
${field({ label: "Subscription", name: "subscriptionId", value: filter.subscriptionId ?? "" })}
${field({ label: "Currency", name: "currency", value: filter.currency ?? "", maxlength: 3, placeholder: "EUR" })}
${field({ label: "Ended from", name: "endedFrom", type: "datetime-local", value: filter.endedFrom ? localField(filter.endedFrom, zone) : "" })}
${field({ label: "Ended before", name: "endedTo", type: "datetime-local", value: filter.endedTo ? localField(filter.endedTo, zone) : "" })}
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
      { head: "Amount", cell: ({ amount, currency }) => money(amount, currency), numeric: true },
      {
        head: "Outcome",
        cell: (row) =>
          html`${outcomeState(row.outcome)}${row.outcome === "lost" && html` <small>${spaced(row.endReason!)}</small>`}`,
      },
      { head: "In recovery since", cell: ({ openedAt }) => moment(openedAt, zone) },
      { head: "Ended", cell: ({ endedAt }) => moment(endedAt, zone) },
      { head: "Retries", cell: ({ asked }) => asked, numeric: true },
      { head: "Next action", cell: ({ nextAt }) => moment(nextAt, zone) },
    ],
    rows,
  );
