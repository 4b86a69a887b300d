import { type LoggedRequest, listRequests } from "../../store/request-log.ts";
import type { Console } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html, type Part } from "../html.ts";
import { oneOf, readQuery, uuid, withQuery } from "../query.ts";
import { choice } from "../show/fields.ts";
import { moment } from "../show/moments.ts";
import { count } from "../show/money.ts";
import { empty, paging, table } from "../show/table.ts";
import { state } from "../show/words.ts";
import type { Visit } from "../visit.ts";

const PAGE = 50;
const KEPT_DAYS = 30;
const READERS = { show: oneOf(["refused", "older"]), before: uuid };
const CHOICES = [
  ["", "all"],
  ["refused", "refused"],
  ["older", "with records ignored as older"],
] as const;

/** What the merchant's systems asked, and what became of the records that they pushed. */
export function requestRoutes({ page }: Console) {
  page("/requests", null, requestsPage);
}

async function requestsPage({ db, query, path, merchantId, person }: Visit): Promise<Page> {
  const { show, before } = readQuery(query, READERS);
  const found = await listRequests(db, merchantId, {
    ...(show === "refused" && { from: 400 }),
    isOlder: show === "older",
    before,
    limit: PAGE + 1,
  });
  const rows = found.slice(0, PAGE);
  const next = found.length > PAGE ? withQuery(path, query, { before: rows.at(-1)!.id }) : null;
  const isFiltered = show !== undefined;
  return {
    title: "Requests",
    body: html`
<p class="text">The requests of your systems in the last ${KEPT_DAYS} days, and pages that failed. A record is <em>ignored as older</em> if Dunlin has a newer version of it. <a href="/docs/guides/ingest.html">How versions are compared</a>.</p>
<form method="get" class="filters" data-search>
${choice("Show", "show", CHOICES, show ?? "")}
<button>Filter</button>${isFiltered && html`<a class="button" href="/requests">Clear</a>`}</form>
<div data-live="5">
${rows.length > 0 ? requestTable(rows, person.zone) : empty(isFiltered ? "No request fits this filter." : "No request yet.")}
${paging(before === undefined, withQuery(path, query, { before: null }), next)}</div>`,
  };
}

const requestTable = (rows: readonly LoggedRequest[], zone: string): Html =>
  table(
    "Requests",
    [
      { head: "Time", cell: ({ at, id }) => html`${moment(at, zone, "second")}<br><small>req_${id}</small>` },
      { head: "Request", cell: ({ method, route }) => html`<code>${method ?? "?"} ${route}</code>` },
      { head: "Answer", cell: answerOf },
      { head: "Records", cell: ({ records }) => countOf(records), numeric: true },
      { head: "Stored", cell: ({ stored }) => countOf(stored), numeric: true },
      { head: "Unchanged", cell: unchangedOf, numeric: true },
      { head: "Ignored as older", cell: ({ older }) => countOf(older), numeric: true },
    ],
    rows,
  );

const countOf = (n: number | null): Part => n !== null && count(n);

const unchangedOf = ({ records, stored, older }: LoggedRequest): Part =>
  records !== null && stored !== null && older !== null && count(records - stored - older);

const answerOf = ({ status, error }: LoggedRequest): Part =>
  status < 400 ? String(status) : html`${state(String(status), "bad")}${error && html` <small>${error}</small>`}`;
