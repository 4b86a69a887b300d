import { COUNT, type Experiment } from "../../domain/experiment.ts";
import type { Look } from "../../experiments/look.ts";
import type { Tx } from "../../store/database.ts";
import { looksOf } from "../../store/experiment-results.ts";
import { listExperiments } from "../../store/experiments.ts";
import { findMerchant } from "../../store/merchants.ts";
import type { Console } from "../console.ts";
import type { Page } from "../frame.ts";
import { html } from "../html.ts";
import { readQuery } from "../query.ts";
import { sendCsv } from "../show/csv.ts";
import { notice } from "../show/fields.ts";
import { moment } from "../show/moments.ts";
import { count, share } from "../show/money.ts";
import { empty, table } from "../show/table.ts";
import { state } from "../show/words.ts";
import type { Visit } from "../visit.ts";
import { effect, standing, verdictState } from "./effect.ts";

interface Row {
  experiment: Experiment;
  look: Look | null;
}

/** All experiments, and what each says by now. */
export function experimentListRoutes(console: Console) {
  console.page("/experiments", null, (visit) => listPage(console, visit));
  console.page("/experiments.csv", null, async ({ db, query, merchantId, reply }) => {
    readQuery(query, {});
    const rows = await rowsOf(db, merchantId);
    return sendCsv(reply, "experiments.csv", HEADINGS, [rows.map(cells)]);
  });
}

/** The newest first, each with its latest look. A merchant has a few in its life. */
const rowsOf = async (tx: Tx, merchantId: string): Promise<Row[]> =>
  Promise.all(
    (await listExperiments(tx, merchantId)).map(async (experiment) => {
      const [look = null] = await looksOf<Look>(tx, merchantId, experiment.id, 1);
      return { experiment, look };
    }),
  );

async function listPage({ ports }: Console, visit: Visit): Promise<Page> {
  readQuery(visit.query, {});
  const [rows, merchant] = await Promise.all([
    rowsOf(visit.db, visit.merchantId),
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
    body: html`${isShadow && notice("warn", "Shadow mode is on, so there is nothing to compare: an experiment can start once it is off.")}${
      first
        ? html`<p class="lead">${first.experiment.name} ${first.look && verdictState(first.look.verdict.outcome)}</p>
<p class="text">${first.look?.verdict.words ?? "Not looked at yet: that happens within a minute of its start, and then once a day."}</p>
${experimentTable(rows, visit.person.zone, ports.now())}`
        : empty(
            html`No experiment was ever started. An experiment leaves some customers to your own system, and so measures what Dunlin adds.${visit.may("experiments") ? "" : " An owner or admin starts one here."}`,
            `npx dunlin experiment start --name "Dunlin or the old schedule" --share 90`,
          )
    }`,
  };
}

const experimentTable = (rows: readonly Row[], zone: string, now: Date) =>
  table(
    "Experiments",
    [
      {
        head: "Experiment",
        cell: ({ experiment: { id, name } }: Row) => html`<a href="/experiments/${id}">${name}</a>`,
      },
      {
        head: "State",
        cell: ({ experiment }) =>
          html`${standing(experiment, zone, now)}<br><small>since ${moment(experiment.startedAt, zone)}</small>`,
      },
      { head: "Share", cell: ({ experiment }) => share(experiment.share, 1), numeric: true },
      { head: "Counted", cell: ({ look }) => (look ? count(look.invoices.counted) : "–"), numeric: true },
      {
        head: "Effect in points",
        cell: ({ look }) => look && effect(look.comparisons[0]!, look.verdict.outcome === "void"),
      },
      {
        head: "Split",
        cell: ({ look }) => look && (look.troubles.includes("split") ? state("off", "bad") : state("as drawn", "")),
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

function cells({ experiment, look }: Row) {
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
    primary === COUNT ? "invoices" : primary,
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
