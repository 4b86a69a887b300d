import { COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { REPORTING_GRACE_DAYS } from "../../experiments/experiments.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import type { Tx } from "../../postgres/database.ts";
import { countUndelivered, type UndeliveredCounts } from "../../tables/delivery-figures.ts";
import { listInterimAnalyses } from "../../tables/experiment-results.ts";
import { listExperiments } from "../../tables/experiments.ts";
import { countFailed, type Outcome, type OutcomeSum, sumEnded, sumInvoices } from "../../tables/invoice-list.ts";
import { findMerchant } from "../../tables/merchants.ts";
import type { Console } from "../console.ts";
import { endpointNotice } from "../endpoint-notice.ts";
import { type Uplift, upliftsOf, verdictState } from "../experiments/experiment-effect.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery } from "../page-query.ts";
import { type Bar, barChart } from "../show/bar-chart.ts";
import { CA_HINT, ingestCommand } from "../show/curl-commands.ts";
import { formNotice } from "../show/form-fields.ts";
import { formatCount, formatMoney, formatShare } from "../show/number-format.ts";
import { commandHint, table } from "../show/table.ts";
import { formatDay, parseDatetimeLocal, toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { OUTCOME_LABELS } from "./invoice-list-page.ts";

const DAY_RANGES = ["7", "28", "90"] as const;
const QUERY_READERS = { days: enumReader(DAY_RANGES) };

export function overviewRoutes({ page, ports, baseUrl, caPath }: Console) {
  page("/overview", null, async (visit): Promise<Page> => {
    const { days = "28" } = parsePageQuery(visit.query, QUERY_READERS);
    const { db, merchantId, person } = visit;
    const now = ports.now();
    // The range includes today.
    const from = daysAgo(Number(days) - 1, now, person.zone);
    const merchant = await findMerchant(db, merchantId);
    const isShadow = merchant?.shadow ?? false;
    const maturityDays = (merchant?.windowDays ?? 0) + REPORTING_GRACE_DAYS;
    const matureSince = (n: number) => daysAgo(maturityDays + n, now, person.zone);
    const [weeks, matureCases, open, watched, undelivered, latestResult] = await Promise.all([
      loadEndedWeeks(db, merchantId, from, now, person.zone),
      countFailed(db, merchantId, matureSince(Number(days)), matureSince(0)),
      sumInvoices(db, merchantId, { outcome: "open" }),
      isShadow ? sumInvoices(db, merchantId, { outcome: "watched" }) : [],
      countUndelivered(db, merchantId),
      latestExperiment(db, merchantId),
    ]);
    const ended = sumWeeks(weeks.filter(({ isInRange }) => isInRange));
    const tools = html`${DAY_RANGES.map((each) => html`<a class="button" href="/overview?days=${each}"${each === days ? html` aria-current="page"` : ""}>${each} days</a>`)}`;
    const isEmpty = [ended, open, watched, weeks, matureCases].every(({ length }) => length === 0);
    return {
      title: "Overview",
      tools,
      body: html`${isShadow && formNotice("warn", SHADOW_NOTICE)}${merchant && !(isEmpty && merchant.webhookUrl === null) && endpointNotice(merchant, visit)}
${isEmpty ? firstSteps(visit, merchant, baseUrl, caPath) : figureTiles({ ended, matureCases, maturityDays, open, weeks, undelivered, from, days, now, latestResult, isShadow }, visit)}`,
    };
  });
}

const SHADOW_NOTICE = html`Shadow mode is on. Your own system retries invoices that become unpaid now; Dunlin only logs what it would do. <a href="/shadow">Compare the two</a>`;

function daysAgo(n: number, now: Date, zone: string): Date {
  const date = new Date(`${toDatetimeLocal(now, zone).slice(0, 10)}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - n);
  return parseDatetimeLocal(`${date.toISOString().slice(0, 10)}T00:00`, zone)!;
}

const sumWeeks = (weeks: readonly WeekTotals[]): OutcomeSum[] =>
  [...Map.groupBy(weeks, ({ outcome, currency }) => `${currency} ${outcome}`)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, rows]) => ({
      outcome: rows[0]!.outcome,
      currency: rows[0]!.currency,
      n: rows.reduce((total, { n }) => total + n, 0),
      amount: String(rows.reduce((total, { amount }) => total + BigInt(amount), 0n)),
    }));

interface WeekTotals extends OutcomeSum {
  /** Its Monday, such as 2026-03-09. */
  week: string;
  /** The cases ended within the range. Its first week may start earlier. */
  isInRange: boolean;
}

/** From Monday in `zone`. The first week is complete. */
async function loadEndedWeeks(tx: Tx, merchantId: string, from: Date, now: Date, zone: string): Promise<WeekTotals[]> {
  const weeks = listWeeksSince(from, now, zone);
  const starts = weeks.map(({ start }) => start);
  // Includes cases that end right now.
  const end = new Date(now.getTime() + 1);
  const bounds = [...starts, end];
  if (from > starts[0]!) bounds.splice(1, 0, from);
  return (await sumEnded(tx, merchantId, bounds)).map(({ span, ...sum }) => {
    const since = bounds[span]!;
    return { ...sum, week: weeks.findLast(({ start }) => start <= since)!.monday, isInRange: since >= from };
  });
}

function listWeeksSince(from: Date, now: Date, zone: string): { monday: string; start: Date }[] {
  const date = new Date(`${toDatetimeLocal(from, zone).slice(0, 10)}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() - ((date.getUTCDay() + 6) % 7));
  const weeks = [];
  for (;;) {
    const monday = date.toISOString().slice(0, 10);
    const start = parseDatetimeLocal(`${monday}T00:00`, zone)!;
    if (start > now) return weeks;
    weeks.push({ monday, start });
    date.setUTCDate(date.getUTCDate() + 7);
  }
}

interface OverviewData {
  ended: readonly OutcomeSum[];
  /** Their window and grace period are over. */
  matureCases: readonly Pick<OutcomeSum, "outcome" | "n">[];
  maturityDays: number;
  open: readonly OutcomeSum[];
  weeks: readonly WeekTotals[];
  undelivered: UndeliveredCounts;
  from: Date;
  days: string;
  now: Date;
  latestResult: ExperimentResult | null;
  isShadow: boolean;
}

interface ExperimentResult {
  experiment: Experiment;
  analysis: InterimAnalysis | null;
}

async function latestExperiment(tx: Tx, merchantId: string): Promise<ExperimentResult | null> {
  const [experiment] = await listExperiments(tx, merchantId);
  if (!experiment) return null;
  const [analysis = null] = await listInterimAnalyses<InterimAnalysis>(tx, merchantId, experiment.id, 1);
  return { experiment, analysis };
}

const countCases = (sums: OverviewData["matureCases"], outcomes: readonly Outcome[]) =>
  sums.filter(({ outcome }) => outcomes.includes(outcome)).reduce((total, { n }) => total + n, 0);
const sumAmounts = (sums: readonly OutcomeSum[], outcome: Outcome) =>
  sums.filter((sum) => sum.outcome === outcome).map(({ amount, currency }) => formatMoney(amount, currency));

function figureTiles(data: OverviewData, visit: Visit): Html {
  const { ended, open, weeks, from, days, now } = data;
  const since = from.toISOString();
  const recovered = countCases(ended, ["recovered"]);
  const link = (outcome: Outcome, words: HtmlPart) =>
    html`<a href="/invoices?outcome=${outcome}&amp;endedFrom=${encodeURIComponent(since)}">${words}</a>`;
  const amounts = sumAmounts(ended, "recovered");
  return html`
<p class="lead">Recovered in the last ${days} days${amounts.length === 0 && ": nothing yet"}</p>
${amounts.length > 0 && html`<ul class="amounts">${amounts.map((amount) => html`<li>${amount}</li>`)}</ul>`}
<p class="text">From ${link("recovered", formatCount(recovered))} ${recovered === 1 ? "invoice" : "invoices"} paid since ${formatDay(toDatetimeLocal(from, visit.person.zone).slice(0, 10))} after an instruction from Dunlin succeeded.</p>
${addedTile(data, visit)}
<div class="tiles">
${rateTile(data)}
${tile("In recovery now", html`<a href="/invoices?outcome=open">${formatCount(countCases(open, ["open"]))}</a>`, sumAmounts(open, "open").join(", ") || "no open cases")}
${tile("Paid without an instruction", link("paid", formatCount(countCases(ended, ["paid"]))), "by the customer or by your own retries")}
${tile("Not recovered", link("lost", formatCount(countCases(ended, ["lost"]))), sumAmounts(ended, "lost").join(", ") || "no cases")}
${deliveryTile(data)}
</div>
<h2>Cases by the week they ended</h2>
<p class="text">A paid case ends at once, the others when their window ends. While the number of cases grows, these shares are higher than the recovery rate.</p>
${weekChart(weeks, now, visit.person.zone)}
<h2>By currency</h2>
${currencyTable(ended, open, since)}`;
}

/** By failure time. By end time too many cases would be paid, because unpaid ones are still open. */
function rateTile({ matureCases, days, maturityDays }: OverviewData): Html {
  const recovered = countCases(matureCases, ["recovered"]);
  const all = countCases(matureCases, ["recovered", "paid", "lost"]);
  const range = `failed ${maturityDays} to ${maturityDays + Number(days)} days ago`;
  return tile(
    "Recovery rate",
    formatShare(recovered, all),
    all === 0
      ? `no cases ${range}; newer cases may still be open`
      : `${formatCount(recovered)} of ${formatCount(all)} ${all === 1 ? "case" : "cases"} that ${range}; newer cases may still be open`,
  );
}

function deliveryTile({ undelivered: { exhausted, waiting, failed } }: OverviewData): Html {
  return tile(
    "Failed deliveries",
    exhausted === 0 ? "none" : html`<a href="/deliveries?state=exhausted">${formatCount(exhausted)}</a>`,
    `${formatCount(waiting)} waiting for an attempt${failed > 0 ? `, ${formatCount(failed)} of them after a failed one` : ""}`,
  );
}

function addedTile({ latestResult, isShadow }: OverviewData, { may }: Visit): Html {
  if (latestResult === null)
    return html`<p class="text">Only an experiment can show how much would have been paid without Dunlin, and none has been run. ${
      isShadow
        ? "You can start one when shadow mode is off."
        : may("experiments")
          ? html`<a href="/experiments/new">Start an experiment</a>`
          : html`An owner or admin can start one under Experiments.`
    }</p>`;
  const { experiment, analysis } = latestResult;
  const link = html`<a href="/experiments/${experiment.id}">${experiment.name}</a>`;
  const amounts = analysis ? upliftsOf(analysis) : [];
  const verdictText = analysis?.verdict.words ?? "Dunlin has not analyzed it yet.";
  if (analysis?.verdict.outcome === "void")
    return formNotice("bad", html`The experiment ${link} cannot show what Dunlin added. ${verdictText}`);
  return html`<section class="added"><h2>What Dunlin added, measured by the experiment ${link}</h2>
<p class="text">${analysis && html`Measured by ${experiment.primary === COUNT_MEASURE ? "the number of invoices" : `money in ${experiment.primary}`}: ${verdictState(analysis.verdict.outcome)}`} ${verdictText}</p>
${amounts.length > 0 && html`<p class="text">Amounts show how much more Dunlin recovered than your own system would have, for all invoices in Dunlin's arm that are old enough to count:</p><ul class="amounts">${amounts.map(addedAmount)}</ul>`}
<p class="text soft">The rest of this page excludes the holdout.</p></section>`;
}

/** The verdict may be about another measure, so an amount needs an interval without zero. */
const addedAmount = ({ amount, currency, low, high, side }: Uplift): Html =>
  side === ""
    ? html`<li>${currency}: not clear yet <small>between ${low} and ${high}</small></li>`
    : html`<li><span class="effect ${side}">${amount}</span> <small>between ${low} and ${high}</small></li>`;

const tile = (name: string, figure: HtmlPart, words: HtmlPart): Html =>
  html`<section class="tile"><h2>${name}</h2><p class="figure">${figure}</p><p><small>${words}</small></p></section>`;

function weekChart(weeks: OverviewData["weeks"], now: Date, zone: string): Html {
  const thisWeek = listWeeksSince(now, now, zone)[0]!.monday;
  const bars = [...Map.groupBy(weeks, ({ week }) => week)].map(([week, rows]): Bar => {
    const of = (...outcomes: Outcome[]) =>
      rows.filter(({ outcome }) => outcomes.includes(outcome)).reduce((total, { n }) => total + n, 0);
    return {
      label: formatDay(week).slice(0, -5),
      part: of("recovered"),
      rest: of("paid", "lost"),
      isOpen: week === thisWeek,
    };
  });
  const parts = bars.map(({ label, part, rest }) => `week of ${label} ${formatShare(part, part + rest)}`);
  return barChart(
    `Share of cases that ended recovered: ${parts.join(", ")}`,
    { part: "recovered", rest: "others", each: "Week of" },
    bars,
  );
}

const OUTCOMES_SHOWN = ["recovered", "paid", "lost"] as const;

function currencyTable(ended: readonly OutcomeSum[], open: readonly OutcomeSum[], since: string): Html {
  const currencies = [...new Set([...ended, ...open].map(({ currency }) => currency))].sort();
  const cell = (sums: readonly OutcomeSum[], outcome: Outcome, currency: string): HtmlPart => {
    const sum = sums.find((each) => each.outcome === outcome && each.currency === currency);
    return sum === undefined
      ? html`<span class="soft">–</span>`
      : html`${formatMoney(sum.amount, currency)} <small><a href="/invoices?outcome=${outcome}&amp;currency=${currency}${outcome === "open" ? "" : `&endedFrom=${encodeURIComponent(since)}`}">${formatCount(sum.n)}</a></small>`;
  };
  return table(
    "By currency",
    [
      { head: "Currency", cell: (currency: string) => currency },
      ...OUTCOMES_SHOWN.map((outcome) => ({
        head: OUTCOME_LABELS[outcome].replace(/^./, (first) => first.toUpperCase()),
        cell: (currency: string) => cell(ended, outcome, currency),
        numeric: true,
      })),
      { head: "In recovery now", cell: (currency: string) => cell(open, "open", currency), numeric: true },
    ],
    currencies,
  );
}

function firstSteps({ may }: Visit, merchant: Merchant | null, baseUrl: string, caPath: string | null): Html {
  const done = (isDone: boolean) => isDone && html` <span class="state good">done</span>`;
  return html`<div class="empty"><p class="lead">Nothing has been in recovery yet</p>
<ol>
<li>Set the endpoint that receives instructions${may("webhook") ? html`: <a href="/settings/webhook">Webhook</a>` : ""}.${done(merchant?.webhookUrl !== null)}</li>
<li>Create a key for your billing system${may("keys") ? html`: <a href="/org/api_keys">API keys</a>` : ""}.</li>
<li>Push unpaid invoices from your billing system: see the <a href="/docs/guides/ingest.html">guide to pushing</a>.</li>
<li>Optional: ${may("import") ? html`<a href="/import">import your history</a>` : "import your history"} to improve the first decisions.</li>
</ol>${commandHint(ingestCommand(baseUrl, caPath), caPath && CA_HINT)}</div>`;
}
