import {
  BREAKDOWN_DIMENSIONS,
  type BreakdownDimension,
  bandOf,
  DIMENSION_NAMES,
  valueLabel,
} from "../../analytics/dimension-labels.ts";
import type { Period } from "../../analytics/period.ts";
import { reasonTreatment } from "../../analytics/reason-treatment.ts";
import {
  BREAKDOWN_SORTS,
  type Breakdown,
  type BreakdownRow,
  type BreakdownSort,
  sortBreakdown,
  toBreakdown,
} from "../../analytics/recovery-breakdown.ts";
import type { ReportingView } from "../../analytics/reporting-money.ts";
import { matureSpan, type RecoverySpan, sumSplit } from "../../analytics/split-sums.ts";
import { formatMajorUnits } from "../../domain/currency.ts";
import { CASE_FILTER_NAMES, type CaseFilterName, type CaseFilters } from "../../tables/recovery-sums.ts";
import type { Console } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery, withQuery } from "../page-query.ts";
import { sendCsv } from "../show/csv-export.ts";
import { icon } from "../show/icons.ts";
import { formatCount, formatMoneyShort, formatShare, formatShareRange } from "../show/number-format.ts";
import { card, drop, filterChip, tabs } from "../show/parts.ts";
import { HEAT_MIN, heatMap, rateMini, shareBar } from "../show/plots.ts";
import type { Visit } from "../visit.ts";
import { PERIOD_READERS, periodTools, periodWords, readPeriod, readView } from "./period-tools.ts";

const valueReader = (text: string) => (text.length <= 255 ? text : { wrong: "must have at most 255 characters" });
/** An empty parameter is missing, so an unknown value has a word. */
const UNKNOWN = "unknown";
const FILTERS = CASE_FILTER_NAMES.filter((name) => name !== "currency");
const QUERY_READERS = {
  ...PERIOD_READERS,
  by: enumReader(BREAKDOWN_DIMENSIONS),
  sort: enumReader(BREAKDOWN_SORTS.flatMap((sort) => [sort, `-${sort}`] as const)),
  ...(Object.fromEntries(FILTERS.map((name) => [name, valueReader])) as Record<
    Exclude<CaseFilterName, "currency">,
    typeof valueReader
  >),
};
const PERIODS = ["4w", "12w", "12m", "quarter"] as const;
/** Dimensions of the smaller cards. */
const CARD_ROWS = 5;

export function analyticsRoutes(console: Console) {
  console.page("/analytics", null, (visit) => analyticsPage(console, visit));
  console.page("/analytics.csv", null, async (visit) => {
    const asked = await readAsked(console, visit);
    const { rows } = await loadSplit(visit, asked, asked.by);
    const { currency } = asked.view;
    const cells = sortBreakdown(rows, asked.sort, asked.isDescending).map((row) => [
      ...[row.value, labelOf(asked.by, row.value, asked.view)],
      ...[row.n, row.recovered, row.interval && row.recovered / row.n],
      ...[row.interval?.low ?? null, row.interval?.high ?? null, currency],
      ...[formatMajorUnits(row.failed, currency), formatMajorUnits(row.recoveredAmount, currency)],
      formatMajorUnits(row.failed - row.recoveredAmount, currency),
    ]);
    return sendCsv(visit.reply, `recovery-by-${asked.by}.csv`, HEADINGS, [cells]);
  });
}

const HEADINGS = [
  ...["value", "label", "invoices_or_retries", "recovered", "rate", "rate_low", "rate_high", "currency"],
  ...["failed_amount", "recovered_amount", "left_amount"],
];

interface Asked {
  by: BreakdownDimension;
  sort: BreakdownSort;
  isDescending: boolean;
  filters: CaseFilters;
  period: Period;
  span: RecoverySpan;
  view: ReportingView;
  now: Date;
}

