import { DAY_MS } from "../../domain/durations.ts";
import { COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import { type ArmTotals, loadArmTotals } from "../../experiments/arm-totals.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import { formatMarginPoints } from "../../experiments/statistics/percentage-points.ts";
import type { Tx } from "../../postgres/database.ts";
import { type FailedWeek, failedWeeks } from "../../tables/experiment-invoices.ts";
import { listInterimAnalyses } from "../../tables/experiment-results.ts";
import { listExperiments } from "../../tables/experiments.ts";
import type { Console } from "../console.ts";
import { type Html, html } from "../html.ts";
import { notFoundError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery } from "../page-query.ts";
import { sendCsv } from "../show/csv-export.ts";
import { formField, formNotice } from "../show/form-fields.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { factList } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { experimentStatus, verdictKind } from "./experiment-effect.ts";
import { armTable, effectChart, effectTable, weekTable } from "./experiment-results-tables.ts";

/** More than a year, at one result per day. */
const SHOWN_LOOKS_MAX = 400;
/** In addition to the weeks that are not counted yet. */
const SHOWN_WEEKS = 13;
const QUERY_READERS = { done: enumReader(["started", "stopped"]) };

export function experimentDetailRoutes(console: Console) {
  console.page("/experiments/:id", null, (visit) => detailPage(console, visit));
  console.page("/experiments/:id/looks.csv", null, async ({ db, params, query, merchantId, reply }) => {
    parsePageQuery(query, {});
    const { id } = await findExperiment(db, merchantId, params.id!);
    const analyses = await listInterimAnalyses<InterimAnalysis>(db, merchantId, id, SHOWN_LOOKS_MAX);
    return sendCsv(reply, "experiment-looks.csv", LOOK_HEADINGS, [analyses.flatMap(lookCells)]);
  });
  console.page("/experiments/:id/weeks.csv", null, async ({ db, params, query, merchantId, person, reply }) => {
    parsePageQuery(query, {});
    const { id, comparedFrom } = await findExperiment(db, merchantId, params.id!);
    const weeks = await failedWeeks(db, merchantId, id, person.zone, comparedFrom);
    return sendCsv(reply, "experiment-weeks.csv", WEEK_HEADINGS, [weeks.map(weekCells)]);
  });
}

async function findExperiment(tx: Tx, merchantId: string, id: string): Promise<Experiment> {
  const found = (await listExperiments(tx, merchantId)).find((each) => each.id === id);
  if (!found) throw notFoundError("experiment");
  return found;
}

async function detailPage({ ports }: Console, visit: Visit): Promise<Page> {
  const { done } = parsePageQuery(visit.query, QUERY_READERS);
  const { db, merchantId, person } = visit;
  const experiment = await findExperiment(db, merchantId, visit.params.id!);
  const { id, comparedFrom, maturityDays } = experiment;
  const now = ports.now();
  const from = new Date(Math.max(+comparedFrom, +now - (SHOWN_WEEKS * 7 + maturityDays) * DAY_MS));
  const [analyses, armTotals, weeks] = await Promise.all([
    listInterimAnalyses<InterimAnalysis>(db, merchantId, id, SHOWN_LOOKS_MAX),
    loadArmTotals(db, merchantId, id),
    failedWeeks(db, merchantId, id, person.zone, from),
  ]);
  const look = analyses[0] ?? null;
  return {
    title: experiment.name,
    tools: html`${analyses.length > 0 && html`<a class="button" href="/experiments/${id}/looks.csv">Results as CSV</a>`}${weeks.length > 0 && html`<a class="button" href="/experiments/${id}/weeks.csv">Weeks as CSV</a>`}`,
    body: html`${done === "started" && formNotice("good", "Started. Invoices that fail from now on take part. The first results are ready within a minute.")}
${done === "stopped" && formNotice("good", "Stopped. New invoices do not take part. Those that do are still counted when they are old enough.")}
${verdictSection(experiment, look, armTotals)}
<h2>The experiment</h2>${experimentFacts(experiment, look, person.zone, now)}
<h2>The arms</h2>${armTable(armTotals)}
<p class="text soft">Each invoice is counted once, ${maturityDays} days after it failed, whether it is paid or not. It counts as recovered if it was paid by then, by any means.</p>
${look && effectTable(look)}
${analyses.length > 0 && effectChart(analyses, person.zone)}
${weeks.length > 0 && weekTable(weeks)}
${experiment.stoppedAt === null && visit.may("experiments") && stopForm(id)}`,
  };
}

function verdictSection(
  { share: assignedShare, stoppedAt }: Experiment,
  look: InterimAnalysis | null,
  armTotals: readonly ArmTotals[],
): Html {
  if (!look)
    return html`<p class="lead">No results yet</p><p>Dunlin computes them within a minute, and then once a day.</p>`;
  const { troubles, verdict } = look;
  const isVoid = verdict.outcome === "void";
  // Each phase is checked separately, and a customer may be in both.
  const counted = armTotals
    .filter(({ arm }) => arm === "dunlin")
    .flatMap(({ phase, customers }) => {
      const all = customers + armTotals.find((each) => each.phase === phase && each.arm === "merchant")!.customers;
      const share = `${formatShare(customers, all)} (${formatCount(customers)}) are in it`;
      return all === 0 ? [] : `Of the ${formatCount(all)} customers counted in the ${phase}, ${share}.`;
    });
  const split = html`<p><b>The split is wrong.</b> Dunlin's arm should have ${formatShare(assignedShare, 1)} of the customers. ${counted.join(" ")}
Chance cannot explain this: some customers are missing from one arm, or counted in both. Usual causes are invoices of one arm that are not pushed, a second system that collects payments, and an import that stopped halfway.</p>`;
  const words = html`<p class="lead verdict ${verdictKind(verdict.outcome)}">${verdict.words}</p>`;
  if (!isVoid) return words;
  return html`<div class="notice bad" role="alert">${words}${troubles.includes("split") && split}
<p>The numbers below do not measure Dunlin, and waiting does not help. Fix the cause, ${stoppedAt ? "" : "stop this experiment, "}and start another one.</p></div>`;
}

const experimentFacts = (experiment: Experiment, look: InterimAnalysis | null, zone: string, now: Date): Html => {
  const { startedAt, comparedFrom, primary, margin } = experiment;
  return factList([
    ["State", experimentStatus(experiment, zone, now)],
    ["Started", timeElement(startedAt, zone)],
    comparedFrom > startedAt ? ["Compared from", timeElement(comparedFrom, zone)] : null,
    ["Dunlin's arm", `${formatShare(experiment.share, 1)} of customers, by a hash of their id`],
    ["Verdict on", primary === COUNT_MEASURE ? "recovered invoices" : `recovered money in ${primary}`],
    ["Difference that matters", `${formatMarginPoints(margin)} points or more`],
    look ? ["Last results", timeElement(look.at, zone)] : null,
    ["Changes", html`<a href="/org/audit?noun=experiment">in the audit log</a>`],
  ]);
};

const stopForm = (id: string): Html => html`
<details class="more"><summary>Stop the experiment</summary>
<form method="post" action="/experiments/${id}/stop" class="box"><p>New invoices will not take part, and you cannot restart this experiment. Open cases keep their arm until they end, and Dunlin handles all new ones.</p>
${formField({ label: "Reason", name: "reason", maxlength: 200, hint: "For the audit log." })}
<button class="danger">Stop the experiment</button></form></details>`;

const LOOK_HEADINGS = [
  "looked_at_utc",
  "measure",
  "counted",
  "too_young",
  "customers_dunlin",
  "recovered_share_dunlin",
  "customers_merchant",
  "recovered_share_merchant",
  "difference",
  "difference_low",
  "difference_high",
  "verdict",
];

const lookCells = ({ at, invoices, comparisons, verdict }: InterimAnalysis) =>
  comparisons.map(({ measure, dunlin, merchant, difference, lower, upper }) => [
    at.toISOString(),
    measure === COUNT_MEASURE ? "invoices" : measure,
    invoices.counted,
    invoices.waiting,
    dunlin?.customers ?? null,
    dunlin?.share ?? null,
    merchant?.customers ?? null,
    merchant?.share ?? null,
    difference,
    difference === null ? null : lower,
    difference === null ? null : upper,
    verdict.outcome,
  ]);

const WEEK_HEADINGS = ["week_from", "arm", "failed", "counted", "recovered", "too_young"];
const weekCells = ({ week, arm, failed, counted, recovered }: FailedWeek) => [
  week,
  arm,
  failed,
  counted,
  recovered,
  failed - counted,
];
