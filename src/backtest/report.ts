import type { Backtest, Book, Judged } from "./backtest.ts";
import { type Estimate, isSaid, type NotSaid } from "./estimate.ts";
import { differencePlot, escaped, firstGapsPlot, groupsPlot, scrolled } from "./plots.ts";
import {
  assumptions,
  basisWords,
  bookWords,
  day,
  judgedWords,
  leftOutWords,
  percent,
  points,
  shortAnswer,
  sideOf,
  twinWords,
  whole,
} from "./words.ts";

const STYLE = `
:root{color-scheme:light;--ink:#1d2733;--faint:#66727f;--line:#d5dbe1;--more:#0b7a53;--less:#b3372f;--open:#66727f}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:#fff;max-width:800px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.2rem;margin-top:2.2rem}p.lead{color:var(--faint);margin-top:0}
ul.answers{list-style:none;padding:0}ul.answers li{border-left:4px solid var(--open);padding:.1rem 0 .1rem .8rem;margin:.5rem 0}
ul.answers li.more{border-color:var(--more)}ul.answers li.less{border-color:var(--less)}
table{border-collapse:collapse;width:100%;min-width:560px;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.35rem .5rem;border-bottom:1px solid var(--line);vertical-align:top}th{font-weight:600}
figure{margin:1.2rem 0;break-inside:avoid}figcaption{font-size:.9rem;color:var(--faint);margin-bottom:.4rem}
.wide{overflow-x:auto}svg{width:100%;min-width:680px;height:auto;font:13px system-ui,sans-serif}svg text{fill:var(--ink)}svg .axis{fill:var(--faint);font-size:12px}
svg .tick{stroke:var(--line)}svg .zero{stroke:var(--ink)}svg .range{stroke-width:3}
svg .more{stroke:var(--more);fill:var(--more)}svg .less{stroke:var(--less);fill:var(--less)}svg .open,svg .same{stroke:var(--open);fill:var(--open)}
svg .all{fill:#cfd8e3}svg .part{fill:#2f5d8a}
li{margin:.25rem 0}@media print{body{margin:0;max-width:none;font-size:11pt}.wide{overflow:visible}svg,table{min-width:0}h2{break-after:avoid}table,ul.answers li{break-inside:avoid}}
`;

/** A report on one page that needs nothing else, to be read by people and printed. */
export function reportHtml(result: Backtest): string {
  const [from, to] = [day(result.from), day(result.to)];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>What other ways of trying again would have recovered</title><style>${STYLE}</style></head><body>
<h1>What other ways of trying again would have recovered</h1>
<p class="lead">From ${whole(result.attempts)} payment attempts between ${from} and ${to}. Worked out from what your system did; nothing was charged for it.</p>
${leftOutSection(result)}<h2>Short answer</h2>
${result.books.map((book) => `<p>${result.books.length > 1 ? `${escaped(book.currency)}: ` : ""}${escaped(shortAnswer(book))}</p>`).join("\n")}
${result.books.map(bookSection).join("\n")}
<h2>What your system did</h2>
${firstGapsPlot(result)}${groupsPlot(result)}
<h2>What this rests on</h2>
<ul>${assumptions(result)
    .map((words) => `<li>${escaped(words)}</li>`)
    .join("")}</ul>
</body></html>
`;
}

const bookSection = (book: Book) => `<h2>${escaped(book.currency)}</h2>
<p>${escaped(bookWords(book))}</p>
<ul class="answers">${book.ways.map((way) => `<li class="${sideOf(way.money)}">${escaped(judgedWords(way, book))}</li>`).join("")}</ul>
${twinWords(book)
  .map((words) => `<p>${escaped(words)}</p>`)
  .join("")}${differencePlot(book)}
${scrolled("Table", `ways, ${book.currency}`, wayTable(book))}`;

const wayTable = ({ ways }: Book) =>
  `<table><thead><tr><th>Way</th><th>Invoices recovered</th><th>Money recovered</th><th>More or less money</th><th>Judged by</th></tr></thead>
<tbody>${ways.map(row).join("")}</tbody></table>`;

const row = (judged: Judged) => {
  const { words, count, money } = judged;
  return `<tr><td>${escaped(words)}</td><td>${rangeOf(count)}</td><td>${rangeOf(money)}</td><td>${
    isSaid(money) ? `${points(money.differenceLow)} to ${points(money.differenceHigh)} points` : "cannot say"
  }</td><td>${escaped(basisWords(judged))}</td></tr>`;
};

const rangeOf = (judged: Estimate | NotSaid) =>
  isSaid(judged) ? `${percent(judged.share)} (${percent(judged.low)} to ${percent(judged.high)})` : "cannot say";

const leftOutSection = (result: Backtest) =>
  result.leftOut === 0
    ? ""
    : `<p>${leftOutWords(result)}</p><ul>${result.problems.map((problem) => `<li>${escaped(problem)}</li>`).join("")}</ul>\n`;
