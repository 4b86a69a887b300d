import type { BacktestResult, CurrencyResult, JudgedStrategy } from "../../backtest/backtest.ts";
import { type Estimate, isEstimate, type NotEstimable } from "../../backtest/estimate.ts";
import {
  assumptionsText,
  basisText,
  compareToCurrent,
  currencySummaryText,
  GROUP_NAMES,
  indistinguishableText,
  judgedStrategyText,
  leftOutText,
  noResultText,
  shortAnswerText,
  signedPoints,
} from "../../backtest/wording.ts";
import { type Html, html } from "../html.ts";
import { formNotice } from "../show/form-fields.ts";
import { intervalPlot } from "../show/interval-plot.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { stackBars } from "../show/stack-bars.ts";
import { table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";

export function backtestReport(result: BacktestResult, zone: string): Html {
  const { attempts, from, to, books, firstGaps, groups } = result;
  const leftOut = leftOutText(result).map(({ words }) => formNotice("warn", words));
  if (books.length === 0)
    return html`<p class="lead">${formatCount(attempts)} payment attempts</p>${leftOut}<p class="text">${noResultText(result)}</p>`;
  return html`<p class="lead">${formatCount(attempts)} payment attempts, from ${timeElement(from, zone)} to ${timeElement(to, zone)}</p>
<p class="text">Computed from your system's attempts. No payment was made for it.</p>
${leftOut}${books.map(bookSection)}
<h2>What your system did</h2>
<h3>Days before the first retry, per 100 failed invoices</h3>
${shareTable(
  "days before the first retry",
  ["it succeeded", "it did not"],
  firstGaps
    .filter(({ share }) => share > 0)
    .map(({ words, share, succeeded }) => ({ words, share, inner: (succeeded ?? 0) * share })),
)}
<h3>Why the first attempt failed, per 100 invoices</h3>
${shareTable(
  "why the first attempt failed",
  ["recovered in the end", "not recovered"],
  groups.map(({ group, share, recovered }) => ({ words: GROUP_NAMES[group], share, inner: recovered * share })),
)}
<h2>Assumptions</h2>
<ul class="text">${assumptionsText(result).map((words) => html`<li>${words}</li>`)}<li>"Your system" includes retries that Dunlin requested, because they are part of this history.</li></ul>`;
}

const EFFECT_SIDES = { more: "good", less: "bad", same: "", open: "" } as const;
const STRATEGY_CHARS_MAX = 42;
const shortenName = (words: string) =>
  words.length > STRATEGY_CHARS_MAX ? `${words.slice(0, STRATEGY_CHARS_MAX - 1)}…` : words;

function bookSection(book: CurrencyResult): Html {
  if (!book.ways.some(({ count, money }) => isEstimate(count) || isEstimate(money)))
    return html`<h2>${book.currency}</h2><p class="text">${currencySummaryText(book)} This history is too small or too uniform to compare other strategies.</p>`;
  const intervals = book.ways.flatMap(({ words, money }) =>
    isEstimate(money)
      ? [{ label: shortenName(words), middle: money.difference, low: money.differenceLow, high: money.differenceHigh }]
      : [],
  );
  const summary = book.ways.map((way) => judgedStrategyText(way, book)).join(" ");
  return html`<h2>${book.currency}</h2><p class="text">${currencySummaryText(book)}</p>
<p class="text"><strong>${shortAnswerText(book)}</strong></p>
<ul class="answers">${book.ways.map((way) => html`<li class="${EFFECT_SIDES[compareToCurrent(way.money)]}">${judgedStrategyText(way, book)}</li>`)}</ul>
${indistinguishableText(book).map((words) => html`<p class="text">${words}</p>`)}
${intervals.length > 0 && html`<h3>Recovered money compared with your system, in percentage points</h3>${intervalPlot(book.currency, summary, intervals, signedPoints)}`}
${table(
  `Strategies, ${book.currency}`,
  [
    { head: "Strategy", cell: ({ words }: JudgedStrategy) => words },
    { head: "Invoices recovered", cell: ({ count }) => formatRange(count), numeric: true },
    { head: "Money recovered", cell: ({ money }) => formatRange(money), numeric: true },
    {
      head: "Difference in money, points",
      cell: ({ money }) =>
        isEstimate(money)
          ? `${signedPoints(money.differenceLow)} to ${signedPoints(money.differenceHigh)}`
          : "no estimate",
      numeric: true,
    },
    { head: "Basis", cell: (strategy) => html`<small>${basisText(strategy)}</small>` },
  ],
  book.ways,
)}`;
}

const formatRange = (result: Estimate | NotEstimable) =>
  isEstimate(result)
    ? html`${formatShare(result.share, 1)} <small>${formatShare(result.low, 1)} to ${formatShare(result.high, 1)}</small>`
    : html`<span class="soft">no estimate</span>`;

interface ShareRow {
  words: string;
  share: number;
  inner: number;
}

function shareTable(name: string, names: readonly string[], rows: readonly ShareRow[]): Html {
  const percent = (part: number) => formatShare(part, 1);
  const bars = rows.map(({ words, share, inner }) => ({ label: words, parts: [inner, share - inner] }));
  const summary = rows.map(
    ({ words, share, inner }) => `${words} ${percent(share)}, of it ${names[0]!} ${percent(inner / share)}`,
  );
  return html`${stackBars(name, summary.join("; "), names, bars, percent)}
<details class="more"><summary>The numbers</summary>${table(
    `The numbers: ${name}`,
    [
      { head: "", cell: ({ words }: ShareRow) => words },
      { head: "Share", cell: ({ share }) => percent(share), numeric: true },
      { head: `Of it ${names[0]!}`, cell: ({ share, inner }) => percent(inner / share), numeric: true },
    ],
    rows,
  )}</details>`;
}

export const STRATEGY_HEADINGS = [
  "currency",
  "way",
  "invoices",
  "invoices_recovered",
  "measure",
  "share",
  "share_low",
  "share_high",
  "difference",
  "difference_low",
  "difference_high",
  "own_tries",
  "effective_invoices",
  "verdict",
];

export const reportCells = ({ books }: BacktestResult) =>
  books.flatMap(({ currency, invoices, recovered, ways }) =>
    ways.flatMap(({ name, count, money }) =>
      [["invoices", count] as const, ["money", money] as const].map(([measure, result]) => {
        const estimate = isEstimate(result) ? result : null;
        const { share = null, low = null, high = null, difference = null } = estimate ?? {};
        const { differenceLow = null, differenceHigh = null, depth = null } = estimate ?? {};
        const numbers = [share, low, high, difference, differenceLow, differenceHigh, depth];
        return [currency, name, invoices, recovered, measure, ...numbers, result.effective, compareToCurrent(result)];
      }),
    ),
  );
