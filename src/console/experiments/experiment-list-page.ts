import { COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import type { Tx } from "../../postgres/database.ts";
import { listInterimAnalyses } from "../../tables/experiment-results.ts";
import { listExperiments } from "../../tables/experiments.ts";
import { findMerchant } from "../../tables/merchants.ts";
import type { Console } from "../console.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { parsePageQuery } from "../page-query.ts";
import { sendCsv } from "../show/csv-export.ts";
import { formNotice } from "../show/form-fields.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { stateLabel } from "../show/state-labels.ts";
import { emptyNotice } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import {
  effectRange,
  experimentStatus,
  measureLabel,
  measureVerdicts,
  orderComparisons,
  verdictState,
} from "./experiment-effect.ts";
import { verdictSentence } from "./verdict-sentence.ts";

interface ExperimentRow {
  experiment: Experiment;
  look: InterimAnalysis | null;
}

export function experimentListRoutes(console: Console) {
  console.page("/experiments", null, (visit) => listPage(console, visit));
  console.page("/experiments.csv", null, async ({ db, query, merchantId, reply }) => {
    parsePageQuery(query, {});
    const rows = await loadRows(db, merchantId);
    return sendCsv(reply, "experiments.csv", HEADINGS, [rows.map(experimentCells)]);
  });
}

const loadRows = async (tx: Tx, merchantId: string): Promise<ExperimentRow[]> =>
  Promise.all(
    (await listExperiments(tx, merchantId)).map(async (experiment) => {
      const [look = null] = await listInterimAnalyses<InterimAnalysis>(tx, merchantId, experiment.id, 1);
      return { experiment, look };
    }),
  );

async function listPage({ ports }: Console, visit: Visit): Promise<Page> {
  parsePageQuery(visit.query, {});
  const [rows, merchant] = await Promise.all([
    loadRows(visit.db, visit.merchantId),
    findMerchant(visit.db, visit.merchantId),
  ]);
  const isRunning = rows.some(({ experiment }) => experiment.stoppedAt === null);
  const isShadow = merchant?.shadow ?? false;
  const start =
    visit.may("experiments") &&
    !isRunning &&
    !isShadow &&
    html`<a class="button main" href="/experiments/new">Start an experiment</a>`;
  const first = rows[0];
  return {
    title: "Experiments",
    tools: html`${start}${rows.length > 0 && html`<a class="button" href="/experiments.csv">Export CSV</a>`}`,
    body: html`${isShadow && formNotice("warn", "An experiment cannot start while shadow mode is on.")}${
      first
        ? html`${latestLede(first)}
${experimentTable(rows, visit.person.zone, ports.now())}`
        : emptyNotice(
            html`No experiments yet. An experiment assigns some customers to your own system, to measure what Dunlin adds. There is no other reliable way to measure it.${visit.may("experiments") ? "" : " An owner or admin can start one here."}`,
            `npx dunlin experiment start --name "Dunlin or the old schedule" --share 90`,
          )
    }`,
  };
}

function latestLede({ experiment, look }: ExperimentRow): Html {
  const { name, margin } = experiment;
  if (look === null)
    return html`<p class="lede"><b>${name}:</b> no results yet. Dunlin computes them within a minute of the start, and then once a day.</p>`;
  if (look.verdict.outcome === "void") return html`<p class="lede"><b>${name}:</b> ${look.verdict.words}</p>`;
  return html`<p class="lede"><b>${name}: ${verdictSentence(measureVerdicts(look, margin), margin)}</b> ${look.verdict.words}</p>`;
}

function experimentTable(rows: readonly ExperimentRow[], zone: string, now: Date): Html {
  const lines = rows.map(({ experiment, look }) => {
    const isVoid = look?.verdict.outcome === "void";
    const effects =
      look &&
      orderComparisons(look.comparisons).map(
        (comparison) =>
          html`<div>${effectRange(comparison, isVoid)} <small>${measureLabel(comparison.measure)}</small></div>`,
      );
    return html`<tr><th scope="row" class="a"><a href="/experiments/${experiment.id}">${experiment.name}</a></th>
<td class="d">${experimentStatus(experiment, zone, now)}<span class="only-wide"><br><small>since ${timeElement(experiment.startedAt, zone)}</small></span></td>
<td class="num">${formatShare(experiment.share, 1)}</td><td class="num">${look ? formatCount(look.invoices.counted) : "–"}</td>
<td class="c">${effects}</td>
<td>${look && (look.troubles.includes("split") ? stateLabel("wrong", "bad") : stateLabel("ok", ""))}</td>
<td class="b">${look && verdictState(look.verdict.outcome)}</td></tr>\n`;
  });
  return html`<section class="card"><table class="rows" aria-label="Experiments"><thead><tr><th scope="col">Experiment</th><th scope="col">State</th><th scope="col" class="num">Dunlin's share</th><th scope="col" class="num">Counted</th><th scope="col">Effect in points</th><th scope="col">Split</th><th scope="col">Verdict</th></tr></thead><tbody>${lines}</tbody></table></section>`;
}

const HEADINGS = [
  "id",
  "name",
  "started_at_utc",
  "compared_from_utc",
  "stopped_at_utc",
  "share_of_dunlin",
  "measure",
  "margin",
  "maturity_days",
  "looked_at_utc",
  "counted",
  "too_young",
  "recovered_share_dunlin",
  "recovered_share_merchant",
  "difference",
  "difference_low",
  "difference_high",
  "split_is_off",
  "verdict",
];

function experimentCells({ experiment, look }: ExperimentRow) {
  const { id, name, startedAt, comparedFrom, stoppedAt, primary, margin, maturityDays } = experiment;
  const comparison = look?.comparisons[0];
  const difference = comparison?.difference ?? null;
  return [
    id,
    name,
    startedAt.toISOString(),
    comparedFrom.toISOString(),
    stoppedAt?.toISOString() ?? null,
    experiment.share,
    primary === COUNT_MEASURE ? "invoices" : primary,
    margin,
    maturityDays,
    look?.at.toISOString() ?? null,
    look?.invoices.counted ?? null,
    look?.invoices.waiting ?? null,
    comparison?.dunlin?.share ?? null,
    comparison?.merchant?.share ?? null,
    difference,
    difference === null ? null : comparison!.lower,
    difference === null ? null : comparison!.upper,
    look ? String(look.troubles.includes("split")) : null,
    look?.verdict.outcome ?? null,
  ];
}
