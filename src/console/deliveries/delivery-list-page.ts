import { DAY_MS } from "../../domain/durations.ts";
import { EVENT_TYPES } from "../../domain/event.ts";
import type { Ports } from "../../domain/ports.ts";
import type { Tx } from "../../postgres/database.ts";
import {
  countUndelivered,
  type DeliveryFigures,
  readDeliveryFigures,
  type UndeliveredCounts,
} from "../../tables/delivery-figures.ts";
import {
  countDeliveries,
  DELIVERY_STATES,
  type DeliveryFilter,
  type DeliveryState,
  type ListedDelivery,
  listDeliveries,
  planMadeAt,
} from "../../tables/delivery-states.ts";
import { findEventsByPrefix } from "../../tables/id-prefix.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { redirectToCanonicalQuery } from "../canonical-query.ts";
import type { Console } from "../console.ts";
import { endpointNotice } from "../endpoint-notice.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
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
import { formatCount, formatShare } from "../show/number-format.ts";
import { deliveryStateLabel, toSpacedWords } from "../show/state-labels.ts";
import { emptyNotice } from "../show/table.ts";
import { countdown, formatTime, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { loadHourChart } from "./delivery-hour-chart.ts";

const CSV_PAGE_ROWS = 1_000;

const textReader = (text: string) => text;
const QUERY_READERS = {
  [SAVED]: identifierReader,
  q: identifierReader,
  state: enumReader(DELIVERY_STATES),
  type: enumReader(EVENT_TYPES),
  invoiceId: identifierReader,
  createdFrom: utcTimeReader,
  createdTo: utcTimeReader,
  code: (text: string) => (/^[1-9]\d\d$/.test(text) ? Number(text) : { wrong: "must be a status such as 500" }),
  orderBy: enumReader(["plan_made_at"]),
  orderDirection: enumReader(["asc", "desc"]),
  before: uuidReader,
  after: textReader,
  back: textReader,
};

export function deliveryListRoutes(console: Console) {
  console.page(
    "/deliveries",
    null,
    async (visit) =>
      redirectToCanonicalQuery(visit, { times: ["createdFrom", "createdTo"] }) ?? listPage(console, visit),
  );
  console.page("/deliveries.csv", null, async ({ db, query, merchantId, reply }) => {
    const { filter, isAscending, position } = await readListing(db, merchantId, query);
    const start = position.isBack ? null : position.cursor;
    const pages = readInPages(
      CSV_PAGE_ROWS,
      (last: ListedDelivery | null) =>
        listDeliveries(db, merchantId, {
          ...filter,
          ...pageAfter(last?.eventId ?? start?.id, isAscending),
          limit: CSV_PAGE_ROWS,
        }),
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

interface Listing {
  filter: DeliveryFilter;
  isAscending: boolean;
  position: ListPosition;
}

async function readListing(tx: Tx, merchantId: string, query: URLSearchParams): Promise<Listing> {
  const {
    q,
    before,
    orderBy: _,
    orderDirection,
    after: __,
    back: ___,
    [SAVED]: ____,
    ...rest
  } = parsePageQuery(query, QUERY_READERS);
  const found = q === undefined ? undefined : { prefix: q, events: await findEventsByPrefix(tx, merchantId, q) };
  return {
    filter: { ...rest, found },
    isAscending: orderDirection === "asc",
    position:
      before === undefined
        ? readPosition(query, (key, id) => key === "" && isUuid(id))
        : { cursor: { key: "", id: before, number: null }, isBack: false },
  };
}

const pageAfter = (id: string | undefined, isAscending: boolean) =>
  isAscending ? { isAscending, after: id } : { isAscending, before: id };

async function listPage({ ports }: Console, visit: Visit): Promise<Page> {
  const { db, query, path, merchantId, person } = visit;
  const { filter, isAscending, position } = await readListing(db, merchantId, query);
  const now = ports.now();
  const [merchant, undelivered, figures, hours, counts, page, views] = await Promise.all([
    findMerchant(db, merchantId),
    countUndelivered(db, merchantId),
    readDeliveryFigures(db, merchantId, new Date(now.getTime() - DAY_MS)),
    loadHourChart(visit, now),
    readCounts(db, merchantId, filter),
    readListRows(position, (cursor, isBack, limit) =>
      listDeliveries(db, merchantId, { ...filter, ...pageAfter(cursor?.id, isAscending !== isBack), limit }),
    ),
    loadViewMenu(visit),
  ]);
  const notice = merchant && endpointNotice(merchant, visit);
  const isFiltered = filtersOf(query).size > 0;
  const total = filter.state === undefined ? null : (counts.get(filter.state) ?? null);
  const order = { orderBy: "plan_made_at", isAscending, usual: "plan_made_at" };
  return {
    title: "Deliveries",
    tools: html`<a class="button" href="${withQuery("/deliveries.csv", filtersOf(query), {})}">${icon("down")}CSV</a>`,
    body: html`${notice}${summaryLine({ ...undelivered, ...figures }, visit, notice === null)}
${listTools({
  path,
  query,
  searched: "an event or invoice id",
  states: { label: "State", choices: stateChoices(filter, counts, visit) },
  filters: deliveryFilters(filter, person.zone),
  figures: total !== null && `${formatCountUpTo(total)} ${total === 1 ? "event" : "events"}`,
  views,
})}
<div data-live="5">
${page.rows.length > 0 ? listTable("Events", deliveryColumns(person.zone, ports), page.rows, order, visit) : isFiltered ? emptyNotice("No event matches these filters.") : emptyNotice("No event yet. Dunlin sends the first ones when the webhook is set and an unpaid invoice was pushed.")}
${pager(page, total === null ? null : formatCountUpTo(total), ({ eventId }) => ["", eventId], visit)}</div>
${hours}`,
  };
}

/** Of states that an index counts. The others may have millions of events. */
const COUNTED_STATES = ["waiting", "exhausted"] as const;

async function readCounts(tx: Tx, merchantId: string, filter: DeliveryFilter): Promise<Map<DeliveryState, number>> {
  // A search that found too much to list by id would walk all events.
  if (filter.found && "range" in filter.found.events) return new Map();
  const counts = COUNTED_STATES.map(async (state) => {
    return [state, await countDeliveries(tx, merchantId, { ...filter, state }, COUNTED_MAX)] as const;
  });
  return new Map(await Promise.all(counts));
}

const stateChoices = ({ state }: DeliveryFilter, counts: ReadonlyMap<DeliveryState, number>, { path, query }: Visit) =>
  [undefined, ...DELIVERY_STATES].map((each) => {
    const count = each === undefined ? undefined : counts.get(each);
    const words = each === undefined ? "All" : each.charAt(0).toUpperCase() + each.slice(1);
    return {
      words: html`${words}${count !== undefined && html` <span class="count">${formatCountUpTo(count)}</span>`}`,
      href: listHref(path, query, { state: each ?? null }),
      isCurrent: each === state,
    };
  });

function deliveryFilters(
  { type, invoiceId, code, createdFrom, createdTo }: DeliveryFilter,
  zone: string,
): ListFilter[] {
  const time = (name: string, label: string, at: Date | undefined) => ({
    name,
    label,
    words: at ? formatTime(at, zone) : null,
    field: formField({ label, name, type: "datetime-local" }),
  });
  const types = EVENT_TYPES.map((each) => [each, toSpacedWords(each)] as const);
  return [
    {
      name: "type",
      label: "Type",
      words: type ? toSpacedWords(type) : null,
      field: selectField("Type", "type", [["", "any"], ...types], ""),
    },
    {
      name: "code",
      label: "Last status",
      words: code === undefined ? null : String(code),
      field: formField({ label: "Last status", name: "code", maxlength: 3, placeholder: "500" }),
    },
    time("createdFrom", "Created from", createdFrom),
    time("createdTo", "Created to", createdTo),
    {
      name: "invoiceId",
      label: "Invoice",
      words: invoiceId ?? null,
      field: formField({ label: "Invoice", name: "invoiceId" }),
    },
  ];
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
<p class="soft small">An instruction is created when it is due, which may be days after it was planned.</p>`;
}

const deliveryColumns = (zone: string, ports: Ports): ListColumn<ListedDelivery>[] => [
  {
    head: "Plan made",
    cell: (delivery) =>
      html`<a href="/deliveries/${delivery.eventId}">${timeElement(planMadeAt(delivery), zone, "second")}</a>`,
    place: "a",
    orderBy: "plan_made_at",
  },
  { head: "Created", cell: ({ createdAt }) => timeElement(createdAt, zone, "second"), isOptional: true },
  { head: "Type", cell: ({ type }) => toSpacedWords(type), place: "b" },
  { head: "Invoice", cell: ({ invoiceId }) => invoiceLink(invoiceId), place: "d" },
  {
    head: "State",
    cell: (delivery) => html`${deliveryStateLabel(delivery.state)}${nextAttemptText(delivery, ports)}`,
    place: "c",
  },
  {
    head: "Attempts",
    cell: ({ attempts, round }) => html`${attempts}${round > 1 && html` <small>in round ${round}</small>`}`,
    isNumeric: true,
  },
  { head: "Last response", cell: ({ status, error }) => status ?? (error && html`<small>${error}</small>`) },
];

/** Customers have no page of their own: the search shows what belongs to them. */
export const customerLink = (id: string): Html =>
  html`<a class="id" href="/search?${String(new URLSearchParams({ q: id }))}" title="${id}">${id}</a>`;

export const invoiceLink = (id: string): Html =>
  html`<a class="id" href="/invoices/${encodeURIComponent(id)}" title="${id}">${id}</a>`;

const nextAttemptText = ({ dueAt }: ListedDelivery, { now, clockRate }: Ports): HtmlPart =>
  dueAt && html` <small>next ${countdown(dueAt, now(), clockRate)}</small>`;
