import type { ShadowFigures } from "../../shadow/shadow-figures.ts";
import { parseShadowResult, requestShadowReport, type ShadowJob } from "../../shadow/shadow-job.ts";
import {
  COMPARISON_CAVEAT,
  describeCounts,
  describePlans,
  describeRetries,
  formatApproved,
  formatShare,
  listStancesWithRetries,
  NO_RETRY,
  STANCE_WORDING,
} from "../../shadow/shadow-wording.ts";
import { findJob, listJobs } from "../../tables/job-queue.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { parsePageQuery } from "../page-query.ts";
import { formButton, formNotice } from "../show/form-fields.ts";
import { formatCount, formatMoney } from "../show/number-format.ts";
import { emptyNotice, table } from "../show/table.ts";
import { formatDay, timeElement, toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

export function shadowRoutes(console: Console) {
  const { ports } = console;
  console.page("/shadow", null, async (visit) => {
    parsePageQuery(visit.query, {});
    return shadowPage(visit);
  });
  // All members may start it, because it changes nothing.
  console.post("/shadow", null, async ({ db, merchantId, actor, reply }) => {
    await requestShadowReport(db, merchantId, actor, ports);
    console.onJob("shadow");
    return redirectTo(reply, "/shadow");
  });
}

async function shadowPage({ db, merchantId, person: { zone }, may }: Visit): Promise<Page> {
  const [merchant, [latest]] = await Promise.all([findMerchant(db, merchantId), listJobs(db, merchantId, "shadow", 1)]);
  const job = latest && (await findJob(db, merchantId, latest.id, "shadow"));
  const isRunning = job && job.endedAt === null;
  const status = merchant?.shadow
    ? html`<p class="text">Shadow mode is on. Your own system retries invoices that become unpaid now; Dunlin only logs what it would do.${may("experiments") && html` <a href="/settings/recovery">Turn it off</a>`}</p>`
    : html`<p class="text">Shadow mode is off. While it is on, Dunlin decides but sends nothing, so you can check its decisions first. ${may("experiments") ? html`<a href="/settings/recovery">Turn it on</a>` : "An owner or admin can turn it on."}</p>`;
  return {
    title: "Shadow mode",
    tools: !isRunning && formButton("/shadow", job ? "Compare again" : "Compare", {}, "main"),
    body: html`${status}
${job && html`<p class="soft">${isRunning ? "Started on" : "As of"} ${timeElement(job.askedAt, zone)}.</p>${comparisonSection(job as ShadowJob, zone)}`}`,
  };
}

function comparisonSection(job: ShadowJob, zone: string): Html {
  if (job.failure !== null) return formNotice("bad", job.failure);
  const figures = parseShadowResult(job);
  if (figures) return comparisonFigures(figures, zone);
  return html`<div data-live="2"><p class="lead">Comparing: ${formatCount(job.progress.cases ?? 0)} invoices so far</p>
<p><progress aria-label="The comparison is in progress"></progress></p></div>`;
}

function comparisonFigures(figures: ShadowFigures, zone: string): Html {
  const { since, counted, paid, money: moneyByCurrency, stances } = figures;
  const words = describeCounts(figures, (at) => formatDay(toDatetimeLocal(at, zone).slice(0, 10)));
  if (since === null) return emptyNotice(words[0]!);
  const stancesWithRetries = listStancesWithRetries(figures);
  return html`
${paragraphs(words)}
${
  counted > 0 &&
  html`<h2>Recovered without Dunlin</h2>
<p class="lead">${formatCount(paid)} of ${formatCount(counted)}${formatShare(paid / counted, counted)} ${paid === 1 ? "was" : "were"} paid</p>
${table(
  "Money by currency",
  [
    { head: "Currency", cell: ([currency]: [string, MoneyTotals]) => currency },
    { head: "Invoices", cell: ([, { cases }]) => formatCount(cases), numeric: true },
    { head: "Due", cell: ([currency, { due }]) => formatMoney(due, currency), numeric: true },
    { head: "Paid", cell: ([currency, { paid }]) => formatMoney(paid, currency), numeric: true },
    {
      head: "Share",
      cell: ([, { cases, due, paid }]) => formatShare(paid / due, cases).replace(/[ ()]/g, ""),
      numeric: true,
    },
  ],
  [...moneyByCurrency],
)}
${paragraphs(describePlans(figures))}`
}
<h2>Compared with Dunlin's decisions</h2>
${
  stancesWithRetries.length === 0
    ? html`<p class="text">${NO_RETRY}</p>`
    : html`<p class="text">Your own system's retries, by what Dunlin would have done at that time:</p>
${table(
  "Your own system's retries",
  [
    { head: "Dunlin would", cell: (stance: (typeof stancesWithRetries)[number]) => STANCE_WORDING[stance] },
    { head: "Retries", cell: (stance) => formatCount(stances[stance].tries), numeric: true },
    { head: "Approved", cell: (stance) => formatApproved(stances[stance]), numeric: true },
  ],
  stancesWithRetries,
)}
${paragraphs(describeRetries(figures))}`
}
<p class="soft">${COMPARISON_CAVEAT}: see <a href="/docs/guides/experiments.html">proving that it works</a>.</p>`;
}

type MoneyTotals = ShadowFigures["money"] extends Map<string, infer Of> ? Of : never;

const paragraphs = (sentences: readonly string[]) => sentences.map((each) => html`<p class="text">${each}</p>`);
