import { endingBefore, requestedBefore } from "../../attention/list-attention.ts";
import { formatMajorUnits } from "../../domain/currency.ts";
import { listConflicts } from "../../tables/invoice-conflicts.ts";
import {
  ATTENTION_FILTERS,
  type AttentionFilter,
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

const CONTRADICTORY = "contradictory";
/** Contradictory invoices may have no case, so they are a list of their own. */
const CONTRADICTORY_SHOWN = 1_000;
const ATTENTION_LABELS: Readonly<Record<AttentionFilter | typeof CONTRADICTORY, string>> = {
  ending: "window ends within 3 days",
  card_change: "card change without an answer",
  large: "large",
  contradictory: "contradictory data",
};

const QUERY_READERS = {
  outcome: enumReader(OUTCOMES),
  invoiceId: identifierReader,
  customerId: identifierReader,
  subscriptionId: identifierReader,
  currency: (text: string) =>
    /^[A-Z]{3}$/.test(text) ? text : { wrong: "must be three capital letters, such as EUR" },
  endedFrom: utcTimeReader,
  endedTo: utcTimeReader,
  attention: enumReader([...ATTENTION_FILTERS, CONTRADICTORY]),
  before: uuidReader,
};

/** Contradictory invoices have no rows in the file. */
const CSV_QUERY_READERS = { ...QUERY_READERS, attention: enumReader(ATTENTION_FILTERS) };

type PageQuery = ReturnType<typeof parsePageQuery<typeof QUERY_READERS>>;

/** Rows that need attention now. */
function toFilter({ before: _, attention, ...filter }: PageQuery, now: Date): InvoiceFilter {
  if (attention === undefined || attention === CONTRADICTORY) return filter;
  return { ...filter, attention: { kind: attention, before: ATTENTION_LIMITS[attention](now) } };
}

const ATTENTION_LIMITS: Readonly<Record<AttentionFilter, (now: Date) => Date>> = {
  ending: endingBefore,
  card_change: requestedBefore,
  large: (now) => now,
};

const OUTCOME_LABELS: Record<Outcome, string> = {
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
      redirectToCanonicalQuery(visit, { times: ["endedFrom", "endedTo"], uppercase: ["currency"] }) ??
      listPage(visit, console.ports.now()),
  );
  console.page("/invoices.csv", null, ({ db, query, merchantId, person: { zone }, reply }) => {
    const asked = parsePageQuery(query, CSV_QUERY_READERS);
    const { before } = asked;
    const filter = toFilter(asked, console.ports.now());
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

async function listPage({ db, query, path, merchantId, person: { zone } }: Visit, now: Date): Promise<Page> {
  const asked = parsePageQuery(query, QUERY_READERS);
  const { before } = asked;
  if (asked.attention === CONTRADICTORY) {
    const { conflicts, total } = await listConflicts(db, merchantId, CONTRADICTORY_SHOWN);
    return {
      title: "Invoices",
      body: conflictList(conflicts, total, zone) ?? emptyNotice("No invoice has contradictory data."),
    };
  }
  const filter = toFilter(asked, now);
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
${filterForm(asked, isFiltered, zone)}
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

const filterForm = (filter: PageQuery, isFiltered: boolean, zone: string): Html => html`
<form method="get" class="filters" data-search>
${selectField("Outcome", "outcome", [["", "any"], ...OUTCOMES.map((each) => [each, OUTCOME_LABELS[each]] as const)], filter.outcome ?? "")}
${formField({ label: "Invoice", name: "invoiceId", value: filter.invoiceId ?? "" })}
${formField({ label: "Customer", name: "customerId", value: filter.customerId ?? "" })}
${formField({ label: "Subscription", name: "subscriptionId", value: filter.subscriptionId ?? "" })}
${formField({ label: "Currency", name: "currency", value: filter.currency ?? "", maxlength: 3, placeholder: "EUR" })}
${formField({ label: "Ended from", name: "endedFrom", type: "datetime-local", value: filter.endedFrom ? toDatetimeLocal(filter.endedFrom, zone) : "" })}
${formField({ label: "Ended before", name: "endedTo", type: "datetime-local", value: filter.endedTo ? toDatetimeLocal(filter.endedTo, zone) : "" })}
${selectField("Needs attention", "attention", [["", "any"], ...Object.entries(ATTENTION_LABELS)], filter.attention ?? "")}
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
