import { COUNT_MEASURE, type Experiment, type Measure } from "../../domain/experiment.ts";
import type { ExperimentForecast } from "../../experiments/experiment-forecast.ts";
import { type ExperimentProgress, measureProgress, type ProgressState } from "../../experiments/experiment-progress.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import { formatMarginPoints } from "../../experiments/statistics/percentage-points.ts";
import { CUSTOMERS_MIN } from "../../experiments/statistics/tally.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { card } from "../show/parts.ts";
import { formatDay, timeElement, toDatetimeLocal } from "../show/time-format.ts";
import { experimentStatus } from "./experiment-effect.ts";

export const measureWords = (measure: Measure) =>
  measure === COUNT_MEASURE ? "recovered invoices" : `recovered money in ${measure}`;

const dateWords = (at: Date, zone: string) => `about ${formatDay(toDatetimeLocal(at, zone).slice(0, 10))}`;

function reachedWords({ state, reachedAt }: ExperimentProgress, zone: string): string {
  return state === "expected" ? dateWords(reachedAt!, zone) : REACHED_WORDS[state];
}

const REACHED_WORDS: Readonly<Record<Exclude<ProgressState, "expected">, string>> = {
  unplanned: "unknown until the first results",
  no_failures: "unknown: no invoice has failed lately",
  reached: "reached",
  maturing: "when the last invoices are old enough",
  not_reached: "not reached: no more invoices come in",
};

function progressBar({ counted, needed }: ExperimentProgress): Html | null {
  if (needed === null) return null;
  const percent = `${Math.min(100, Math.floor((100 * counted) / needed))}%`;
  const words = `${formatCount(counted)} of ${formatCount(needed)} counted`;
  return html`<svg class="chart" height="30" role="img" aria-label="Invoices that are counted: ${words}"><rect class="h0" width="100%" height="8" rx="4"/><rect class="c-bar" width="${percent}" height="8" rx="4"/><text x="0" y="26">${words}</text><text x="100%" y="26" text-anchor="end">${percent}</text></svg>`;
}

const planFacts = (pairs: readonly (readonly [name: string, value: HtmlPart] | null)[]): Html =>
  html`<dl class="facts plan-facts">${pairs.map((pair) => pair && html`<div><dt>${pair[0]}</dt><dd>${pair[1]}</dd></div>`)}</dl>`;

const tellWords = ({ margin }: Pick<Experiment, "margin">) =>
  `${formatMarginPoints(margin)} points or more: the range then reaches no further to each side. A larger difference shows sooner.`;

export function planCard(
  experiment: Experiment,
  look: InterimAnalysis | null,
  forecast: ExperimentForecast,
  isVoid: boolean,
  zone: string,
  now: Date,
): Html {
  const { startedAt, comparedFrom, share, primary } = experiment;
  const progress = measureProgress(experiment, look, forecast);
  return card(
    { title: "Plan", side: html`<a href="/org/audit?noun=experiment">Changes</a>` },
    html`<div class="in">${progressBar(progress)}${planFacts([
      ["Can tell", tellWords(experiment)],
      ["Enough by", isVoid ? "waiting does not help" : reachedWords(progress, zone)],
      ["Decides", measureWords(primary)],
      ["Split", `${formatShare(share, 1)} of customers in Dunlin's arm, by a hash of their id`],
      ["State", experimentStatus(experiment, zone, now)],
      ["Started", timeElement(startedAt, zone)],
      comparedFrom > startedAt ? ["Compared from", timeElement(comparedFrom, zone)] : null,
      look
        ? ["Last results", html`${timeElement(look.at, zone)}. Look as often as you like: the range allows for it.`]
        : null,
    ])}</div>`,
  );
}

type ForecastPlan = Pick<Experiment, "share" | "margin" | "primary" | "maturityDays">;

/** For an experiment that has not started. */
export function forecastCard(plan: ForecastPlan, forecast: ExperimentForecast, zone: string): Html {
  const { needed, perDay, history } = forecast;
  const rate = `${formatCount(Number(perDay.toPrecision(2)))} failed invoices a day, as in the last 28 days`;
  return card(
    { title: "Plan", foot: basisWords(plan, forecast) },
    html`<div class="in">${
      needed === null
        ? html`<p>The number of invoices cannot be planned: by money it depends on your amounts. It needs ${CUSTOMERS_MIN} customers whose invoices in ${plan.primary} failed at least ${plan.maturityDays} days ago, and no few of them may outweigh the rest.</p>`
        : html`<p class="figure mid">${formatCount(needed)} <span class="range">failed invoices to count${history === null && ", at most"}</span></p>`
    }${planFacts([
      ["Can tell", tellWords(plan)],
      ["Enough by", enoughWords(forecast, zone)],
      ["Rate", perDay === 0 ? "no invoice has failed in the last 28 days" : rate],
      ["Decides", measureWords(plan.primary)],
      ["Split", `${formatShare(plan.share, 1)} Dunlin, ${formatShare(1 - plan.share, 1)} your own, by customer`],
    ])}</div>`,
  );
}

function enoughWords({ needed, reachedAt: at }: ExperimentForecast, zone: string): HtmlPart {
  if (at) return html`<b>${dateWords(at, zone)}</b>, if it starts today`;
  return needed === null ? "unknown" : "never, at this rate";
}

function basisWords({ primary, maturityDays }: ForecastPlan, { history, needed }: ExperimentForecast): string {
  if (history !== null)
    return `From ${formatCount(history.invoices)} invoices that failed at least ${maturityDays} days ago, of ${formatCount(history.customers)} customers with ${primary === COUNT_MEASURE ? "invoices" : `invoices in ${primary}`}. Of what failed, ${formatShare(history.recovered, 1)} was recovered.`;
  return needed === null
    ? "Choose recovered invoices, or come back when more invoices are old enough."
    : `Your history has too few customers whose invoices failed at least ${maturityDays} days ago, so this is the widest spread: half of the invoices are recovered, each of another customer.`;
}
