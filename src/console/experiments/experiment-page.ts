import { DAY_MS } from "../../domain/durations.ts";
import { COUNT_MEASURE, type Experiment, type Measure } from "../../domain/experiment.ts";
import { loadArmTotals } from "../../experiments/arm-totals.ts";
import { lookUpTallies } from "../../experiments/count-mature-invoices.ts";
import { type ExperimentForecast, forecastExperiment } from "../../experiments/experiment-forecast.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import type { Tx } from "../../postgres/database.ts";
import {
  type FailedWeek,
  failedWeeks,
  type LargestInvoices,
  sumLargestInvoices,
} from "../../tables/experiment-invoices.ts";
import { listInterimAnalyses, talliesOf } from "../../tables/experiment-results.ts";
import { listExperiments } from "../../tables/experiments.ts";
import type { Console } from "../console.ts";
import { type Html, html } from "../html.ts";
import { notFoundError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery } from "../page-query.ts";
import { sendCsv } from "../show/csv-export.ts";
import { formField, formNotice } from "../show/form-fields.ts";
import { icon } from "../show/icons.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { drop } from "../show/parts.ts";
import type { Visit } from "../visit.ts";
import { type ArmCheck, armChecksCard, listArmChecks } from "./arm-checks-card.ts";
import { type ArmsView, armsCard } from "./arms-card.ts";
import { measureVerdicts } from "./experiment-effect.ts";
import { effectNumbers } from "./experiment-results-tables.ts";
import { differenceReason, isUnclear, measureCards } from "./measure-cards.ts";
import { measureWords, planCard } from "./plan-card.ts";
import { verdictSentence } from "./verdict-sentence.ts";

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
  const { person } = visit;
  const experiment = await findExperiment(visit.db, visit.merchantId, visit.params.id!);
  const now = ports.now();
  const data = await loadExperiment(visit, experiment, now);
  const { analyses, weeks, forecast, checks, isVoid } = data;
  const look = analyses[0] ?? null;
  const compared = armChecksCard(checks, isVoid);
  const plan = planCard(experiment, look, forecast, isVoid, person.zone, now);
  return {
    title: experiment.name,
    crumb: html`<a href="/experiments">Experiments</a>`,
    tools: html`${csvLinks(experiment.id, analyses.length > 0, weeks.length > 0)}${experiment.stoppedAt === null && visit.may("experiments") && stopForm(experiment.id)}`,
    body: html`${done === "started" && formNotice("good", "Started. Invoices that fail from now on take part. The first results are ready within a minute.")}
${done === "stopped" && formNotice("good", "Stopped. New invoices do not take part. Those that do are still counted when they are old enough.")}
${isVoid ? voidNotice(experiment, data) : verdictLede(experiment, look)}
${look && !isVoid && html`${measureCards(experiment, analyses, person.zone)}${differenceReason(experiment, look, data.largest)}`}
<div class="grid two">${isVoid ? [compared, plan] : [plan, compared]}</div>
${armsCard({ ...data, maturityDays: experiment.maturityDays })}
${look && effectNumbers(analyses, isVoid, person.zone)}`,
  };
}

interface ExperimentData extends Pick<ArmsView, "totals" | "tallies" | "currencies" | "weeks"> {
  /** Newest first. */
  analyses: readonly InterimAnalysis[];
  forecast: ExperimentForecast;
  checks: readonly ArmCheck[];
  isVoid: boolean;
  largest: ReadonlyMap<Measure, LargestInvoices | null>;
}

