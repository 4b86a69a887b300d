import type { ShadowFigures } from "../../recovery/shadow.ts";
import { askShadow, type ShadowJob, shadowResult } from "../../recovery/shadow-job.ts";
import {
  approvedWords,
  countedWords,
  NO_RETRY,
  PROVES_NOTHING,
  plannedWords,
  STANCE_WORDS,
  shareWords,
  stancesMet,
  triesWords,
} from "../../recovery/shadow-words.ts";
import { findJob, listJobs } from "../../store/jobs.ts";
import { findMerchant } from "../../store/merchants.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html } from "../html.ts";
import { readQuery } from "../query.ts";
import { button, notice } from "../show/fields.ts";
import { dayText, localField, moment } from "../show/moments.ts";
import { count, money } from "../show/money.ts";
import { empty, table } from "../show/table.ts";
import type { Visit } from "../visit.ts";

/** Dunlin's plans in shadow mode beside the retries of the merchant's own system. */
export function shadowRoutes(console: Console) {
  const { ports } = console;
  console.page("/shadow", null, async (visit) => {
    readQuery(visit.query, {});
    return shadowPage(visit);
  });
  // It reads, and changes nothing: open to all members, as what was recovered is.
  console.post("/shadow", null, async ({ db, merchantId, actor, reply }) => {
    await askShadow(db, merchantId, actor, ports);
    console.onJob("shadow");
    return goTo(reply, "/shadow");
  });
}

async function shadowPage({ db, merchantId, person: { zone }, may }: Visit): Promise<Page> {
  const [merchant, [latest]] = await Promise.all([findMerchant(db, merchantId), listJobs(db, merchantId, "shadow", 1)]);
  const job = latest && (await findJob(db, merchantId, latest.id, "shadow"));
  const isUnderWay = job && job.endedAt === null;
  const on = merchant?.shadow
    ? html`<p class="text">Shadow mode is on: your own system keeps every invoice that becomes unpaid now, and Dunlin records what it would do.${may("experiments") && html` <a href="/settings/recovery">Switch it off.</a>`}</p>`
    : html`<p class="text">Shadow mode is off. While it is on, Dunlin decides and sends nothing, so you can check its decisions first. ${may("experiments") ? html`<a href="/settings/recovery">Switch it on.</a>` : "An owner or admin switches it on."}</p>`;
  return {
    title: "Shadow mode",
    tools: !isUnderWay && button("/shadow", job ? "Compare anew" : "Compare", {}, "main"),
    body: html`${on}
${job && html`<p class="soft">${isUnderWay ? "Asked for on" : "As of"} ${moment(job.askedAt, zone)}.</p>${comparison(job as ShadowJob, zone)}`}`,
  };
}

function comparison(job: ShadowJob, zone: string): Html {
  if (job.failure !== null) return notice("bad", job.failure);
  const figures = shadowResult(job);
  if (figures) return compared(figures, zone);
  return html`<div data-live="2"><p class="lead">Comparing: ${count(job.progress.cases ?? 0)} invoices so far</p>
<p><progress aria-label="The comparison is under way"></progress></p></div>`;
}

function compared(figures: ShadowFigures, zone: string): Html {
  const { since, counted, paid, money: sums, stances } = figures;
  const words = countedWords(figures, (at) => dayText(localField(at, zone).slice(0, 10)));
  if (since === null) return empty(words[0]!);
  const met = stancesMet(figures);
  return html`
${paragraphs(words)}
${
  counted > 0 &&
  html`<h2>What was recovered without Dunlin</h2>
<p class="lead">${count(paid)} of ${count(counted)}${shareWords(paid / counted, counted)} ${paid === 1 ? "was" : "were"} paid</p>
${table(
  "Money by currency",
  [
    { head: "Currency", cell: ([currency]: [string, Sum]) => currency },
    { head: "Invoices", cell: ([, { cases }]) => count(cases), numeric: true },
    { head: "Due", cell: ([currency, { due }]) => money(due, currency), numeric: true },
    { head: "Paid", cell: ([currency, { paid }]) => money(paid, currency), numeric: true },
    {
      head: "Share",
      cell: ([, { cases, due, paid }]) => shareWords(paid / due, cases).replace(/[ ()]/g, ""),
      numeric: true,
    },
  ],
  [...sums],
)}
${paragraphs(plannedWords(figures))}`
}
<h2>What Dunlin would have done instead</h2>
${
  met.length === 0
    ? html`<p class="text">${NO_RETRY}</p>`
    : html`<p class="text">Retries of your own system, by what Dunlin would do at that point:</p>
${table(
  "Retries of your own system",
  [
    { head: "Dunlin would", cell: (stance: (typeof met)[number]) => STANCE_WORDS[stance] },
    { head: "Retries", cell: (stance) => count(stances[stance].tries), numeric: true },
    { head: "Approved", cell: (stance) => approvedWords(stances[stance]), numeric: true },
  ],
  met,
)}
${paragraphs(triesWords(figures))}`
}
<p class="soft">${PROVES_NOTHING}: see <a href="/docs/guides/experiments.html">proving that it works</a>.</p>`;
}

type Sum = ShadowFigures["money"] extends Map<string, infer Of> ? Of : never;

const paragraphs = (sentences: readonly string[]) => sentences.map((each) => html`<p class="text">${each}</p>`);
