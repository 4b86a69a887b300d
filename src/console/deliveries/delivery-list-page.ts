import { DAY_MS } from "../../domain/durations.ts";
import { EVENT_TYPES } from "../../domain/event.ts";
import type { Ports } from "../../domain/ports.ts";
import {
  countUndelivered,
  type DeliveryFigures,
  readDeliveryFigures,
  type UndeliveredCounts,
} from "../../tables/delivery-figures.ts";
import { DELIVERY_STATES, type ListedDelivery, listDeliveries, planMadeAt } from "../../tables/delivery-states.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { redirectToCanonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { endpointNotice } from "../endpoint-notice.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, identifierReader, parsePageQuery, utcTimeReader, uuidReader, withQuery } from "../page-query.ts";
import { readInPages, sendCsv } from "../show/csv-export.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { deliveryStateLabel, toSpacedWords } from "../show/state-labels.ts";
import { emptyNotice, pageLinks, table } from "../show/table.ts";
import { countdown, timeElement, toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { loadHourChart } from "./delivery-hour-chart.ts";

const PAGE_ROWS = 50;
const CSV_PAGE_ROWS = 1_000;

const QUERY_READERS = {
  state: enumReader(DELIVERY_STATES),
  type: enumReader(EVENT_TYPES),
  invoiceId: identifierReader,
  createdFrom: utcTimeReader,
  createdTo: utcTimeReader,
  code: (text: string) => (/^[1-9]\d\d$/.test(text) ? Number(text) : { wrong: "must be a status such as 500" }),
  before: uuidReader,
};

export function deliveryListRoutes(console: Console) {
  console.page(
    "/deliveries",
    null,
    async (visit) =>
      redirectToCanonicalQuery(visit, { times: ["createdFrom", "createdTo"] }) ?? listPage(console, visit),
  );
  console.page("/deliveries.csv", null, ({ db, query, merchantId, reply }) => {
    const filter = parsePageQuery(query, QUERY_READERS);
    const pages = readInPages(
      CSV_PAGE_ROWS,
      (last: ListedDelivery | null) =>
        listDeliveries(db, merchantId, { ...filter, ...(last && { before: last.eventId }), limit: CSV_PAGE_ROWS }),
      (delivery) => [
        delivery.createdAt.toISOString(),
        delivery.type,
        delivery.eventId,
        delivery.invoiceId,
        delivery.state,
        delivery.round,
        delivery.attempts,
        delivery.status,
        delivery.error,
        delivery.endedAt?.toISOString() ?? null,
        delivery.dueAt?.toISOString() ?? null,
        planMadeAt(delivery).toISOString(),
      ],
    );
    return sendCsv(reply, "deliveries.csv", HEADINGS, pages);
  });
}

const HEADINGS = [
  "created_at_utc",
  "type",
  "event_id",
  "invoice_id",
  "state",
  "round",
  "attempts",
  "last_status",
  "last_error",
  "last_attempt_at_utc",
  "next_attempt_at_utc",
  "plan_made_at_utc",
];

async function listPage({ ports }: Console, visit: Visit): Promise<Page> {
  const { db, query, path, merchantId, person } = visit;
  const filter = parsePageQuery(query, QUERY_READERS);
  const now = ports.now();
  const [merchant, undelivered, figures, hours, found] = await Promise.all([
    findMerchant(db, merchantId),
    countUndelivered(db, merchantId),
    readDeliveryFigures(db, merchantId, new Date(now.getTime() - DAY_MS)),
    loadHourChart(visit, now),
    listDeliveries(db, merchantId, { ...filter, limit: PAGE_ROWS + 1 }),
  ]);
  const rows = found.slice(0, PAGE_ROWS);
  const next = found.length > PAGE_ROWS ? withQuery(path, query, { before: rows.at(-1)!.eventId }) : null;
  const notice = merchant && endpointNotice(merchant, visit);
  const isFiltered = [...query.keys()].length > 0;
  return {
    title: "Deliveries",
    tools: html`<a class="button" href="${withQuery("/deliveries.csv", query, { before: null })}">Export CSV</a>`,
    body: html`${notice}${summaryLine({ ...undelivered, ...figures }, visit, notice === null)}
${hours}
<form method="get" class="filters" data-search>
${selectField("State", "state", [["", "any"], ...DELIVERY_STATES.map((each) => [each, each] as const)], filter.state ?? "")}
${selectField("Type", "type", [["", "any"], ...EVENT_TYPES.map((each) => [each, toSpacedWords(each)] as const)], filter.type ?? "")}
${formField({ label: "Invoice", name: "invoiceId", value: filter.invoiceId ?? "" })}
${formField({ label: "Last status", name: "code", value: filter.code === undefined ? "" : String(filter.code), maxlength: 3, placeholder: "500" })}
${formField({ label: "Created from", name: "createdFrom", type: "datetime-local", value: filter.createdFrom ? toDatetimeLocal(filter.createdFrom, person.zone) : "" })}
${formField({ label: "Created to", name: "createdTo", type: "datetime-local", value: filter.createdTo ? toDatetimeLocal(filter.createdTo, person.zone) : "" })}
<button>Filter</button>${isFiltered && html`<a class="button" href="/deliveries">Clear</a>`}</form>
<div data-live="5">
${rows.length > 0 ? deliveryTable(rows, person.zone, ports) : isFiltered ? emptyNotice("No event matches these filters.") : emptyNotice("No event yet. Dunlin sends the first ones when the webhook is set and an unpaid invoice was pushed.")}
${pageLinks(filter.before === undefined, withQuery(path, query, { before: null }), next)}</div>`,
  };
}

function summaryLine(
  { exhausted, waiting, failed, firstAttempts, firstSuccesses, p95Ms }: UndeliveredCounts & DeliveryFigures,
  visit: Visit,
  isReached: boolean,
): Html {
  const retried = `${formatCount(failed)} failed ${failed === 1 ? "event waits" : "events wait"} for another attempt`;
  const withoutExhausted = failed > 0 ? retried : isReached ? "No failed deliveries" : "No exhausted event";
  const withExhausted = html`<a href="/deliveries?state=exhausted">${formatCount(exhausted)} exhausted</a>: every attempt failed${failed > 0 && `; ${retried}`}`;
  return html`
<p class="lead">${exhausted === 0 ? withoutExhausted : withExhausted}</p>
<p>${exhausted > 0 && visit.may("replay") && html`<a href="/deliveries/replay">Send them again</a>. `}${formatCount(waiting)} ${waiting === 1 ? "event waits" : "events wait"} for an attempt. ${
    firstAttempts > 0 &&
    html`In the last 24 hours ${formatShare(firstSuccesses, firstAttempts)} of ${formatCount(firstAttempts)} events were accepted at the first attempt${p95Ms !== null && `, and 95% of successful attempts took at most ${Math.round(p95Ms)} ms`}.`
  }</p>
<p class="soft">Latest plan first. An instruction is created when it is due, which may be days after it was planned.</p>`;
}

const deliveryTable = (rows: readonly ListedDelivery[], zone: string, ports: Ports) =>
  table(
    "Events",
    [
      {
        head: "Plan made",
        cell: (delivery) =>
          html`<a href="/deliveries/${delivery.eventId}">${timeElement(planMadeAt(delivery), zone, "second")}</a>`,
      },
      { head: "Created", cell: ({ createdAt }) => timeElement(createdAt, zone, "second") },
      { head: "Type", cell: ({ type }) => toSpacedWords(type) },
      { head: "Invoice", cell: ({ invoiceId }) => invoiceLink(invoiceId) },
      {
        head: "State",
        cell: (delivery) => html`${deliveryStateLabel(delivery.state)}${nextAttemptText(delivery, ports)}`,
      },
      {
        head: "Attempts",
        cell: ({ attempts, round }) => html`${attempts}${round > 1 && html` <small>in round ${round}</small>`}`,
        numeric: true,
      },
      { head: "Last response", cell: ({ status, error }) => status ?? (error && html`<small>${error}</small>`) },
    ],
    rows,
  );

export const invoiceLink = (id: string): Html =>
  html`<a class="id" href="/invoices/${encodeURIComponent(id)}" title="${id}">${id}</a>`;

const nextAttemptText = ({ dueAt }: ListedDelivery, { now, clockRate }: Ports): HtmlPart =>
  dueAt && html` <small>next ${countdown(dueAt, now(), clockRate)}</small>`;
