import { DAY_MS } from "../../domain/durations.ts";
import { COUNT, type Experiment } from "../../domain/experiment.ts";
import type { Look } from "../../experiments/look.ts";
import { marginPoints } from "../../experiments/points.ts";
import { type ArmSums, armSums } from "../../recovery/arm-sums.ts";
import type { Tx } from "../../store/database.ts";
import { type FailedWeek, failedWeeks } from "../../store/experiment-invoices.ts";
import { looksOf } from "../../store/experiment-results.ts";
import { listExperiments } from "../../store/experiments.ts";
import type { Console } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html } from "../html.ts";
import { notFound } from "../page-error.ts";
import { oneOf, readQuery } from "../query.ts";
import { sendCsv } from "../show/csv.ts";
import { field, notice } from "../show/fields.ts";
import { moment } from "../show/moments.ts";
import { count, share } from "../show/money.ts";
import { facts } from "../show/table.ts";
import type { Visit } from "../visit.ts";
import { standing, verdictKind } from "./effect.ts";
import { armTable, courseOf, effects, weekTable } from "./results.ts";

/** Looks come once a day: more than this nobody reads. */
const LOOKS_MAX = 400;
/** Weeks that are shown beyond those that are too young. */
const WEEKS = 13;
const READERS = { done: oneOf(["started", "stopped"]) };

/** One experiment: what its arms recovered, how sure that is, and whether they can be compared. */
export function experimentDetailRoutes(console: Console) {
  console.page("/experiments/:id", null, (visit) => detailPage(console, visit));
  console.page("/experiments/:id/looks.csv", null, async ({ db, params, query, merchantId, reply }) => {
    readQuery(query, {});
    const { id } = await experimentOf(db, merchantId, params.id!);
    const looks = await looksOf<Look>(db, merchantId, id, LOOKS_MAX);
    return sendCsv(reply, "experiment-looks.csv", LOOK_HEADINGS, [looks.flatMap(lookCells)]);
  });
  console.page("/experiments/:id/weeks.csv", null, async ({ db, params, query, merchantId, person, reply }) => {
    readQuery(query, {});
    const { id, comparedFrom } = await experimentOf(db, merchantId, params.id!);
    const weeks = await failedWeeks(db, merchantId, id, person.zone, comparedFrom);
    return sendCsv(reply, "experiment-weeks.csv", WEEK_HEADINGS, [weeks.map(weekCells)]);
  });
}

async function experimentOf(tx: Tx, merchantId: string, id: string): Promise<Experiment> {
  const found = (await listExperiments(tx, merchantId)).find((each) => each.id === id);
  if (!found) throw notFound("experiment");
  return found;
}

async function detailPage({ ports }: Console, visit: Visit): Promise<Page> {
  const { done } = readQuery(visit.query, READERS);
  const { db, merchantId, person } = visit;
  const experiment = await experimentOf(db, merchantId, visit.params.id!);
  const { id, comparedFrom, maturityDays } = experiment;
  const now = ports.now();
  const from = new Date(Math.max(+comparedFrom, +now - (WEEKS * 7 + maturityDays) * DAY_MS));
  const [looks, sums, weeks] = await Promise.all([
    looksOf<Look>(db, merchantId, id, LOOKS_MAX),
    armSums(db, merchantId, id),
    failedWeeks(db, merchantId, id, person.zone, from),
  ]);
  const look = looks[0] ?? null;
  return {
    title: experiment.name,
    tools: html`${looks.length > 0 && html`<a class="button" href="/experiments/${id}/looks.csv">Looks as CSV</a>`}${weeks.length > 0 && html`<a class="button" href="/experiments/${id}/weeks.csv">Weeks as CSV</a>`}`,
    body: html`${done === "started" && notice("good", "Started. Invoices that fail from now on belong to it; the first look comes within a minute.")}
${done === "stopped" && notice("good", "Stopped. It takes no new invoices; those that are in it are still counted when they are old enough.")}
${verdictOf(experiment, look, sums)}
<h2>The experiment</h2>${factsOf(experiment, look, person.zone, now)}
<h2>The arms</h2>${armTable(sums)}
<p class="text soft">An invoice counts ${maturityDays} days after it failed, once, paid or not. Until then it is too young. Recovered is what is paid by then, by whatever means.</p>
${look && effects(look)}
${looks.length > 0 && courseOf(looks, person.zone)}
${weeks.length > 0 && weekTable(weeks)}
${experiment.stoppedAt === null && visit.may("experiments") && stopForm(id)}`,
  };
}

/** The verdict; and where the arms can't be compared, first of all why. */
function verdictOf({ share: drawn, stoppedAt }: Experiment, look: Look | null, sums: readonly ArmSums[]): Html {
  if (!look)
    return html`<p class="lead">Not looked at yet</p><p>The service does so within a minute, and then once a day.</p>`;
  const { troubles, verdict } = look;
  const isVoid = verdict.outcome === "void";
  // Each phase is checked apart, and customers may be in both.
  const counted = sums
    .filter(({ arm }) => arm === "dunlin")
    .flatMap(({ phase, customers }) => {
      const all = customers + sums.find((each) => each.phase === phase && each.arm === "merchant")!.customers;
      const are = `${share(customers, all)} are in it (${count(customers)})`;
      return all === 0 ? [] : `Of the ${count(all)} that are counted in the ${phase} ${are}.`;
    });
  const split = html`<p><b>The split is off.</b> ${share(drawn, 1)} of the customers were drawn for Dunlin's arm. ${counted.join(" ")}
Chance alone does not do that: some customers are missing from one arm, or counted in both. Usual causes: invoices of one arm that are not pushed, another system that collects, an import that stopped halfway.</p>`;
  const words = html`<p class="lead verdict ${verdictKind(verdict.outcome)}">${verdict.words}</p>`;
  if (!isVoid) return words;
  return html`<div class="notice bad" role="alert">${words}${troubles.includes("split") && split}
<p>No number below is a measure of Dunlin, and time does not heal it. Mend the cause, ${stoppedAt ? "" : "stop this experiment, "}and start another one.</p></div>`;
}

const factsOf = (experiment: Experiment, look: Look | null, zone: string, now: Date): Html => {
  const { startedAt, comparedFrom, primary, margin } = experiment;
  return facts([
    ["State", standing(experiment, zone, now)],
    ["Started", moment(startedAt, zone)],
    comparedFrom > startedAt ? ["Compared from", moment(comparedFrom, zone)] : null,
    ["Dunlin's arm", `${share(experiment.share, 1)} of the customers, by a hash of their id`],
    ["Verdict on", primary === COUNT ? "recovered invoices" : `recovered money in ${primary}`],
    ["What matters", `${marginPoints(margin)} points or more`],
    look ? ["Last look", moment(look.at, zone)] : null,
    ["Changes", html`<a href="/org/audit?noun=experiment">in the audit log</a>`],
  ]);
};

const stopForm = (id: string): Html => html`
<details class="more"><summary>Stop the experiment</summary>
<form method="post" action="/experiments/${id}/stop" class="card"><p>It takes no new invoices and can't be started again. Cases keep their arms to their end, and new ones are Dunlin's.</p>
${field({ label: "Reason", name: "reason", maxlength: 200, hint: "For the audit log." })}
<button class="danger">Stop it</button></form></details>`;

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

const lookCells = ({ at, invoices, comparisons, verdict }: Look) =>
  comparisons.map(({ measure, dunlin, merchant, difference, lower, upper }) => [
    at.toISOString(),
    measure === COUNT ? "invoices" : measure,
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
