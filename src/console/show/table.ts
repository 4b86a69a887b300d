import { type Html, type HtmlPart, html } from "../html.ts";

export interface Column<Row> {
  head: string;
  cell(row: Row): HtmlPart;
  numeric?: boolean;
}

/** Scrolls on its own and takes the keyboard focus. On a phone each cell shows its column's heading: see screens.css. */
export const table = <Row>(label: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html => html`
<div class="wide" tabindex="0" role="region" aria-label="${label}"><table data-rows>
<thead><tr>${columns.map(headingCell)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${columns.map((column) => bodyCell(column, row))}</tr>\n`)}
</tbody></table></div>`;

/** A column of buttons has no heading. */
const headingCell = ({ head, numeric }: { head: string; numeric?: boolean }): Html =>
  head === "" ? html`<td></td>` : html`<th scope="col"${numeric ? html` class="number"` : ""}>${head}</th>`;

const bodyCell = <Row>({ head, cell, numeric }: Column<Row>, row: Row): Html =>
  html`<td${numeric ? html` class="number"` : ""}${head === "" ? "" : html` data-head="${head}"`}>${cell(row)}</td>`;

export const factList = (pairs: readonly (readonly [name: string, value: HtmlPart] | null)[]): Html =>
  html`<dl class="facts">${pairs.map((pair) => pair && html`<div><dt>${pair[0]}</dt><dd>${pair[1]}</dd></div>`)}</dl>`;

export const pageLinks = (isFirst: boolean, firstHref: string, nextHref: string | null): Html | null =>
  isFirst && nextHref === null
    ? null
    : html`<nav class="paging" aria-label="Pages of the list">
${isFirst ? null : html`<a class="button" href="${firstHref}">First page</a>`}
${nextHref === null ? html`<span class="soft">End of the list</span>` : html`<a class="button" rel="next" href="${nextHref}">Next page</a>`}
</nav>`;

export const emptyNotice = (text: HtmlPart, command?: string): Html =>
  html`<div class="empty"><p>${text}</p>${command === undefined ? null : commandHint(command)}</div>`;

export const commandHint = (command: string, hint: HtmlPart = null): Html =>
  html`<details class="more"><summary>Use the command line</summary>${hint && html`<p class="soft">${hint}</p>`}${copyableText("Command", command)}</details>`;

export const copyableText = (label: string, text: string): Html => html`
<div class="copyable"><pre tabindex="0" aria-label="${label}">${text}</pre><button type="button" class="small" data-copy>Copy</button></div>`;
