import type { Backtest } from "../../backtest/backtest.ts";
import { askBacktest, type BacktestJob } from "../../recovery/backtest-job.ts";
import { findJob, listJobs } from "../../store/jobs.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { html } from "../html.ts";
import { notFound, PageError } from "../page-error.ts";
import { isUuid, readQuery } from "../query.ts";
import { sendCsv } from "../show/csv.ts";
import { button, notice } from "../show/fields.ts";
import { moment, momentText } from "../show/moments.ts";
import { count } from "../show/money.ts";
import { empty, table } from "../show/table.ts";
import { state } from "../show/words.ts";
import type { Visit } from "../visit.ts";
import { report, reportCells, WAY_HEADINGS } from "./report.ts";

const LATEST = 20;
type Job = BacktestJob<Backtest>;

/** Other ways of trying again, judged by what the merchant's own system did. */
export function backtestRoutes(console: Console) {
  const { ports } = console;
  console.page("/backtest", null, async (visit) => {
    readQuery(visit.query, {});
    return listPage((await listJobs(visit.db, visit.merchantId, "backtest", LATEST)) as Job[], visit);
  });
  console.post("/backtest", "experiments", async ({ db, merchantId, actor, reply }) => {
    const id = await askBacktest(db, merchantId, actor, ports);
    if (id === null) throw new PageError(409, "A backtest is under way already. Its page shows how far it is.");
    console.onJob("backtest");
    return goTo(reply, `/backtest/${id}`);
  });
  console.page("/backtest/:id", null, async (visit) => {
    readQuery(visit.query, {});
    return jobPage(await jobOf(visit), visit.person.zone);
  });
  console.page("/backtest/:id/ways.csv", null, async (visit) => {
    readQuery(visit.query, {});
    const { result } = await jobOf(visit);
    if (!result) throw notFound("result");
    return sendCsv(visit.reply, "backtest.csv", WAY_HEADINGS, [reportCells(result.backtest)]);
  });
}

async function jobOf({ db, merchantId, params }: Visit): Promise<Job> {
  const job = isUuid(params.id!) ? ((await findJob(db, merchantId, params.id!, "backtest")) as Job | null) : null;
  if (!job) throw notFound("backtest");
  if (!job.result) return job;
  // JSON has no moments.
  const { from, to, countsFrom, aheadFrom } = job.result.backtest;
  const momentOf = (told: Date | null | undefined) => (told ? new Date(told) : null);
  const moments = {
    from: new Date(from),
    to: new Date(to),
    countsFrom: momentOf(countsFrom),
    aheadFrom: momentOf(aheadFrom),
  };
  return { ...job, result: { ...job.result, backtest: { ...job.result.backtest, ...moments } } };
}

function listPage(jobs: readonly Job[], visit: Visit): Page {
  const isUnderWay = jobs.some(({ endedAt }) => endedAt === null);
  return {
    title: "Backtest",
    tools: visit.may("experiments") && !isUnderWay && button("/backtest", "Judge the history", {}, "main"),
    body: html`
<p class="text">Would another way of trying again have recovered more? A backtest judges Dunlin, its fixed rules and common schedules by the payment attempts that are known here: those that were <a href="/import">imported</a> and those that were pushed. It learns from invoices in which your
system happened to wait as long as the other way would have, and says nothing where there are too few. An <a href="/experiments">experiment</a> answers the same question without its assumptions.</p>
${
  jobs.length === 0
    ? empty(
        html`No backtest was made yet.${visit.may("experiments") ? html` <a href="/import">Import your history</a>, then press <b>Judge the history</b>.` : " Owners and admins make them."} A command judges a file that is not imported.`,
        `npx dunlin backtest attempts.csv`,
      )
    : table(
        "Backtests",
        [
          {
            head: "Asked for",
            cell: ({ id, askedAt }: Job) => html`<a href="/backtest/${id}">${moment(askedAt, visit.person.zone)}</a>`,
          },
          { head: "By", cell: ({ actor }) => actor.name },
          { head: "Attempts", cell: ({ progress }) => count(progress.read ?? 0), numeric: true },
          { head: "State", cell: stateOf },
        ],
        jobs,
      )
}`,
  };
}

const stateOf = ({ endedAt, failure, progress }: Job) => {
  if (failure !== null) return html`${state("failed", "bad")} <small>${failure}</small>`;
  return endedAt ? state("done", "good") : state(progress.isJudging ? "judging" : "reading", "warn");
};

function jobPage(job: Job, zone: string): Page {
  const { id, progress, result, failure, askedAt, actor } = job;
  const title = `Backtest of ${momentText(askedAt, zone)}`;
  const asked = html`<p class="soft">Asked for on ${moment(askedAt, zone)} by ${actor.name}.</p>`;
  if (failure !== null) return { title, body: html`${notice("bad", failure)}${asked}${again}` };
  if (result)
    return {
      title,
      tools: html`<a class="button" href="/backtest/${id}/ways.csv">Export CSV</a>`,
      body: html`${result.isCut && notice("warn", "More attempts are known than one report can hold. Some invoices are left out, by the order of their ids.")}${report(result.backtest, zone)}${asked}${again}`,
    };
  return {
    title,
    body: html`<div data-live="2"><p class="lead">${progress.isJudging ? `Judging ${count(progress.read ?? 0)} payment attempts` : `Reading: ${count(progress.read ?? 0)} payment attempts so far`}</p>
<p><progress aria-label="The backtest is under way"></progress></p>
<p class="soft">About two milliseconds for each failed invoice. It goes on when you leave this page.</p>${asked}</div>`,
  };
}

const again = html`<p class="again"><a class="button" href="/backtest">All backtests</a></p>`;
