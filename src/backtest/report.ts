import { tenths } from "../decisions/shares.ts";
import { escaped, listHtml, pageHtml, tableHtml } from "../report/page.ts";
import type { Backtest, Book, Judged } from "./backtest.ts";
import { type Estimate, isSaid, type NotSaid } from "./estimate.ts";
import { differencePlot, firstGapsPlot, groupsPlot } from "./plots.ts";
import {
  assumptions,
  basisWords,
  bookWords,
  day,
  isAnySaid,
  judgedWords,
  leftOutWords,
  points,
  shortAnswer,
  sideOf,
  tooFewWords,
  twinWords,
  whole,
} from "./words.ts";

/** A report on one page that needs nothing else, to be read by people and printed. */
export function reportHtml(result: Backtest): string {
  const [from, to] = [day(result.from), day(result.to)];
  return pageHtml(
    "What other ways of trying again would have recovered",
    `From ${whole(result.attempts)} payment attempts between ${from} and ${to}. Worked out from what your system did; nothing was charged for it.`,
    `${leftOutSection(result)}<h2>Short answer</h2>
${result.books.map((book) => `<p>${result.books.length > 1 ? `${escaped(book.currency)}: ` : ""}${escaped(shortAnswer(book))}</p>`).join("\n")}
${result.books.map(bookSection).join("\n")}
<h2>What your system did</h2>
${firstGapsPlot(result)}${groupsPlot(result)}
<h2>What this rests on</h2>
${listHtml(assumptions(result))}`,
  );
}

const bookSection = (book: Book) => {
  const tooFew = tooFewWords(book);
  const head = `<h2>${escaped(book.currency)}</h2>
<p>${escaped(bookWords(book))}`;
  return tooFew
    ? `${head} ${escaped(tooFew)}</p>`
    : `${head}</p>
<ul class="answers">${book.ways.map((way) => `<li class="${sideOf(way.money)}">${escaped(judgedWords(way, book))}</li>`).join("")}</ul>
${twinWords(book)
  .map((words) => `<p>${escaped(words)}</p>`)
  .join("")}${differencePlot(book)}
${isAnySaid(book) ? wayTable(book) : ""}`;
};

const WAY_HEAD = ["Way", "Invoices recovered", "Money recovered", "More or less money", "Judged by"];

const wayTable = ({ currency, ways }: Book) => tableHtml(`ways, ${currency}`, WAY_HEAD, ways.map(wayRow));

function wayRow(judged: Judged): string[] {
  const { words, count, money } = judged;
  const difference = isSaid(money)
    ? `${points(money.differenceLow)} to ${points(money.differenceHigh)} points`
    : "cannot say";
  return [words, rangeOf(count), rangeOf(money), difference, basisWords(judged)];
}

const rangeOf = (judged: Estimate | NotSaid) =>
  isSaid(judged) ? `${tenths(judged.share)} (${tenths(judged.low)} to ${tenths(judged.high)})` : "cannot say";

const leftOutSection = (result: Backtest) =>
  leftOutWords(result)
    .map(({ words, problems }) => `<p>${escaped(words)}</p>${problems.length > 0 ? listHtml(problems) : ""}\n`)
    .join("");
