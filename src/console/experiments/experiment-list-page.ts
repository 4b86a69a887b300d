import { COUNT_MEASURE, type Experiment } from "../../domain/experiment.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import type { Tx } from "../../postgres/database.ts";
import { listInterimAnalyses } from "../../tables/experiment-results.ts";
import { listExperiments } from "../../tables/experiments.ts";
import { findMerchant } from "../../tables/merchants.ts";
import type { Console } from "../console.ts";
import { html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { parsePageQuery } from "../page-query.ts";
import { sendCsv } from "../show/csv-export.ts";
import { formNotice } from "../show/form-fields.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { stateLabel } from "../show/state-labels.ts";
import { emptyNotice, table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { effectRange, experimentStatus, verdictState } from "./experiment-effect.ts";

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
        ? html`<p class="lead">${first.experiment.name} ${first.look && verdictState(first.look.verdict.outcome)}</p>
<p class="text">${first.look?.verdict.words ?? "No results yet. Dunlin computes them within a minute of the start, and then once a day."}</p>
${experimentTable(rows, visit.person.zone, ports.now())}`
        : emptyNotice(
            html`No experiments yet. An experiment assigns some customers to your own system, to measure what Dunlin adds. There is no other reliable way to measure it.${visit.may("experiments") ? "" : " An owner or admin can start one here."}`,
            `npx dunlin experiment start --name "Dunlin or the old schedule" --share 90`,
          )
    }`,
  };
}

const experimentTable = (rows: readonly ExperimentRow[], zone: string, now: Date) =>
  table(
    "Experiments",
    [
      {
        head: "Experiment",
        cell: ({ experiment: { id, name } }: ExperimentRow) => html`<a href="/experiments/${id}">${name}</a>`,
      },
      {
        head: "State",
        cell: ({ experiment }) =>
          html`${experimentStatus(experiment, zone, now)}<br><small>since ${timeElement(experiment.startedAt, zone)}</small>`,
      },
      { head: "Dunlin's share", cell: ({ experiment }) => formatShare(experiment.share, 1), numeric: true },
      { head: "Counted", cell: ({ look }) => (look ? formatCount(look.invoices.counted) : "–"), numeric: true },
      {
        head: "Effect in points",
        cell: ({ look }) => look && effectRange(look.comparisons[0]!, look.verdict.outcome === "void"),
      },
      {
        head: "Split",
        cell: ({ look }) =>
          look && (look.troubles.includes("split") ? stateLabel("wrong", "bad") : stateLabel("ok", "")),
      },
      { head: "Verdict", cell: ({ look }) => look && verdictState(look.verdict.outcome) },
    ],
    rows,
  );

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
