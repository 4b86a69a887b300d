import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { buildChartData, type ChartData } from "../../lab/trial/chart-data.ts";
import { WorldFault } from "../../lab/trial/checked-world.ts";
import {
  type Comparison,
  type ComparisonListener,
  comparePolicies,
  DEFAULT_POLICY_NAMES,
  POLICY_NAMES,
  REQUIRED_POLICY_NAMES,
} from "../../lab/trial/compare-policies.ts";
import { renderReport } from "../../lab/trial/comparison-report.ts";
import { buildRows, COLUMNS, describeClosedGap, describeWorld, LEGEND } from "../../lab/trial/comparison-wording.ts";
import { openWorld, readPretrainedModel, WORLDS } from "../../lab/trial/open-world.ts";
import { LAW_NAMES } from "../../lab/worlds/simple-law-world.ts";
import {
  type Command,
  type CommandContext,
  CommandFailure,
  EXIT_CODES,
  formatTable,
  integerOption,
  textOption,
  UsageError,
} from "./command.ts";
import { ensureWritable, writeReport } from "./report-file.ts";

export const simulate: Command = {
  name: "simulate",
  usage: `[--world NAME|FILE] [--customers 2000] [--seed 1] [--policies LIST] [--options JSON] [--report FILE] [--json]
  --world W       ${Object.keys(WORLDS).join(", ")}, or a module that exports \`world\` (balances);
                  or crude:LAW, a world with one simple law; LAW is ${LAW_NAMES.join(", ")}
  --policies P,…  ${POLICY_NAMES.join(",")} (all except told);
                  ${REQUIRED_POLICY_NAMES.join(", ")} are always included, because the closed gap is computed from them
  --options JSON  passed to the \`world\` function
  --report FILE   write an HTML page with charts: recovered money, attempts, regret over the year's failed payments, calibration`,
  summary: "Compare retry strategies on a simulated year, next to the best possible one",
  options: {
    world: { type: "string" },
    customers: { type: "string" },
    seed: { type: "string" },
    policies: { type: "string" },
    options: { type: "string" },
    report: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  blocksEventLoop: true,
  examples: [
    "npx dunlin simulate --world issuers --report issuers.html",
    "npx dunlin simulate --world ./my-world.ts --customers 20000 --seed 7 --json",
  ],
  async run(context, values) {
    const customers = integerOption(values, "customers", 1, 10_000_000) ?? 2000;
    const seed = integerOption(values, "seed", 0, 2 ** 31) ?? 1;
    const names = textOption(values, "policies")?.split(",") ?? DEFAULT_POLICY_NAMES;
    const unknown = names.find((name) => !POLICY_NAMES.includes(name));
    if (unknown !== undefined)
      throw new UsageError(`Unknown policy "${unknown}". Available: ${POLICY_NAMES.join(", ")}`);
    const worldName = textOption(values, "world") ?? "balances";
    const world = await openWorld(worldName, parseOptions(textOption(values, "options"))).catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      const isMissing = code === "ERR_MODULE_NOT_FOUND" && !existsSync(worldName);
      if (isMissing && /[/\\.]/.test(worldName)) throw new CommandFailure(`There is no module ${resolve(worldName)}.`);
      throw new CommandFailure(
        isMissing || code === "ERR_UNSUPPORTED_DIR_IMPORT"
          ? `There is no world "${worldName}". Use ${Object.keys(WORLDS).join(", ")}, crude:LAW with one of the laws ${LAW_NAMES.join(", ")}, or the path of a module.`
          : `The world could not be opened: ${describeModuleError(error, pathToFileURL(resolve(worldName)).href)}`,
      );
    });
    const report = textOption(values, "report");
    if (report !== undefined) await ensureWritable(report);
    const chartDataByPolicy = new Map<string, ChartData>();
    const listener: ComparisonListener = {
      begins: createProgress(context),
      ...(report !== undefined && { ended: (name, trial) => void chartDataByPolicy.set(name, buildChartData(trial)) }),
    };
    const comparison = runComparison(() =>
      comparePolicies(world, seed, customers, readPretrainedModel(), names, listener),
    );
    if (comparison.cases === 0)
      throw new CommandFailure(
        "No first charge was declined in this world, so there is nothing to compare. A realistic world declines 10% to 15% of them.",
      );
    if (report !== undefined) await writeReport(report, renderReport(comparison, chartDataByPolicy));
    if (values.json === true) context.print(JSON.stringify(comparison));
    else {
      for (const line of comparisonLines(comparison)) context.print(line);
      if (report !== undefined) context.print(`\nReport: ${report}`);
    }
    return EXIT_CODES.ok;
  },
};

/** Keeps the place in the module, without Node's stack frames. */
function describeModuleError(error: unknown, module: string): string {
  if (!(error instanceof Error)) return String(error);
  const [message = "", ...frames] = error.stack?.split("\n    at ") ?? [];
  if (error instanceof SyntaxError) return message;
  const place = frames.find((each) => each.includes(module));
  return place === undefined ? error.message : `${error.message}, at ${place}`;
}

/** A year of 20,000 customers takes minutes. */
const createProgress =
  ({ stderr }: CommandContext) =>
  (name: string, number: number, of: number) =>
    stderr.isTerminal && stderr.print(`${name}, ${number} of ${of} …`);

/** Without the stack: only the world's author can fix the fault. */
function runComparison(compare: () => Comparison): Comparison {
  try {
    return compare();
  } catch (error) {
    if (!(error instanceof WorldFault)) throw error;
    throw new CommandFailure(`The world violates its interface: ${error.message}.`);
  }
}

function parseOptions(json: string | undefined): Record<string, unknown> | undefined {
  if (json === undefined) return undefined;
  try {
    const options: unknown = JSON.parse(json);
    if (typeof options === "object" && options !== null && !Array.isArray(options)) return { ...options };
  } catch {}
  throw new UsageError(`--options takes JSON such as {"gone":0.6}, not "${json}".`);
}

function comparisonLines(comparison: Comparison): string[] {
  return [
    describeWorld(comparison),
    "",
    ...formatTable(COLUMNS, buildRows(comparison)),
    "",
    ...LEGEND.map((line) => `  ${line}`),
    "",
    ...describeClosedGap(comparison),
  ];
}
