import { type LoggedRequest, listRequests } from "../../tables/request-log.ts";
import type { Console } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery, uuidReader, withQuery } from "../page-query.ts";
import { selectField } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { stateLabel } from "../show/state-labels.ts";
import { emptyNotice, pageLinks, table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const PAGE_ROWS = 50;
const RETENTION_DAYS = 30;
const QUERY_READERS = { show: enumReader(["refused", "older"]), before: uuidReader };
const FILTER_CHOICES = [
  ["", "all"],
  ["refused", "refused"],
  ["older", "with records ignored as older"],
] as const;

export function requestRoutes({ page }: Console) {
  page("/requests", null, requestsPage);
}

async function requestsPage({ db, query, path, merchantId, person }: Visit): Promise<Page> {
  const { show, before } = parsePageQuery(query, QUERY_READERS);
  const found = await listRequests(db, merchantId, {
    ...(show === "refused" && { from: 400 }),
    isOlder: show === "older",
    before,
    limit: PAGE_ROWS + 1,
  });
  const rows = found.slice(0, PAGE_ROWS);
  const next = found.length > PAGE_ROWS ? withQuery(path, query, { before: rows.at(-1)!.id }) : null;
  const isFiltered = show !== undefined;
  return {
    title: "Requests",
    body: html`
<p class="text">The requests of your systems in the last ${RETENTION_DAYS} days, and pages that failed. A record is <em>ignored as older</em> if Dunlin has a newer version of it. <a href="/docs/guides/ingest.html">How versions are compared</a>.</p>
<form method="get" class="filters" data-search>
${selectField("Show", "show", FILTER_CHOICES, show ?? "")}
<button>Filter</button>${isFiltered && html`<a class="button" href="/requests">Clear</a>`}</form>
<div data-live="5">
${rows.length > 0 ? requestTable(rows, person.zone) : emptyNotice(isFiltered ? "No request matches this filter." : "No request yet.")}
${pageLinks(before === undefined, withQuery(path, query, { before: null }), next)}</div>`,
  };
}

const requestTable = (rows: readonly LoggedRequest[], zone: string): Html =>
  table(
    "Requests",
    [
      { head: "Time", cell: ({ at, id }) => html`${timeElement(at, zone, "second")}<br><small>req_${id}</small>` },
      { head: "Request", cell: ({ method, route }) => html`<code>${method ?? "?"} ${route}</code>` },
      { head: "Response", cell: answerOf },
      { head: "Records", cell: ({ records }) => formatOptionalCount(records), numeric: true },
      { head: "Stored", cell: ({ stored }) => formatOptionalCount(stored), numeric: true },
      { head: "Unchanged", cell: unchangedCount, numeric: true },
      { head: "Ignored as older", cell: ({ older }) => formatOptionalCount(older), numeric: true },
    ],
    rows,
  );

const formatOptionalCount = (n: number | null): HtmlPart => n !== null && formatCount(n);

const unchangedCount = ({ records, stored, older }: LoggedRequest): HtmlPart =>
  records !== null && stored !== null && older !== null && formatCount(records - stored - older);

const answerOf = ({ status, error }: LoggedRequest): HtmlPart =>
  status < 400 ? String(status) : html`${stateLabel(String(status), "bad")}${error && html` <small>${error}</small>`}`;
