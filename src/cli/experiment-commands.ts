import { type Arm, COUNT_MEASURE, type Experiment } from "../domain/experiment.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { formatTenths } from "../engine/shares.ts";
import { type ArmTotals, isArmShown, loadArmTotals } from "../experiments/arm-totals.ts";
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

const MERCHANT_USAGE = "  --merchant M             whose; not needed when there is only one";

/** `dunlin experiment start`: split a merchant's customers. */
export const experimentStart: Command = {
  name: "experiment start",
  usage: `--name N [options]
${MERCHANT_USAGE}
  --share P                percent of the customers that Dunlin looks after (50)
  --calibration-days N     both arms are left to the merchant's own system at first, to see that they are alike (0)
  --primary M              what the verdict rests on: count, or a currency for its money (count)
  --margin P               smallest difference that matters, in points (3)
  --maturity-days N        an invoice counts this long after it failed (the window and 7 days)
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
    const plan = parsePlan(values);
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const experiment = await db.transaction((tx) => startExperiment(tx, merchantId, plan, COMMAND_LINE_ACTOR, ports));
      if (typeof experiment === "string")
        throw new CommandFailure(`${experiment} "npx dunlin merchant set ${merchantId} --shadow no" ends it.`);
      if (!experiment)
        throw new CommandFailure('An experiment is running already. "npx dunlin experiment stop" ends it.');
      if (values.json) context.print(JSON.stringify(withoutSalt(experiment)));
      else for (const line of experimentLines(experiment, ports.now())) context.print(line);
      return EXIT_CODES.ok;
    });
  },
};

/** `dunlin experiment create`: another word for the same. */
export const experimentCreate: Command = { ...experimentStart, name: "experiment create", summary: "Same as start" };

/** `dunlin experiment stop`: no new invoices. */
export const experimentStop: Command = {
  name: "experiment stop",
  usage: `[--merchant M] [--json]`,
  summary: "End the experiment that runs; cases keep their arms to their end, new ones are Dunlin's",
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

/** `dunlin experiment list`: a merchant's experiments, newest first. */
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
      else if (experiments.length === 0) context.print("No experiment was ever started.");
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

/** `dunlin experiment show`: what the results say by now. */
export const experimentShow: Command = {
  name: "experiment show",
  usage: `[options]
${MERCHANT_USAGE}
  --experiment E           which; the newest one
  --days N                 also the last N days
  --json`,
  summary: "Show the verdict of an experiment and what it rests on, as often as you like",
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
      const looks = await listInterimAnalyses<InterimAnalysis>(db, merchantId, experiment.id, days ?? 1);
      const arms = await loadArmTotals(db, merchantId, experiment.id);
      const now = ports.now();
      const print = (lines: readonly string[]) => lines.forEach(context.print);
      if (values.json) {
        const [look = null] = looks;
        context.print(JSON.stringify({ ...withoutSalt(experiment), look, arms, ...(days && { days: looks }) }));
      } else {
        print(experimentLines(experiment, now));
        print(looks[0] ? lookLines(looks[0]) : ["", "Not looked at yet: the service does so within a minute."]);
        print(armLines(arms));
        if (days && looks.length > 0) print(["", ...dayLines(looks)]);
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
  if (!found)
    throw new CommandFailure(id === undefined ? "No experiment was ever started." : `There is no experiment ${id}.`);
  return found;
}

/** The salt would let somebody choose customers by their arm. */
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
  `split        ${formatTenths(experiment.share)} of the customers are Dunlin's`,
  `verdict on   ${experiment.primary === COUNT_MEASURE ? "recovered invoices" : `recovered ${experiment.primary}`}, ${experiment.maturityDays} days after they failed; a difference of ${formatMarginPoints(experiment.margin)} points or more matters`,
];

function lookLines({ at, invoices, comparisons, verdict }: InterimAnalysis): string[] {
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
    `By ${at.toISOString().slice(0, 16)}Z ${invoices.counted} failed invoices are counted and ${invoices.waiting} are too young to count.`,
    ...(rows.length === 0
      ? []
      : ["", ...formatTable(["RECOVERED", "DUNLIN", "CUSTOMERS", "MERCHANT", "CUSTOMERS", "POINTS", "BETWEEN"], rows)]),
  ];
}

const ARM_LABELS: Readonly<Record<Arm, string>> = { dunlin: "Dunlin", merchant: "your own system" };

/** What there is in each arm, in invoices. */
const armLines = (sums: readonly ArmTotals[]) => [
  "",
  ...formatTable(
    ["LEFT TO", "CUSTOMERS", "COUNTED", "RECOVERED", "TOO YOUNG"],
    sums
      .filter(isArmShown)
      .map(({ phase, arm, customers, counted, recovered, young }) => [
        `${ARM_LABELS[arm]}${phase === "calibration" ? " (calibration)" : ""}`,
        ...[customers, counted, recovered, young].map(String),
      ]),
  ),
];

const formatRange = ({ lower, upper }: Pick<Comparison, "lower" | "upper">) =>
  lower > upper ? "moving" : `${formatPoints(lower)} and ${formatPoints(upper)}`;

const dayLines = (looks: readonly InterimAnalysis[]) =>
  formatTable(
    ["DAY", "COUNTED", "POINTS", "BETWEEN", "VERDICT"],
    looks.map(({ at, invoices, comparisons: [primary], verdict }) => [
      formatDay(at),
      String(invoices.counted),
      primary!.difference === null ? "" : formatPoints(primary!.difference),
      primary!.difference === null ? "" : formatRange(primary!),
      verdict.outcome,
    ]),
  );