async function readAsked({ ports }: Console, visit: Visit): Promise<Asked> {
  const { db, merchantId, query, person } = visit;
  const { by = "reason", sort, ...rest } = parsePageQuery(query, QUERY_READERS);
  const now = ports.now();
  const period = readPeriod(rest, now, person.zone);
  const span = await matureSpan(db, merchantId, period, period.name !== null, now);
  const view = await readView(visit, span.from, rest.currency);
  const filters = Object.fromEntries(
    FILTERS.flatMap((name) => (rest[name] === undefined ? [] : [[name, rest[name] === UNKNOWN ? "" : rest[name]]])),
  );
  const usual = by === "attempt" || by === "hour" || by === "cohort" ? "value" : "-failed";
  const text = sort ?? usual;
  return {
    ...{ by, filters, period, span, view, now },
    sort: text.replace("-", "") as BreakdownSort,
    isDescending: text.startsWith("-"),
  };
}

async function loadSplit({ db, merchantId, person }: Visit, { span, filters, view }: Asked, by: BreakdownDimension) {
  return toBreakdown(await sumSplit(db, merchantId, by, span, filters, person.zone), view, span.designEffect);
}

async function analyticsPage(console: Console, visit: Visit): Promise<Page> {
  const asked = await readAsked(console, visit);
  const { path, query, person } = visit;
  const { by, filters, view } = asked;
  const load = (dimension: BreakdownDimension) => loadSplit(visit, asked, dimension);
  const others = by === "reason" ? (["country", "issuer", "plan", "attempt", "amount", "hour"] as const) : [];
  const [main, all, ...cards] = await Promise.all([load(by), load("reason"), ...others.map(load)]);
  const link = (changes: Record<string, string | null>) => withQuery(path, query, changes);
  const chips = Object.entries(filters).map(([name, value]) =>
    filterChip(
      `${DIMENSION_NAMES[name as BreakdownDimension]}: ${labelOf(name as BreakdownDimension, value!, view)}`,
      link({ [name]: null }),
    ),
  );
  const body =
    all.all.n === 0
      ? html`${chips.length > 0 && html`<div class="bar"><div class="chips">${chips}</div></div>`}${nothingCard(asked, person.zone)}`
      : html`<p class="lede">${sentence(all, asked, person.zone)}</p>
${tabs(
  "Split by",
  BREAKDOWN_DIMENSIONS.map((dimension) => ({
    words: DIMENSION_NAMES[dimension],
    href: link({ by: dimension, sort: null }),
    isCurrent: dimension === by,
  })),
)}
<div class="bar"><div class="chips">${chips}${addFilter(all, asked, link)}</div>${LEGEND}</div>
${by === "hour" ? hourCard(main, "mb") : mainTable(main, asked, visit, all.all)}
${cards.length > 0 && html`<div class="grid two splits">${others.map((dimension, index) => (dimension === "hour" ? hourCard(cards[index]!) : smallCard(dimension, cards[index]!, view, link, all.all)))}</div>`}
<p class="small soft">Here an invoice counts in the week in which it failed; the overview counts a payment when it was reported. A split shows where money is lost, not why. ${by === "attempt" || by === "hour" || cards.length > 0 ? "Later retries are made on harder cases, so fewer of them are paid." : ""} Intervals hold 95% and are wider where customers have several invoices.</p>`;
  return {
    title: "Analytics",
    tools: html`${periodTools(visit, asked.period, view, asked.now, PERIODS)}<a class="button" href="${withQuery("/analytics.csv", query, {})}">${icon("down")}CSV</a>`,
    body,
  };
}

/** Says why there is nothing: the filters, the age of the invoices, or a period that lies ahead. */
function nothingCard({ period, span, filters, now }: Asked, zone: string): Html {
  const why =
    period.from > now
      ? html`The period begins in the future.`
      : span.from >= span.to
        ? html`No invoice that failed ${periodWords(period, zone)} is old enough to count: an invoice counts ${span.maturityDays} days after it failed.`
        : Object.keys(filters).length > 0
          ? html`No invoice that failed ${periodWords(span, zone)} fits the filters.`
          : html`No invoice failed ${periodWords(span, zone)}. An invoice counts ${span.maturityDays} days after it failed.`;
  return html`<div class="card empty"><h2>Nothing to compare</h2><p>${why} Choose another period, or come back later.</p></div>`;
}