async function loadExperiment(
  { db, merchantId, person }: Visit,
  experiment: Experiment,
  now: Date,
): Promise<ExperimentData> {
  const { id, comparedFrom, maturityDays } = experiment;
  const from = new Date(Math.max(+comparedFrom, +now - (SHOWN_WEEKS * 7 + maturityDays) * DAY_MS));
  const [analyses, totals, cells, weeks, forecast] = await Promise.all([
    listInterimAnalyses<InterimAnalysis>(db, merchantId, id, SHOWN_LOOKS_MAX),
    loadArmTotals(db, merchantId, id),
    talliesOf(db, merchantId, id),
    failedWeeks(db, merchantId, id, person.zone, from),
    forecastExperiment(db, merchantId, experiment, experiment.startedAt),
  ]);
  const look = analyses[0] ?? null;
  const tallies = lookUpTallies(cells);
  const checks = listArmChecks(experiment, look, tallies);
  const isVoid = look?.verdict.outcome === "void" || checks.some(({ state }) => state === "failed");
  const measured = [...new Set(cells.map(({ measure }) => measure))].filter((measure) => measure !== COUNT_MEASURE);
  const currencies = isVoid ? [] : measured.toSorted();
  const largest = await Promise.all(
    currencies.map(async (currency) => [currency, await sumLargestInvoices(db, merchantId, id, currency)] as const),
  );
  return { analyses, totals, tallies, weeks, forecast, checks, isVoid, currencies, largest: new Map(largest) };
}

/** Both verdicts, and when the one that decides is to be expected. */
function verdictLede({ margin, primary }: Experiment, look: InterimAnalysis | null): Html {
  if (!look)
    return html`<p class="lede"><b>No results yet.</b> Dunlin computes them within a minute, and then once a day.</p>`;
  const { outcome, weeksMore, words } = look.verdict;
  const outlook = isUnclear(look)
    ? words
    : outcome !== "open"
      ? `You chose to decide by ${measureWords(primary)}.`
      : `You decide by ${measureWords(primary)}: if the difference stays as it is, that verdict comes in about ${weeksMore} ${weeksMore === 1 ? "week" : "weeks"}.`;
  return html`<p class="lede"><b>${verdictSentence(measureVerdicts(look, margin), margin)}</b> ${outlook}</p>`;
}

const VOID_MESSAGE = "Do not use this result: the arms cannot be compared.";

function voidNotice(
  { share: assignedShare, stoppedAt }: Experiment,
  { analyses, totals, checks }: ExperimentData,
): Html {
  const look = analyses[0];
  const words = look?.verdict.outcome === "void" ? look.verdict.words : VOID_MESSAGE;
  const isSplitWrong =
    look?.troubles.includes("split") || checks.some(({ state, isOfSplit }) => state === "failed" && isOfSplit);
  // Each phase is checked separately, and a customer may be in both.
  const counted = totals
    .filter(({ arm }) => arm === "dunlin")
    .flatMap(({ phase, customers }) => {
      const all = customers + totals.find((each) => each.phase === phase && each.arm === "merchant")!.customers;
      const share = `${formatShare(customers, all)} (${formatCount(customers)}) are in it`;
      return all === 0 ? [] : `Of the ${formatCount(all)} customers counted in the ${phase}, ${share}.`;
    });
  const split = html`<p><b>The split is wrong.</b> Dunlin's arm should have ${formatShare(assignedShare, 1)} of the customers. ${counted.join(" ")}
Chance cannot explain this: some customers are missing from one arm, or counted in both. Usual causes are invoices of one arm that are not pushed, a second system that collects payments, and an import that stopped halfway.</p>`;
  return html`<div class="notice bad" role="alert"><div><p class="lead verdict bad">${words}</p>${isSplitWrong && split}
<p>The numbers below do not measure Dunlin, and waiting does not help. Fix the cause, ${stoppedAt ? "" : "stop this experiment, "}and start another one.</p></div></div>`;
}

function csvLinks(id: string, hasLooks: boolean, hasWeeks: boolean): Html | null {
  if (!hasLooks && !hasWeeks) return null;
  return drop(
    html`${icon("down")}CSV`,
    html`<ul class="plain">${hasLooks && html`<li><a href="/experiments/${id}/looks.csv">Results by day</a></li>`}${hasWeeks && html`<li><a href="/experiments/${id}/weeks.csv">Invoices by week</a></li>`}</ul>`,
    "end",
  );
}

const stopForm = (id: string): Html => html`
<details class="drop end"><summary class="button danger">Stop</summary><div>
<form method="post" action="/experiments/${id}/stop" class="field gap"><p>New invoices will not take part, and you cannot restart this experiment. Open cases keep their arm until they end, and Dunlin handles all new ones.</p>
${formField({ label: "Reason", name: "reason", maxlength: 200, hint: "For the audit log." })}
<button class="danger">Stop the experiment</button></form></div></details>`;

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
