import { type Arm, COUNT_MEASURE, type Experiment } from "../domain/experiment.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { formatTenths } from "../engine/shares.ts";
import { type ArmTotals, isArmShown, loadArmTotals } from "../experiments/arm-totals.ts";
import { forecastExperiment } from "../experiments/experiment-forecast.ts";
import { type ExperimentProgress, measureProgress, type ProgressState } from "../experiments/experiment-progress.ts";
import { type ExperimentPlan, startExperiment, stopRunningExperiment } from "../experiments/experiments.ts";
import type { Comparison, InterimAnalysis } from "../experiments/statistics/interim-analysis.ts";
import { formatMarginPoints, formatSharePoints } from "../experiments/statistics/percentage-points.ts";
import type { Tx } from "../postgres/database.ts";
import { listInterimAnalyses } from "../tables/experiment-results.ts";
import { listExperiments } from "../tables/experiments.ts";
import {
  type Command,
  CommandFailure,
  EXIT_CODES,
  formatTable,
  integerOption,
  type OptionValues,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

const NO_EXPERIMENTS_MESSAGE = "No experiments yet. To start one: npx dunlin experiment start --name NAME";
const MERCHANT_USAGE = "  --merchant M             the merchant; not needed if there is only one";

export const experimentStart: Command = {
  name: "experiment start",
  usage: `--name N [options]
${MERCHANT_USAGE}
  --share P                percentage of customers in Dunlin's arm (50)
  --calibration-days N     days at the start when the merchant's own system handles both arms, to check that they are alike (0)
  --primary M              measure for the verdict: count, or a currency for recovered money (count)
  --margin P               smallest difference that matters, in percentage points (3)
  --maturity-days N        an invoice is counted this many days after it failed (the window plus 7)
  --json`,
  summary: "Split the customers between Dunlin and the merchant's own system",
  options: {
    merchant: { type: "string" },
    name: { type: "string" },
    share: { type: "string" },
    "calibration-days": { type: "string" },
    primary: { type: "string" },
    margin: { type: "string" },
    "maturity-days": { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: [
    'npx dunlin experiment start --name "Dunlin or the old schedule" --calibration-days 14',
    "npx dunlin experiment start --name holdout --share 90 --primary EUR",
  ],
  async run(context, values) {
    const proposed = parsePlan(values);
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const experiment = await db.transaction((tx) =>
        startExperiment(tx, merchantId, proposed, COMMAND_LINE_ACTOR, ports),
      );
      if (typeof experiment === "string")
        throw new CommandFailure(`${experiment} To end it: npx dunlin merchant set ${merchantId} --shadow no`);
      if (!experiment)
        throw new CommandFailure("An experiment is already running. To stop it: npx dunlin experiment stop");
      const { plan, perDay } = await loadPlan(db, merchantId, experiment, null);
      if (values.json) context.print(JSON.stringify({ ...withoutSalt(experiment), plan }));
      else
        for (const line of [...experimentLines(experiment, ports.now()), planLine(experiment, plan), rateLine(perDay)])
          context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

export const experimentCreate: Command = { ...experimentStart, name: "experiment create", summary: "Same as start" };

export const experimentStop: Command = {
  name: "experiment stop",
  usage: `[--merchant M] [--json]`,
  summary: "Stop the running experiment; open cases keep their arm, and Dunlin handles all new ones",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin experiment stop"],
  async run(context, values) {
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const stopped = await db.transaction((tx) => stopRunningExperiment(tx, merchantId, COMMAND_LINE_ACTOR, ports));
      if (!stopped) throw new CommandFailure("No experiment is running.");
      if (values.json) context.print(JSON.stringify(withoutSalt(stopped)));
      else for (const line of experimentLines(stopped, ports.now())) context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

export const experimentList: Command = {
  name: "experiment list",
  usage: "[--merchant M] [--json]",
  summary: "Show a merchant's experiments",
  options: { merchant: { type: "string" }, json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin experiment list"],
  async run(context, values) {
    return withDatabase(context, async ({ db, ports }) => {
      const experiments = await listExperiments(db, await resolveMerchant(db, values));
      if (values.json) context.print(JSON.stringify(experiments.map(withoutSalt)));
      else if (experiments.length === 0) context.print(NO_EXPERIMENTS_MESSAGE);
      else
        for (const line of formatTable(
          ["EXPERIMENT", "NAME", "STARTED", "STATE"],
          experiments.map((each) => [each.id, each.name, formatDay(each.startedAt), describeState(each, ports.now())]),
        ))
          context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

export const experimentShow: Command = {
  name: "experiment show",
  usage: `[options]
${MERCHANT_USAGE}
  --experiment E           id of the experiment (the newest one)
  --days N                 also show the results of the last N days
  --json`,
  summary: "Show the results and the verdict of an experiment, as often as you like",
  options: {
    merchant: { type: "string" },
    experiment: { type: "string" },
    days: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  examples: ["npx dunlin experiment show", "npx dunlin experiment show --days 30"],
  async run(context, values) {
    const days = integerOption(values, "days", 1, 10_000);
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const experiment = await findExperiment(db, merchantId, textOption(values, "experiment"));
      const analyses = await listInterimAnalyses<InterimAnalysis>(db, merchantId, experiment.id, days ?? 1);
      const arms = await loadArmTotals(db, merchantId, experiment.id);
      const now = ports.now();
      const [look = null] = analyses;
      const { plan } = await loadPlan(db, merchantId, experiment, look);
      const print = (lines: readonly string[]) => lines.forEach(context.print);
      if (values.json)
        context.print(
          JSON.stringify({ ...withoutSalt(experiment), plan, look, arms, ...(days && { days: analyses }) }),
        );
      else {
        print([...experimentLines(experiment, now), planLine(experiment, plan, look)]);
        print(look ? analysisLines(look) : ["", "No results yet. The service computes them within a minute."]);
        print(armLines(arms));
        if (days && analyses.length > 0) print(["", ...dayLines(analyses)]);
      }
      return EXIT_CODES.ok;
    });
  },
};

function parsePlan(values: OptionValues): ExperimentPlan {
  const name = textOption(values, "name")?.trim();
  if (!name) throw new UsageError("--name is missing.");
  const primary = textOption(values, "primary");
  if (primary !== undefined && primary !== COUNT_MEASURE && !/^[A-Z]{3}$/.test(primary))
    throw new UsageError(`--primary takes count or a currency such as EUR, not "${primary}".`);
  const share = integerOption(values, "share", 1, 99);
  return {
    name,
    share: share === undefined ? undefined : share / 100,
    calibrationDays: integerOption(values, "calibration-days", 0, 365),
    primary,
    margin: parseMargin(textOption(values, "margin")),
    maturityDays: integerOption(values, "maturity-days", 1, 365),
  };
}

function parseMargin(points: string | undefined): number | undefined {
  if (points === undefined) return undefined;
  const margin = Number(points) / 100;
  if (!/^\d+(\.\d+)?$/.test(points) || margin < 0.001 || margin > 0.5)
    throw new UsageError(`--margin takes points from 0.1 to 50, not "${points}".`);
  return margin;
}

async function findExperiment(tx: Tx, merchantId: string, id: string | undefined): Promise<Experiment> {
  const experiments = await listExperiments(tx, merchantId);
  const found = id === undefined ? experiments[0] : experiments.find((each) => each.id === id);
  if (!found) throw new CommandFailure(id === undefined ? NO_EXPERIMENTS_MESSAGE : `There is no experiment ${id}.`);
  return found;
}

async function loadPlan(tx: Tx, merchantId: string, experiment: Experiment, look: InterimAnalysis | null) {
  const forecast = await forecastExperiment(tx, merchantId, experiment, experiment.startedAt);
  return { plan: measureProgress(experiment, look, forecast), perDay: forecast.perDay };
}

function planLine({ primary }: Experiment, plan: ExperimentProgress, look: InterimAnalysis | null = null): string {
  if (look?.verdict.outcome === "void") return "plan         none: the arms are not alike, so waiting does not help";
  const { counted, needed, isUpperBound, state, reachedAt } = plan;
  if (needed === null) return `plan         unknown until the first results: it depends on your amounts in ${primary}`;
  const end = state === "expected" ? `enough by about ${formatDay(reachedAt!)}` : PLAN_ENDS[state];
  return `plan         ${counted} of ${isUpperBound ? "at most " : ""}${needed} failed invoices counted, ${end}`;
}

const PLAN_ENDS: Readonly<Record<Exclude<ProgressState, "expected">, string>> = {
  unplanned: "unknown until the first results",
  no_failures: "no date: no invoice has failed lately",
  reached: "which is enough",
  maturing: "enough when the last ones are old enough",
  not_reached: "not reached: no more invoices come in",
};

const rateLine = (perDay: number) =>
  `rate         ${perDay === 0 ? "no invoice has failed in the last 28 days" : `${Number(perDay.toPrecision(2))} failed invoices a day, as in the last 28 days`}`;

/** With the salt, a person could choose customers by their arm. */
const withoutSalt = ({ salt: _, ...experiment }: Experiment) => experiment;

const formatDay = (at: Date) => at.toISOString().slice(0, 10);
const formatPoints = (share: number) => `${share < 0 ? "-" : "+"}${formatSharePoints(share)}`;

function describeState({ comparedFrom, stoppedAt }: Experiment, now: Date): string {
  if (stoppedAt) return `stopped ${formatDay(stoppedAt)}`;
  return now < comparedFrom ? `calibrating until ${formatDay(comparedFrom)}` : "running";
}

const experimentLines = (experiment: Experiment, now: Date): string[] => [
  `experiment   ${experiment.id}`,
  `name         ${experiment.name}`,
  `state        ${describeState(experiment, now)}, started ${formatDay(experiment.startedAt)}`,
  `split        ${formatTenths(experiment.share)} of customers are in Dunlin's arm`,
  `verdict on   ${experiment.primary === COUNT_MEASURE ? "recovered invoices" : `recovered ${experiment.primary}`}, ${experiment.maturityDays} days after they failed; a difference of ${formatMarginPoints(experiment.margin)} points or more matters`,
];

function analysisLines({ at, invoices, comparisons, verdict }: InterimAnalysis): string[] {
  const rows = comparisons
    .filter(({ dunlin, merchant }) => dunlin && merchant)
    .map(({ measure, dunlin, merchant, difference, lower, upper }) => [
      measure === COUNT_MEASURE ? "invoices" : measure,
      formatTenths(dunlin!.share),
      String(dunlin!.customers),
      formatTenths(merchant!.share),
      String(merchant!.customers),
      formatPoints(difference!),
      formatRange({ lower, upper }),
    ]);
  return [
    "",
    verdict.words,
    "",
    `At ${at.toISOString().slice(0, 16)}Z, ${invoices.counted} failed invoices were counted and ${invoices.waiting} were too young to count.`,
    ...(rows.length === 0
      ? []
      : ["", ...formatTable(["RECOVERED", "DUNLIN", "CUSTOMERS", "MERCHANT", "CUSTOMERS", "POINTS", "RANGE"], rows)]),
  ];
}

const ARM_LABELS: Readonly<Record<Arm, string>> = { dunlin: "Dunlin", merchant: "your own system" };

const armLines = (arms: readonly ArmTotals[]) => [
  "",
  ...formatTable(
    ["ARM", "CUSTOMERS", "COUNTED", "RECOVERED", "TOO YOUNG"],
    arms
      .filter(isArmShown)
      .map(({ phase, arm, customers, counted, recovered, young }) => [
        `${ARM_LABELS[arm]}${phase === "calibration" ? " (calibration)" : ""}`,
        ...[customers, counted, recovered, young].map(String),
      ]),
  ),
];

const formatRange = ({ lower, upper }: Pick<Comparison, "lower" | "upper">) =>
  lower > upper ? "moving" : `${formatPoints(lower)} to ${formatPoints(upper)}`;

const dayLines = (analyses: readonly InterimAnalysis[]) =>
  formatTable(
    ["DAY", "COUNTED", "POINTS", "RANGE", "VERDICT"],
    analyses.map(({ at, invoices, comparisons: [primary], verdict }) => [
      formatDay(at),
      String(invoices.counted),
      primary!.difference === null ? "" : formatPoints(primary!.difference),
      primary!.difference === null ? "" : formatRange(primary!),
      verdict.outcome,
    ]),
  );
