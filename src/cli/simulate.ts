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

/** `dunlin simulate`: policies compared on a year of a world made of code. */
export const simulate: Command = {
  name: "simulate",
  usage: `[--world NAME|FILE] [--customers 2000] [--seed 1] [--policies LIST] [--options JSON] [--report FILE] [--json]
  --world W       ${Object.keys(WORLDS).join(", ")}, or a module that exports \`world\` (balances);
                  or crude:LAW, a world of one simple law; LAW is ${LAW_NAMES.join(", ")}
  --policies P,…  ${POLICY_NAMES.join(",")} (all but told);
                  ${REQUIRED_POLICY_NAMES.join(", ")} come along, since what is closed is made of them
  --options JSON  handed to the module's \`world\`
  --report FILE   writes a page with plots: recovered money, tries, regret over the year's failed payments, calibration`,
  summary: "Compare ways of trying again on a simulated year, with the best possible one beside them",
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
  computes: true,
  examples: [
    "npx dunlin simulate --world issuers --report issuers.html",
    "npx dunlin simulate --world ./my-world.ts --customers 20000 --seed 7 --json",
  ],
  async run(context, values) {
    const customers = integerOption(values, "customers", 1, 10_000_000) ?? 2000;
    const seed = integerOption(values, "seed", 0, 2 ** 31) ?? 1;
    const names = textOption(values, "policies")?.split(",") ?? DEFAULT_POLICY_NAMES;
    const stranger = names.find((name) => !POLICY_NAMES.includes(name));
    if (stranger !== undefined) throw new UsageError(`--policies knows ${POLICY_NAMES.join(", ")}, not "${stranger}".`);
    const named = textOption(values, "world") ?? "balances";
    const world = await openWorld(named, parseOptions(textOption(values, "options"))).catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      const isMissing = code === "ERR_MODULE_NOT_FOUND" && !existsSync(named);
      if (isMissing && /[/\\.]/.test(named)) throw new CommandFailure(`There is no module ${resolve(named)}.`);
      throw new CommandFailure(
        isMissing || code === "ERR_UNSUPPORTED_DIR_IMPORT"
          ? `There is no world "${named}": it is one of ${Object.keys(WORLDS).join(", ")}, crude:LAW with a LAW of ${LAW_NAMES.join(", ")}, or the path of a module.`
          : `The world could not be opened: ${describeModuleError(error, pathToFileURL(resolve(named)).href)}`,
      );
    });
    const report = textOption(values, "report");
    if (report !== undefined) await ensureWritable(report);
    const pictures = new Map<string, ChartData>();
    const onlooker: ComparisonListener = {
      begins: createProgress(context),
      ...(report !== undefined && { ended: (name, trial) => void pictures.set(name, buildChartData(trial)) }),
    };
    const comparison = runComparison(() =>
      comparePolicies(world, seed, customers, readPretrainedModel(), names, onlooker),
    );
    if (comparison.cases === 0)
      throw new CommandFailure(
        "No first charge was declined in this world, so there is nothing to compare: 10 to 15 % should be.",
      );
    if (report !== undefined) await writeReport(report, renderReport(comparison, pictures));
    if (values.json === true) context.print(JSON.stringify(comparison));
    else {
      for (const line of comparisonLines(comparison)) context.print(line);
      if (report !== undefined) context.print(`\nReport: ${report}`);
    }
    return EXIT_CODES.ok;
  },
};

/** What is wrong, and where in the module; without where in Node it was found. */
function describeModuleError(error: unknown, module: string): string {
  if (!(error instanceof Error)) return String(error);
  const [said = "", ...places] = error.stack?.split("\n    at ") ?? [];
  if (error instanceof SyntaxError) return said;
  const place = places.find((each) => each.includes(module));
  return place === undefined ? error.message : `${error.message}, at ${place}`;
}

/** Says beside the output which policy is at work: a year of 20,000 customers takes minutes. */
const createProgress =
  ({ aside }: CommandContext) =>
  (name: string, number: number, of: number) =>
    aside.isTerminal && aside.print(`${name}, ${number} of ${of} …`);

/** A world that does not keep to its interface is its author's to mend: a stack of ours would not help. */
function runComparison(make: () => Comparison): Comparison {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof WorldFault)) throw error;
    throw new CommandFailure(`The world does not keep to its interface: ${error.message}.`);
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
