import type { Backtest, Book, Judged } from "../../backtest/backtest.ts";
import { type Estimate, isSaid, type NotSaid } from "../../backtest/estimate.ts";
import {
  assumptions,
  basisWords,
  bookWords,
  GROUP_NAMES,
  judgedWords,
  leftOutWords,
  nothingWords,
  points,
  shortAnswer,
  sideOf,
  twinWords,
} from "../../backtest/words.ts";
import { type Html, html } from "../html.ts";
import { notice } from "../show/fields.ts";
import { intervalPlot } from "../show/interval-plot.ts";
import { moment } from "../show/moments.ts";
import { count, share } from "../show/money.ts";
import { stackBars } from "../show/stack-bars.ts";
import { table } from "../show/table.ts";

/** What a history says of other ways, to be read and printed. */
export function report(result: Backtest, zone: string): Html {
  const { attempts, from, to, books, firstGaps, groups } = result;
  const leftOut = leftOutWords(result).map(({ words }) => notice("warn", words));
  if (books.length === 0)
    return html`<p class="lead">${count(attempts)} payment attempts</p>${leftOut}<p class="text">${nothingWords(result)}</p>`;
  return html`<p class="lead">${count(attempts)} payment attempts, from ${moment(from, zone)} to ${moment(to, zone)}</p>
<p class="text">Worked out from what your system did; nothing was charged for it.</p>
${leftOut}${books.map(bookSection)}
<h2>What your system did</h2>
<h3>Days before the first retry, of 100 invoices that failed</h3>
${shares(
  "days before the first retry",
  ["it succeeded", "it did not"],
  firstGaps
    .filter(({ share }) => share > 0)
    .map(({ words, share, succeeded }) => ({ words, share, inner: (succeeded ?? 0) * share })),
)}
<h3>Why the first attempt failed, of 100 invoices</h3>
${shares(
  "why the first attempt failed",
  ["recovered in the end", "not recovered"],
  groups.map(({ group, share, recovered }) => ({ words: GROUP_NAMES[group], share, inner: recovered * share })),
)}
<h2>What this rests on</h2>
<ul class="text">${assumptions(result).map((words) => html`<li>${words}</li>`)}<li>Retries that Dunlin asked for are part of this history: where it says "your system", they are meant, too.</li></ul>`;
}

const SIDES = { more: "good", less: "bad", same: "", open: "" } as const;
const WAY = 42;
const short = (words: string) => (words.length > WAY ? `${words.slice(0, WAY - 1)}…` : words);

function bookSection(book: Book): Html {
  if (!book.ways.some(({ count, money }) => isSaid(count) || isSaid(money)))
    return html`<h2>${book.currency}</h2><p class="text">${bookWords(book)} That is too little, or too much of one kind, to judge any other way by.</p>`;
  const said = book.ways.flatMap(({ words, money }) =>
    isSaid(money)
      ? [{ label: short(words), middle: money.difference, low: money.differenceLow, high: money.differenceHigh }]
      : [],
  );
  const summary = book.ways.map((way) => judgedWords(way, book)).join(" ");
  return html`<h2>${book.currency}</h2><p class="text">${bookWords(book)}</p>
<p class="text"><strong>${shortAnswer(book)}</strong></p>
<ul class="answers">${book.ways.map((way) => html`<li class="${SIDES[sideOf(way.money)]}">${judgedWords(way, book)}</li>`)}</ul>
${twinWords(book).map((words) => html`<p class="text">${words}</p>`)}
${said.length > 0 && html`<h3>Points of recovered money, more or less than your system</h3>${intervalPlot(book.currency, summary, said, points)}`}
${table(
  `Ways, ${book.currency}`,
  [
    { head: "Way", cell: ({ words }: Judged) => words },
    { head: "Invoices recovered", cell: ({ count }) => rangeOf(count), numeric: true },
    { head: "Money recovered", cell: ({ money }) => rangeOf(money), numeric: true },
    {
      head: "More or less money, points",
      cell: ({ money }) =>
        isSaid(money) ? `${points(money.differenceLow)} to ${points(money.differenceHigh)}` : "cannot say",
      numeric: true,
    },
    { head: "Judged by", cell: (judged) => html`<small>${basisWords(judged)}</small>` },
  ],
  book.ways,
)}`;
}

const rangeOf = (judged: Estimate | NotSaid) =>
  isSaid(judged)
    ? html`${share(judged.share, 1)} <small>${share(judged.low, 1)} to ${share(judged.high, 1)}</small>`
    : html`<span class="soft">cannot say</span>`;

interface Share {
  words: string;
  share: number;
  /** The part of it that succeeded. */
  inner: number;
}

function shares(name: string, names: readonly string[], rows: readonly Share[]): Html {
  const percent = (part: number) => share(part, 1);
  const bars = rows.map(({ words, share, inner }) => ({ label: words, parts: [inner, share - inner] }));
  const summary = rows.map(
    ({ words, share, inner }) => `${words} ${percent(share)}, of it ${names[0]!} ${percent(inner / share)}`,
  );
  return html`${stackBars(name, summary.join("; "), names, bars, percent)}
<details class="more"><summary>The numbers</summary>${table(
    `The numbers: ${name}`,
    [
      { head: "", cell: ({ words }: Share) => words },
      { head: "Share", cell: ({ share }) => percent(share), numeric: true },
      { head: `Of it ${names[0]!}`, cell: ({ share, inner }) => percent(inner / share), numeric: true },
    ],
    rows,
  )}</details>`;
}

export const WAY_HEADINGS = [
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

/** Each way by invoices and by money. */
export const reportCells = ({ books }: Backtest) =>
  books.flatMap(({ currency, invoices, recovered, ways }) =>
    ways.flatMap(({ name, count, money }) =>
      [["invoices", count] as const, ["money", money] as const].map(([measure, judged]) => {
        const said = isSaid(judged) ? judged : null;
        const { share = null, low = null, high = null, difference = null } = said ?? {};
        const { differenceLow = null, differenceHigh = null, depth = null } = said ?? {};
        const numbers = [share, low, high, difference, differenceLow, differenceHigh, depth];
        return [currency, name, invoices, recovered, measure, ...numbers, judged.effective, sideOf(judged)];
      }),
    ),
  );