const LEGEND = html`<span class="legend only-wide"><span class="share-bar"><svg viewBox="0 0 12 12"><rect class="c-bar" width="12" height="12" rx="2"/></svg>recovered</span><span class="share-bar"><svg viewBox="0 0 12 12"><rect class="c-bar-soft" width="12" height="12" rx="2"/></svg>not</span><span><svg viewBox="0 0 12 12"><line class="c-range" x1="0" x2="12" y1="6" y2="6"/><circle class="c-point full" cx="6" cy="6" r="3"/></svg>rate and its 95% interval</span><span><svg viewBox="0 0 12 12"><line class="c-mean" x1="6" x2="6" y1="0" y2="12"/></svg>all invoices</span></span>`;

const money = (amount: bigint, view: ReportingView) => formatMoneyShort(amount, view.currency);

function labelOf(dimension: BreakdownDimension, value: string, { currency, isConverted }: ReportingView): string {
  if (dimension !== "amount" || value === "") return valueLabel(dimension, value);
  const [from, to] = bandOf(value);
  const shown = (amount: number) => amount.toLocaleString("en");
  const words = from === 0 ? `under ${shown(to)}` : `${shown(from)} to under ${shown(to)}`;
  return isConverted ? `${words}, in the invoice's currency` : `${currency} ${words}`;
}

function sentence({ rows, all }: Breakdown, { span, view, filters }: Asked, zone: string): Html {
  const approximately = view.isConverted ? "≈ " : "";
  const lead = html`Dunlin recovered <b>${approximately}${money(all.recoveredAmount, view)} of ${money(all.failed, view)}</b> that failed from ${periodWords(span, zone)}, and <b>${formatShare(all.recovered, all.n)}</b> of ${formatCount(all.n)} ${all.n === 1 ? "invoice" : "invoices"}.`;
  const { reason } = filters;
  if (reason !== undefined)
    return html`${lead} ${reasonTreatment(reason)} <a href="/invoices?outcome=lost&amp;reason=${reason === "" ? UNKNOWN : reason}">Invoices that were not recovered</a>`;
  const worst = sortBreakdown(rows, "left", true)[0];
  const isBelowAll = ({ recovered, n }: BreakdownRow) => recovered / n < all.recovered / all.n;
  const least = rows
    .filter((row) => row.n >= HEAT_MIN && row.value !== "" && isBelowAll(row))
    .toSorted((one, other) => one.recovered / one.n - other.recovered / other.n)[0];
  const name = ({ value }: BreakdownRow) => valueLabel("reason", value).toLowerCase();
  return html`${lead}${worst && worst.failed > worst.recoveredAmount && html` Most is left after: ${name(worst)} (<b>${approximately}${money(worst.failed - worst.recoveredAmount, view)}</b>). ${reasonTreatment(worst.value)}`}${least && html` ${least === worst ? "It is also recovered" : `Recovered`} least often${least !== worst && `: ${name(least)}`} (${formatShare(least.recovered, least.n)}).`}`;
}

/** Values of the other dimensions are filters from their own tab; here are the reasons, as the ones most asked for. */
function addFilter(
  { rows }: Breakdown,
  { filters }: Asked,
  link: (changes: Record<string, string | null>) => string,
): HtmlPart {
  if (filters.reason !== undefined || rows.length < 2) return null;
  return drop(
    "Add a filter",
    html`<p class="small soft">Decline reason. For another filter, open its split and choose a value.</p><ul class="plain">${rows.map(({ value }) => html`<li><a href="${link({ reason: value === "" ? UNKNOWN : value })}">${valueLabel("reason", value)}</a></li>`)}</ul>`,
  );
}

const COLUMN_NAMES: Readonly<Record<Exclude<BreakdownSort, "value">, string>> = {
  failed: "Failed",
  recovered: "Recovered",
  left: "Left",
  rate: "Rate",
  n: "Invoices",
};

