import { datedPeriod, namedPeriod, PERIOD_NAMES, type Period, type PeriodName } from "../../analytics/period.ts";
import { chooseView, type ReportingView } from "../../analytics/reporting-money.ts";
import { listCaseCurrencies } from "../../tables/recovery-sums.ts";
import { readReportingRates } from "../../tables/reporting-rates.ts";
import { type Html, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import { enumReader, withQuery } from "../page-query.ts";
import { drop, segments } from "../show/parts.ts";
import { toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const DAY_MS = 86_400_000;
const dateReader = (text: string) => (isDate(text) ? text : { wrong: "must be a date such as 2027-01-31" });

/** Dates such as 2027-02-30 do not exist. */
const isDate = (text: string) => {
  const at = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
};

export const PERIOD_READERS = {
  period: enumReader(PERIOD_NAMES),
  from: dateReader,
  to: dateReader,
  currency: (text: string) =>
    /^([A-Z]{3}|all)$/.test(text) ? text : { wrong: "must be three capital letters, such as EUR, or all" },
};
const PERIOD_WORDS: Readonly<Record<PeriodName, string>> = {
  "7d": "7 d",
  "4w": "4 w",
  "12w": "12 w",
  "12m": "12 m",
  quarter: "Quarter",
};
interface PeriodQuery {
  period?: PeriodName;
  from?: string;
  to?: string;
}

const DAYS_BEFORE_ONE_DATE = 83;

/** Dates in the wrong order are exchanged. With one date, the period ends today, or began twelve weeks before. */
export function readPeriod(
  { period, from, to }: PeriodQuery,
  now: Date,
  zone: string,
  usual: PeriodName = "12w",
): Period {
  if (from === undefined && to === undefined) return namedPeriod(period ?? usual, now, zone);
  const last = to ?? dateOf(now, zone);
  const first = from ?? new Date(Date.parse(last) - DAYS_BEFORE_ONE_DATE * DAY_MS).toISOString().slice(0, 10);
  const dated = first <= last ? datedPeriod(first, last, now, zone) : datedPeriod(last, first, now, zone);
  if (dated === null) throw new PageError(400, "A period has at most three years.", "from");
  return dated;
}

/** "16 Nov 2026 to 4 Feb 2027" */
export function periodWords({ from, to }: Pick<Period, "from" | "to">, zone: string): string {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone: zone, day: "numeric", month: "short", year: "numeric" });
  return `${format.format(from)} to ${format.format(new Date(to.getTime() - 1))}`;
}

const dateOf = (at: Date, zone: string) => toDatetimeLocal(at, zone).slice(0, 10);

function presets(now: Date, zone: string): [words: string, from: string, to: string][] {
  const [year, month] = dateOf(now, zone).split("-").map(Number) as [number, number];
  const first = (months: number) => new Date(Date.UTC(year, month - 1 + months, 1));
  const text = (at: Date) => at.toISOString().slice(0, 10);
  const span = (words: string, from: number, to: number): [string, string, string] => [
    words,
    text(first(from)),
    text(new Date(first(to).getTime() - DAY_MS)),
  ];
  const quarter = -((month - 1) % 3);
  return [
    span("This month", 0, 1),
    span("Last month", -1, 0),
    span("Last quarter", quarter - 3, quarter),
    span("Last year", 1 - month - 12, 1 - month),
  ];
}

/** Choices of the period and the currency. */
export function periodTools(
  { path, query, person: { zone } }: Visit,
  period: Period,
  view: ReportingView,
  now: Date,
  names: readonly PeriodName[] = PERIOD_NAMES,
): Html {
  const link = (changes: Record<string, string | null>) => withQuery(path, query, { before: null, ...changes });
  const kept = [...query].filter(([name]) => !["period", "from", "to"].includes(name));
  const last = new Date(Math.min(period.to.getTime(), period.bounds.at(-1)!.getTime()) - 1);
  const dates = html`<ul class="plain">${presets(now, zone).map(([words, from, to]) => html`<li><a href="${link({ period: null, from, to })}">${words}</a></li>`)}</ul>
<form method="get">${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="field"><label for="from">From</label><input id="from" name="from" type="date" required value="${dateOf(period.from, zone)}"></p>
<p class="field"><label for="to">To</label><input id="to" name="to" type="date" required value="${dateOf(last, zone)}"></p>
<p><button>Show</button></p></form>`;
  return html`${segments(
    "Period",
    names.map((name) => ({
      words: PERIOD_WORDS[name],
      href: link({ period: name, from: null, to: null }),
      isCurrent: period.name === name,
    })),
  )}${drop(period.name === null ? periodWords(period, zone) : "Dates", dates, "end")}${view.currencies.length > 1 && currencyTools(view, link)}`;
}

function currencyTools(view: ReportingView, link: (changes: Record<string, string | null>) => string): Html {
  const words = view.isConverted ? `All in ${view.currency} ≈` : view.currency;
  const choices = view.currencies.map((currency) => html`<li><a href="${link({ currency })}">${currency}</a></li>`);
  const all = view.canConvert
    ? html`<li><a href="${link({ currency: "all" })}">All, in ${view.rates!.currency} at your rates</a></li>`
    : html`<li class="soft small">To add amounts of several currencies, set rates in the recovery settings.</li>`;
  return drop(words, html`<ul class="plain">${choices}${all}</ul>`, "end");
}

/** Amounts in the wanted currency, or in all at the merchant's rates. */
export async function readView(
  { db, merchantId }: Visit,
  since: Date,
  wanted: string | undefined,
): Promise<ReportingView> {
  const [currencies, rates] = await Promise.all([
    listCaseCurrencies(db, merchantId, since),
    readReportingRates(db, merchantId),
  ]);
  return chooseView(currencies, rates, wanted);
}
