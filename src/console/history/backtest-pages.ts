import type { BacktestResult } from "../../backtest/backtest.ts";
import { type BacktestJob, requestBacktest } from "../../jobs/backtest-job.ts";
import { findJob, listJobs } from "../../tables/job-queue.ts";
import { type Console, redirectTo } from "../console.ts";
import { html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { isUuid, parsePageQuery } from "../page-query.ts";
import { sendCsv } from "../show/csv-export.ts";
import { formButton, formNotice } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { stateLabel } from "../show/state-labels.ts";
import { emptyNotice, table } from "../show/table.ts";
import { formatTime, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { backtestReport, reportCells, STRATEGY_HEADINGS } from "./backtest-report.ts";

const SHOWN_JOBS_MAX = 20;
type BacktestPageJob = BacktestJob<BacktestResult>;

export function backtestRoutes(console: Console) {
  const { ports } = console;
  console.page("/backtest", null, async (visit) => {
    parsePageQuery(visit.query, {});
    return listPage(
      (await listJobs(visit.db, visit.merchantId, "backtest", SHOWN_JOBS_MAX)) as BacktestPageJob[],
      visit,
    );
  });
  console.post("/backtest", "experiments", async ({ db, merchantId, actor, reply }) => {
    const id = await requestBacktest(db, merchantId, actor, ports);
    if (id === null) throw new PageError(409, "A backtest is already in progress. See its page for the progress.");
    console.onJob("backtest");
    return redirectTo(reply, `/backtest/${id}`);
  });
  console.page("/backtest/:id", null, async (visit) => {
    parsePageQuery(visit.query, {});
    return jobPage(await requireJob(visit), visit.person.zone);
  });
  console.page("/backtest/:id/ways.csv", null, async (visit) => {
    parsePageQuery(visit.query, {});
    const { result } = await requireJob(visit);
    if (!result) throw notFoundError("result");
    return sendCsv(visit.reply, "backtest.csv", STRATEGY_HEADINGS, [reportCells(result.backtest)]);
  });
}

async function requireJob({ db, merchantId, params }: Visit): Promise<BacktestPageJob> {
  const job = isUuid(params.id!)
    ? ((await findJob(db, merchantId, params.id!, "backtest")) as BacktestPageJob | null)
    : null;
  if (!job) throw notFoundError("backtest");
  if (!job.result) return job;
  // Times are text in JSON.
  const { from, to, countsFrom, aheadFrom } = job.result.backtest;
  const parseTime = (text: Date | null | undefined) => (text ? new Date(text) : null);
  const times = {
    from: new Date(from),
    to: new Date(to),
    countsFrom: parseTime(countsFrom),
    aheadFrom: parseTime(aheadFrom),
  };
  return { ...job, result: { ...job.result, backtest: { ...job.result.backtest, ...times } } };
}

function listPage(jobs: readonly BacktestPageJob[], visit: Visit): Page {
  const isRunning = jobs.some(({ endedAt }) => endedAt === null);
  return {
    title: "Backtest",
    tools: visit.may("experiments") && !isRunning && formButton("/backtest", "Start a backtest", {}, "main"),
    body: html`
<p class="text">Would another retry strategy have recovered more? A backtest compares Dunlin, its fixed rules and common schedules on your <a href="/import">imported</a> and pushed payment attempts. It uses the invoices
that your system retried at the times of the other strategy. If there are too few, it gives no result. An <a href="/experiments">experiment</a> answers the same question without these assumptions.</p>
${
  jobs.length === 0
    ? emptyNotice(
        html`No backtests yet.${visit.may("experiments") ? html` <a href="/import">Import your history</a>, then press <b>Start a backtest</b>.` : " Owners and admins can start one."} For a file that is not imported, use the command.`,
        `npx dunlin backtest attempts.csv`,
      )
    : table(
        "Backtests",
        [
          {
            head: "Started",
            cell: ({ id, askedAt }: BacktestPageJob) =>
              html`<a href="/backtest/${id}">${timeElement(askedAt, visit.person.zone)}</a>`,
          },
          { head: "By", cell: ({ actor }) => actor.name },
          { head: "Attempts", cell: ({ progress }) => formatCount(progress.read ?? 0), numeric: true },
          { head: "State", cell: jobState },
        ],
        jobs,
      )
}`,
  };
}

const jobState = ({ endedAt, failure, progress }: BacktestPageJob) => {
  if (failure !== null) return html`${stateLabel("failed", "bad")} <small>${failure}</small>`;
  return endedAt ? stateLabel("done", "good") : stateLabel(progress.isJudging ? "comparing" : "reading", "warn");
};

function jobPage(job: BacktestPageJob, zone: string): Page {
  const { id, progress, result, failure, askedAt, actor } = job;
  const title = `Backtest of ${formatTime(askedAt, zone)}`;
  const started = html`<p class="soft">Started on ${timeElement(askedAt, zone)} by ${actor.name}.</p>`;
  if (failure !== null) return { title, body: html`${formNotice("bad", failure)}${started}${allBacktestsLink}` };
  if (result)
    return {
      title,
      tools: html`<a class="button" href="/backtest/${id}/ways.csv">Export CSV</a>`,
      body: html`${result.isCut && formNotice("warn", "There are more attempts than one report can use. Some invoices are left out, in the order of their ids.")}${backtestReport(result.backtest, zone)}${started}${allBacktestsLink}`,
    };
  return {
    title,
    body: html`<div data-live="2"><p class="lead">${progress.isJudging ? `Comparing on ${formatCount(progress.read ?? 0)} payment attempts` : `Reading: ${formatCount(progress.read ?? 0)} payment attempts so far`}</p>
<p><progress aria-label="The backtest is in progress"></progress></p>
<p class="soft">A failed invoice takes about two milliseconds. The backtest continues if you leave this page.</p>${started}</div>`,
  };
}

const allBacktestsLink = html`<p class="again"><a class="button" href="/backtest">All backtests</a></p>`;
