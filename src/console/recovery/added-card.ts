import { COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import type { Tx } from "../../postgres/database.ts";
import { listInterimAnalyses } from "../../tables/experiment-results.ts";
import { listExperiments } from "../../tables/experiments.ts";
import {
  effectInterval,
  formatPoints,
  isKnownComparison,
  upliftsOf,
  verdictState,
} from "../experiments/experiment-effect.ts";
import { type Html, html } from "../html.ts";
import { formNotice } from "../show/form-fields.ts";
import { intervalSide } from "../show/interval-plot.ts";
import { card } from "../show/parts.ts";
import { effectPlot } from "../show/plots.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

export interface ExperimentResult {
  experiment: Experiment;
  analysis: InterimAnalysis | null;
}

export async function latestExperiment(tx: Tx, merchantId: string): Promise<ExperimentResult | null> {
  const [experiment] = await listExperiments(tx, merchantId);
  if (!experiment) return null;
  const [analysis = null] = await listInterimAnalyses<InterimAnalysis>(tx, merchantId, experiment.id, 1);
  return { experiment, analysis };
}

/** Money in its own color, by its own interval; the count in words beside it. */
export function addedCard(result: ExperimentResult | null, isShadow: boolean, { may, person: { zone } }: Visit): Html {
  if (result === null)
    return card(
      { title: "What Dunlin added", kind: "mb" },
      html`<div class="in"><p>Only an experiment can show how much would have been paid without Dunlin, and none has been run. ${
        isShadow
          ? "You can start one when shadow mode is off."
          : may("experiments")
            ? html`<a href="/experiments/new">Start an experiment</a>`
            : html`An owner or admin can start one under Experiments.`
      }</p></div>`,
    );
  const { experiment, analysis } = result;
  const link = html`<a href="/experiments/${experiment.id}">${experiment.name}</a>`;
  if (analysis?.verdict.outcome === "void")
    return formNotice("bad", html`The experiment ${link} cannot show what Dunlin added. ${analysis.verdict.words}`);
  const uplifts = analysis ? upliftsOf(analysis) : [];
  const isByCount = experiment.primary === COUNT_MEASURE;
  return card(
    {
      title: "What Dunlin added",
      side: html`Experiment: ${link}`,
      kind: "mb",
      foot: html`<span>Against your own retries, for all invoices in Dunlin's arm that failed since ${timeElement(experiment.comparedFrom, zone)} and are old enough to count, whatever period you choose above. The interval holds however often you look.</span>`,
    },
    html`<div class="in">${uplifts.map(
      (
        uplift,
      ) => html`<div class="grid two added"><div><p class="figure mid ${uplift.side}">${uplift.amount} <span class="range">between ${uplift.low} and ${uplift.high}</span></p>
<p class="added-words">${uplift.side === "" ? html`<span class="tag">Not clear yet</span> Dunlin is between ${uplift.low.replace("−", "")} ${uplift.low.startsWith("−") ? "behind" : "ahead of"} and ${uplift.high.replace(/^[+−]/, "")} ahead of your own retries.` : html`<span class="tag ${uplift.side}">${uplift.side === "good" ? "Recovers more" : "Recovers less"}</span> The whole interval lies on one side of zero.`}</p></div>
${effectPlot(uplift.values.middle, uplift.values, uplift.side, { low: uplift.low, high: uplift.high })}</div>`,
    )}
<p>${analysis === null ? "Dunlin has not analyzed it yet." : html`<b>${isByCount ? "By count" : `By money in ${experiment.primary}`}, which decides:</b> ${analysis.verdict.outcome !== "open" && verdictState(analysis.verdict.outcome)} ${analysis.verdict.words}`} ${analysis && !isByCount && countWords(analysis)}</p></div>`,
  );
}

/** "Of 100 failed invoices it recovers 0.5 to 11.1 more." */
function countWords(analysis: InterimAnalysis): Html | null {
  const count = analysis.comparisons.find(({ measure }) => measure === COUNT_MEASURE);
  if (!isKnownComparison(count) || count.lower > count.upper) return null;
  const { low, high } = effectInterval(count);
  const side = intervalSide({ low, high });
  const words = `${formatPoints(low)} to ${formatPoints(high)}`;
  return html`By count: of 100 failed invoices ${side === "" ? html`the difference is ${words}, so it is not clear` : html`the difference is <b class="${side}">${words}</b>`}.`;
}
