import { minorDigitsOf } from "../../domain/currency.ts";
import type { DecisionRecord, EvaluatedHour, EvaluatedTime } from "../../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { isPostponement } from "../../engine/requests-by-hand.ts";
import { formatPercent } from "../../engine/shares.ts";
import { type Html, html } from "../html.ts";
import { formatMoney } from "../show/number-format.ts";
import { table } from "../show/table.ts";
import { clockTime, dayAt, longTime, monthWords, type PageClock, zoneWords } from "./page-clock.ts";
import { worthChart } from "./worth-chart.ts";

/** JSON has no dates, and another version may have stored them differently. */
export const isReadable = ({ account: { days, hours, ruledOut, even } }: DecisionRecord) =>
  [
    ...[...days, ...hours].map(({ at }) => at),
    ...ruledOut.flatMap(({ from, to }) => [from, to]),
    ...(even?.tries ?? []),
    ...(even?.plan ?? []),
  ].every((at) => !Number.isNaN(at.getTime()));

/** Only the learned engine compares times. */
export const hasConsideredTimes = (decision: DecisionRecord) =>
  decision.account.days.length > 0 && decision.idealTime !== null && decision.chance !== null && isReadable(decision);

/** The invoice on whose page a decision is shown. */
export interface ConsideredInvoice {
  windowEndsAt: Date;
  /** That was due, in minor units. */
  amount: number;
  currency: string;
  clock: PageClock;
}

export interface ConsideredTimes {
  chart: Html;
  /** The table of the same times. */
  numbers: Html;
  /** Which retries would follow; null: none is planned. */
  following: string | null;
}

/** Money to expect at the best time of each day, with the retries after it. */
export function consideredTimes(decision: DecisionRecord, invoice: ConsideredInvoice): ConsideredTimes {
  const { account, madeAt, idealTime } = decision;
  const { days, ruledOut } = account;
  const { clock, currency, windowEndsAt } = invoice;
  const chosen = chosenTimeOf(decision);
  const otherDays = days.filter((each) => !isTimeOfRetry(each, idealTime!));
  const times = [...otherDays, chosen].sort((a, b) => +a.at - +b.at);
  const words = (each: EvaluatedHour) => `${longTime(clock, each.at)}: ${worthWords(each, invoice)}`;
  const next = nextOf(decision);
  const marks = times.map((each) => ({
    at: each.at,
    worth: isKnown(each.worth) ? toMinor(each.worth, invoice) / 10 ** minorDigitsOf(currency) : null,
    isChosen: each === chosen,
    words: words(each),
    label:
      isKnown(each.worth) && (each === chosen || each.at === next)
        ? formatMoney(toMinor(each.worth, invoice), currency)
        : null,
  }));
  const to = new Date(Math.max(+times.at(-1)!.at, Math.min(+windowEndsAt, +madeAt + SHOWN_MAX_MS)));
  const from = times[0]!.at < madeAt ? times[0]!.at : madeAt;
  const label = `Expected money by day in ${zoneWords(clock)}. Chosen: ${words(chosen)}. Also considered: ${otherDays.map(words).join("; ")}.${ruledOut.map((period) => ` ${isPostponement(period.rule) ? "Postponed from" : "A rule forbids"} ${longTime(clock, period.from)} to ${longTime(clock, period.to)}: ${period.rule}`).join("")}`;
  const legend = html`<div class="legend chart-legend"><span><svg viewBox="0 0 10 10"><circle class="c-point full" cx="5" cy="5" r="4"/></svg>chosen</span><span><svg viewBox="0 0 10 10"><circle class="c-point" cx="5" cy="5" r="3.5"/></svg>also considered</span>${ruledOut.some(({ rule }) => !isPostponement(rule)) && html`<span><svg viewBox="0 0 10 10"><rect class="c-ban" width="10" height="10"/></svg>a rule forbids it</span>`}${ruledOut.some(({ rule }) => isPostponement(rule)) && html`<span><svg viewBox="0 0 10 10"><rect class="c-ban by-hand" width="10" height="10"/></svg>postponed by hand</span>`}<span>${currency}, ${monthWords(dayAt(clock, from), dayAt(clock, to))}</span></div>`;
  return {
    chart: html`<p class="small soft next-words">The money to expect, after costs, from a retry at each day's best time and from the retries after it.</p>${worthChart(label, { from, to, marks, ruledOut, clock })}${legend}`,
    numbers: numbersTable(decision, times, chosen, invoice),
    following: followingWords(decision, clock),
  };
}

/** Later days of a long window say little. */
const SHOWN_MAX_MS = 31 * DAY_MS;

/** Older versions stored no expected value of some times. */
const isKnown = (worth: number | null | undefined): worth is number =>
  typeof worth === "number" && !Number.isNaN(worth);
const toMinor = (worth: number, { amount }: ConsideredInvoice) => Math.round(worth * amount);

const worthWords = ({ worth, chance }: EvaluatedHour, invoice: ConsideredInvoice) =>
  `${isKnown(worth) ? `${formatMoney(toMinor(worth, invoice), invoice.currency)} to expect, ` : ""}a success probability of ${formatPercent(chance)}`;

/** The compared time of the plan's second retry, if it is shown. */
function nextOf({ account: { days, even, spread } }: DecisionRecord): Date | null {
  const second = spread ? undefined : even?.plan[1];
  return (second && days.find((each) => isTimeOfRetry(each, second))?.at) ?? null;
}

function followingWords({ account: { even, spread } }: DecisionRecord, clock: PageClock): string | null {
  const [, second, ...later] = spread || even === null ? [] : even.plan;
  if (!second) return null;
  const more =
    later.length === 0
      ? ""
      : ` After that, the plan has ${later.length === 1 ? "1 more retry" : `${later.length} more retries`}.`;
  return `If it fails, ${longTime(clock, second)} would be next.${more}`;
}

function numbersTable(
  { account: { hours }, idealTime }: DecisionRecord,
  times: readonly EvaluatedHour[],
  chosen: EvaluatedHour,
  invoice: ConsideredInvoice,
): Html {
  const rows: ConsideredRow[] = [
    ...times.map((each) => ({ ...each, note: each === chosen ? "chosen" : "best compared time of its day" })),
    ...hours.map((each) => ({
      ...each,
      note: isTimeOfRetry(each, idealTime!) ? "hour of the chosen day, chosen" : "hour of the chosen day",
    })),
  ];
  return table(
    "Considered times",
    [
      { head: "Time", cell: ({ at }: ConsideredRow) => clockTime(invoice.clock, at) },
      {
        head: "Expected money",
        cell: ({ worth }) => (isKnown(worth) ? formatMoney(toMinor(worth, invoice), invoice.currency) : "not compared"),
        numeric: true,
      },
      { head: "Success probability", cell: ({ chance }) => formatPercent(chance), numeric: true },
      {
        head: "Share of the amount",
        cell: ({ worth }) => (isKnown(worth) ? formatPercent(worth) : "not compared"),
        numeric: true,
      },
      { head: "", cell: ({ note }) => html`<small>${note}</small>` },
    ],
    rows,
  );
}

type ConsideredRow = EvaluatedHour & { note: string };

/** The chosen time lies a few minutes after the evaluated one. */
const isTimeOfRetry = ({ at }: Pick<EvaluatedTime, "at">, idealTime: Date) => Math.abs(+at - +idealTime) < HOUR_MS;

/** With random exploration it may not be the best of its day. */
const chosenTimeOf = ({ account: { even }, idealTime, chance }: DecisionRecord): EvaluatedHour => ({
  at: idealTime!,
  chance: chance!,
  worth: even ? even.planWorth : null,
});
