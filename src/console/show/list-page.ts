import { type Html, type HtmlPart, html } from "../html.ts";
import { withQuery } from "../page-query.ts";
import { hiddenFields } from "./form-fields.ts";
import { icon } from "./icons.ts";
import { type Choice, drop, filterChip, segments } from "./parts.ts";

/** The parameter with the name of the view that was just saved. */
export const SAVED = "saved";
/** With those that say where in a list a page is. */
const PASSING_NAMES: readonly string[] = ["after", "back", "before", SAVED];
const WITHOUT_POSITION = { after: null, back: null, before: null, [SAVED]: null };

/** The list's address with other filters. It starts at the first page. */
export const listHref = (path: string, query: URLSearchParams, changes: Record<string, string | null>): string =>
  withQuery(path, query, { ...WITHOUT_POSITION, ...changes });

/** Filters and order, without the position and the view that was just saved. */
export const filtersOf = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams([...query].filter(([name, value]) => value !== "" && !PASSING_NAMES.includes(name)));

export interface ListFilter {
  name: string;
  label: string;
  /** Of the active filter, such as "Germany"; null if it is not active. */
  words: string | null;
  /** A labeled field for it; null if it can only be set by a link. */
  field: Html | null;
  /** Other parameters that make no sense without it. */
  needed?: readonly string[];
}

export interface ListTools {
  path: string;
  query: URLSearchParams;
  /** Names the ids that the search finds. */
  searched: string;
  states: { label: string; choices: readonly Choice[] };
  filters: readonly ListFilter[];
  /** Count and sums. */
  figures: HtmlPart;
  views: ListViews;
}

export interface ListViews {
  /** Beside the search. */
  menu: Html;
  /** Above the list. */
  notice: HtmlPart;
}

/** Search, states and filters above a list. All are in the address. */
export function listTools({ path, query, searched, states, filters, figures, views }: ListTools): Html {
  const active = filters.filter(({ words }) => words !== null);
  const addable = filters.filter(({ words, field }) => words === null && field !== null);
  const kept = Object.fromEntries(filtersOf(query));
  const { q, ...others } = kept;
  return html`${views.notice}
<div class="bar"><div class="list-search"><form method="get" class="find list-find" role="search" aria-label="This list" data-search>${icon("find")}<input name="q" type="search" value="${q ?? ""}" maxlength="255" placeholder="Start of an id" aria-label="Start of ${searched}" autocomplete="off">${hiddenFields(others)}</form>${views.menu}</div>
${segments(states.label, states.choices)}</div>
<div class="bar"><div class="chips">${q !== undefined && filterChip(`Id starts with ${q}`, listHref(path, query, { q: null }))}${active.map(({ name, label, words, needed = [] }) => filterChip(`${label}: ${words}`, listHref(path, query, Object.fromEntries([name, ...needed].map((each) => [each, null])))))}
${addable.length > 0 && drop("Add a filter", html`<form method="get" class="add-filter">${addable.map(({ field }) => field)}${hiddenFields(kept)}<button class="main">Add</button></form>`, "add")}
${Object.keys(kept).length > 0 && html`<a class="small" href="${path}">Clear</a>`}</div><span class="soft tab small list-sum">${figures}</span></div>`;
}

export interface ListColumn<Row> {
  head: string;
  cell(row: Row): HtmlPart;
  isNumeric?: boolean;
  /** Left out in narrow windows. */
  isOptional?: boolean;
  /** A row's cell on a phone: `a` left and `b` right, `c` left and `d` right below. A row's name is in `a`. */
  place?: "a" | "b" | "c" | "d";
  /** For `orderBy`. */
  orderBy?: string;
  /** Filters that the order needs. */
  orderFilters?: Record<string, string>;
}

export interface ListOrder {
  orderBy: string;
  isAscending: boolean;
  /** The order without parameters, which is descending. */
  usual: string;
}

/** A list with a head that stays, and two-line rows on a phone. */
export function listTable<Row>(
  label: string,
  columns: readonly ListColumn<Row>[],
  rows: readonly Row[],
  order: ListOrder,
  { path, query }: { path: string; query: URLSearchParams },
): Html {
  const heading = ({ head, isNumeric, isOptional, orderBy, orderFilters }: ListColumn<Row>) => {
    const kind = classOf([isNumeric && "num", isOptional && "opt"]);
    if (orderBy === undefined) return html`<th scope="col"${kind}>${head}</th>`;
    const isCurrent = orderBy === order.orderBy;
    const isAscending = isCurrent && !order.isAscending;
    const href = listHref(path, query, {
      ...orderFilters,
      orderBy: orderBy === order.usual ? null : orderBy,
      orderDirection: isAscending ? "asc" : null,
    });
    const sorted = isCurrent ? html` aria-sort="${order.isAscending ? "ascending" : "descending"}"` : "";
    return html`<th scope="col"${kind}${sorted}><a href="${href}">${head}</a></th>`;
  };
  return html`<section class="card" aria-label="${label}"><table class="rows sticky">
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${columns.map((column) => bodyCell(column, row))}</tr>\n`)}
</tbody></table></section>`;
}

/** The same rows inside a card, without an order to choose. */
export const plainListTable = <Row>(label: string, columns: readonly ListColumn<Row>[], rows: readonly Row[]): Html =>
  html`<table class="rows" aria-label="${label}">
<thead><tr>${columns.map(({ head, isNumeric, isOptional }) => html`<th scope="col"${classOf([isNumeric && "num", isOptional && "opt"])}>${head}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${columns.map((column) => bodyCell(column, row))}</tr>\n`)}
</tbody></table>`;

function bodyCell<Row>({ cell, isNumeric, isOptional, place }: ListColumn<Row>, row: Row): Html {
  const kind = classOf([isNumeric && "num", isOptional && "opt", place]);
  return place === "a" ? html`<th scope="row"${kind}>${cell(row)}</th>` : html`<td${kind}>${cell(row)}</td>`;
}

const classOf = (names: readonly (string | false | undefined)[]): Html | "" => {
  const set = names.filter(Boolean).join(" ");
  return set === "" ? "" : html` class="${set}"`;
};

/** Beside a state, on a phone only: what has no place of its own there. */
export const onlyOnPhone = (words: HtmlPart): Html => html`<span class="only-narrow soft"> ${words}</span>`;
