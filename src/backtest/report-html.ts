import { formatTenths } from "../engine/shares.ts";
import { escapeHtml, listHtml, pageHtml, tableHtml } from "../report/html-page.ts";
import type { BacktestResult, CurrencyResult, JudgedStrategy } from "./backtest.ts";
import { drawDifferencePlot, drawFirstGapsPlot, drawGroupsPlot } from "./backtest-plots.ts";
import { type Estimate, isEstimate, type NotEstimable } from "./estimate.ts";
import {
  assumptionsText,
  basisText,
  compareToCurrent,
  currencySummaryText,
  formatCount,
  formatDay,
  hasAnyEstimate,
  indistinguishableText,
  judgedStrategyText,
  leftOutText,
  shortAnswerText,
  signedPoints,
  tooFewInvoicesText,
} from "./wording.ts";

export function buildReportHtml(result: BacktestResult): string {
  const [from, to] = [formatDay(result.from), formatDay(result.to)];
  return pageHtml(
    "What other retry strategies would have recovered",
    `Based on ${formatCount(result.attempts)} payment attempts between ${from} and ${to}. Estimated from what your system did; no payment was attempted for it.`,
    `${leftOutSection(result)}<h2>Short answer</h2>
${result.books.map((book) => `<p>${result.books.length > 1 ? `${escapeHtml(book.currency)}: ` : ""}${escapeHtml(shortAnswerText(book))}</p>`).join("\n")}
${result.books.map(currencySection).join("\n")}
<h2>What your system did</h2>
${drawFirstGapsPlot(result)}${drawGroupsPlot(result)}
<h2>Assumptions</h2>
${listHtml(assumptionsText(result))}`,
  );
}

const currencySection = (book: CurrencyResult) => {
  const tooFew = tooFewInvoicesText(book);
  const head = `<h2>${escapeHtml(book.currency)}</h2>
<p>${escapeHtml(currencySummaryText(book))}`;
  return tooFew
    ? `${head} ${escapeHtml(tooFew)}</p>`
    : `${head}</p>
<ul class="answers">${book.ways.map((judged) => `<li class="${compareToCurrent(judged.money)}">${escapeHtml(judgedStrategyText(judged, book))}</li>`).join("")}</ul>
${indistinguishableText(book)
  .map((text) => `<p>${escapeHtml(text)}</p>`)
  .join("")}${drawDifferencePlot(book)}
${hasAnyEstimate(book) ? strategyTable(book) : ""}`;
};

const STRATEGY_COLUMNS = ["Strategy", "Invoices recovered", "Money recovered", "Difference in money", "Basis"];

const strategyTable = ({ currency, ways }: CurrencyResult) =>
  tableHtml(`strategies, ${currency}`, STRATEGY_COLUMNS, ways.map(strategyRow));

function strategyRow(judged: JudgedStrategy): string[] {
  const { words, count, money } = judged;
  const difference = isEstimate(money)
    ? `${signedPoints(money.differenceLow)} to ${signedPoints(money.differenceHigh)} points`
    : "no estimate";
  return [words, rangeText(count), rangeText(money), difference, basisText(judged)];
}

const rangeText = (judged: Estimate | NotEstimable) =>
  isEstimate(judged)
    ? `${formatTenths(judged.share)} (${formatTenths(judged.low)} to ${formatTenths(judged.high)})`
    : "no estimate";

const leftOutSection = (result: BacktestResult) =>
  leftOutText(result)
    .map(({ words, problems }) => `<p>${escapeHtml(words)}</p>${problems.length > 0 ? listHtml(problems) : ""}\n`)
    .join("");