function mainTable({ rows, all }: Breakdown, asked: Asked, visit: Visit, overall: BreakdownRow): Html {
  const { by, sort, isDescending, view } = asked;
  const isOfRetries = by === "attempt";
  const largest = Math.max(0, ...rows.map(({ failed }) => Number(failed)));
  const head = (column: BreakdownSort, words: string, kind = "num") => {
    const isSorted = column === sort;
    const next = isSorted && isDescending ? column : `-${column}`;
    return html`<th scope="col" class="${kind}"${isSorted ? html` aria-sort="${isDescending ? "descending" : "ascending"}"` : ""}><a href="${withQuery(visit.path, visit.query, { sort: next })}">${words}</a></th>`;
  };
  const moneyHead = (column: "failed" | "recovered" | "left", kind = "num") =>
    !isOfRetries && head(column, COLUMN_NAMES[column], kind);
  const mean = overall.n === 0 || isOfRetries ? null : overall.recovered / overall.n;
  const line = (row: BreakdownRow) => html`<tr><th scope="row" class="a">${valueCell(row, by, asked, visit)}</th>
${!isOfRetries && html`<td class="num b">${money(row.failed, view)}</td><td class="share-bar">${shareBar(Number(row.recoveredAmount), Number(row.failed), largest)}</td><td class="num opt">${money(row.recoveredAmount, view)}</td><td class="num soft">${money(row.failed - row.recoveredAmount, view)}</td>`}
${rateCells(row, mean, labelOf(by, row.value, view))}<td class="num d">${formatCount(row.n)}${countUnit(isOfRetries, row.n)}</td></tr>\n`;
  return html`<div class="card mb"><table class="rows sticky lean"><thead><tr>${head("value", DIMENSION_NAMES[by], "")}${moneyHead("failed")}${!isOfRetries && html`<th scope="col" class="share-bar"><span class="hidden">Failed and recovered as bars</span></th>`}${moneyHead("recovered", "num opt")}${moneyHead("left")}${head("rate", "Rate")}<th scope="col">Interval, 0 to 100%</th>${head("n", isOfRetries ? "Retries" : COLUMN_NAMES.n)}</tr></thead>
<tbody>${sortBreakdown(rows, sort, isDescending).map(line)}</tbody>
<tfoot><tr><th scope="row" class="a">All</th>${!isOfRetries && html`<td class="num b">${money(all.failed, view)}</td><td class="share-bar"></td><td class="num opt">${money(all.recoveredAmount, view)}</td><td class="num">${money(all.failed - all.recoveredAmount, view)}</td>`}<td class="num c">${formatShare(all.recovered, all.n)} ${all.interval && html`<small>${formatShareRange(all.interval)}</small>`}</td><td class="e"></td><td class="num d">${formatCount(all.n)}</td></tr></tfoot></table></div>`;
}

/** On a phone there are no heads. */
const countUnit = (isOfRetries: boolean, n: number): Html =>
  html`<span class="only-narrow"> ${isOfRetries ? "retr" : "invoice"}${isOfRetries ? (n === 1 ? "y" : "ies") : n === 1 ? "" : "s"}</span>`;

function rateCells(row: BreakdownRow, mean: number | null, name: string): Html {
  if (row.interval === null) return html`<td class="num c soft">–</td><td class="e"></td>`;
  const rate = row.recovered / row.n;
  const words = `${name}: ${formatShare(row.recovered, row.n)}, from ${formatShareRange(row.interval)}`;
  return html`<td class="num c"><b>${formatShare(row.recovered, row.n)}</b> <small>${formatShareRange(row.interval)}</small></td><td class="e">${rateMini(rate, row.interval, mean, words)}</td>`;
}

const isFilter = (dimension: BreakdownDimension): dimension is Exclude<CaseFilterName, "currency"> =>
  (FILTERS as readonly string[]).includes(dimension);

/** A value leads to the same page with only its cases, and to the invoices behind it. */
function valueCell({ value }: BreakdownRow, by: BreakdownDimension, { view }: Asked, { path, query }: Visit): HtmlPart {
  const words = labelOf(by, value, view);
  if (!isFilter(by)) return words;
  return html`<a href="${withQuery(path, query, { [by]: value === "" ? UNKNOWN : value, by: by === "reason" ? "code" : "reason", sort: null })}">${words}</a>`;
}

/** Under a title that names the currency. */
const shortLabel = (by: BreakdownDimension, value: string, view: ReportingView): string =>
  by === "amount" && !view.isConverted
    ? labelOf(by, value, view).replace(`${view.currency} `, "")
    : labelOf(by, value, view);

function smallCard(
  by: BreakdownDimension,
  { rows }: Breakdown,
  view: ReportingView,
  link: (changes: Record<string, string | null>) => string,
  overall: BreakdownRow,
): Html {
  const isOfRetries = by === "attempt";
  const sorted = sortBreakdown(
    rows,
    isOfRetries || by === "amount" ? "value" : "failed",
    !(isOfRetries || by === "amount"),
  );
  const shown = by === "amount" ? sorted : sorted.slice(0, CARD_ROWS);
  const mean = overall.n === 0 || isOfRetries ? null : overall.recovered / overall.n;
  const line = (row: BreakdownRow) =>
    html`<tr><th scope="row" class="a">${shortLabel(by, row.value, view)}</th>${isOfRetries ? html`<td class="num b">${formatCount(row.n)}</td>` : html`<td class="num b">${money(row.failed, view)}</td>`}<td class="num c">${formatShare(row.recovered, row.n)}</td><td class="e">${row.interval && rateMini(row.recovered / row.n, row.interval, mean, `${labelOf(by, row.value, view)}: ${formatShare(row.recovered, row.n)}, from ${formatShareRange(row.interval)}`)}</td><td class="num d soft">${formatCount(isOfRetries ? row.recovered : row.n)}${isOfRetries ? html`<span class="only-narrow"> paid</span>` : countUnit(false, row.n)}</td></tr>\n`;
  return card(
    {
      title: `By ${DIMENSION_NAMES[by].toLowerCase()}${by === "amount" && !view.isConverted ? ` in ${view.currency}` : ""}`,
      side: html`<a href="${link({ by, sort: null })}">${rows.length > shown.length ? `All ${rows.length}` : "Open"}</a>`,
    },
    html`<table class="rows lean"><thead><tr><th scope="col">${DIMENSION_NAMES[by]}</th><th scope="col" class="num">${isOfRetries ? "Retries" : "Failed"}</th><th scope="col" class="num">Rate</th><th scope="col"><span class="hidden">Interval</span></th><th scope="col" class="num">${isOfRetries ? "Paid" : "Invoices"}</th></tr></thead><tbody>${shown.map(line)}</tbody></table>`,
  );
}

function shareRangeWords(shares: readonly number[]): string {
  const [low, high] = [formatShare(Math.min(...shares), 1), formatShare(Math.max(...shares), 1)];
  return low === high ? low : `${low} to ${high}`;
}

function hourCard({ rows }: Breakdown, kind = ""): Html {
  const byHour = new Map(rows.map((row) => [Number(row.value), row]));
  const cells = Array.from({ length: 168 }, (_, hour) => ({
    n: byHour.get(hour)?.n ?? 0,
    paid: byHour.get(hour)?.recovered ?? 0,
  }));
  const shares = cells.filter(({ n }) => n >= HEAT_MIN).map(({ n, paid }) => paid / n);
  const range =
    shares.length === 0 ? `No hour has ${HEAT_MIN} retries yet.` : `${shareRangeWords(shares)} of retries paid.`;
  const label = `Share of paid retries by weekday and hour. ${range}`;
  const numbers = rows.toSorted((one, other) => Number(one.value) - Number(other.value));
  return card(
    { title: "By weekday and hour", side: "On the customer's clock", kind },
    html`<div class="in">${heatMap(cells, label)}<p class="legend heat-legend">${range} Hours with fewer than ${HEAT_MIN} retries stay blank.</p>
<details class="more"><summary>Show the numbers</summary><table class="small-table"><thead><tr><th scope="col">Hour</th><th scope="col" class="num">Retries</th><th scope="col" class="num">Paid</th></tr></thead><tbody>${numbers.map((row) => html`<tr><th scope="row">${valueLabel("hour", row.value)}</th><td class="num">${formatCount(row.n)}</td><td class="num">${formatCount(row.recovered)}</td></tr>\n`)}</tbody></table></details></div>`,
  );
}
