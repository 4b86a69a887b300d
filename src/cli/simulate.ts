import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { WorldFault } from "../../simulator/trial/checked-world.ts";
import { type Comparison, compare, NEEDED, POLICY_NAMES, USUAL_NAMES } from "../../simulator/trial/compare.ts";
import { openWorld, shippedPrior, WORLDS } from "../../simulator/trial/worlds.ts";
import { LAW_NAMES } from "../../simulator/worlds/crude.ts";
import { type Command, type Context, EXIT, Failure, table, text, UsageError, wholeNumber } from "./command.ts";

/** `dunlin simulate`: policies compared on a year of a world made of code. */
export const simulate: Command = {
  name: "simulate",
  usage: `[--world NAME|FILE] [--customers 2000] [--seed 1] [--policies LIST] [--options JSON] [--json]
  --world W       ${Object.keys(WORLDS).join(", ")}, or a module that exports \`world\` (balances);
                  or crude:LAW, a world of one simple law; LAW is ${LAW_NAMES.join(", ")}
  --policies P,…  ${POLICY_NAMES.join(",")} (all but told);
                  ${NEEDED.join(", ")} come along, since what is closed is made of them
  --options JSON  handed to the module's \`world\``,
  summary: "Compare ways of trying again on a simulated year, with the best possible one beside them",
  options: {
    world: { type: "string" },
    customers: { type: "string" },
    seed: { type: "string" },
    policies: { type: "string" },
    options: { type: "string" },
    json: { type: "boolean" },
  },
  positionals: [],
  computes: true,
  examples: [
    "npx dunlin simulate --world issuers",
    "npx dunlin simulate --world ./my-world.ts --customers 20000 --seed 7 --json",
  ],
  async run(context, values) {
    const customers = wholeNumber(values, "customers", 1, 10_000_000) ?? 2000;
    const seed = wholeNumber(values, "seed", 0, 2 ** 31) ?? 1;
    const names = text(values, "policies")?.split(",") ?? USUAL_NAMES;
    const stranger = names.find((name) => !POLICY_NAMES.includes(name));
    if (stranger !== undefined) throw new UsageError(`--policies knows ${POLICY_NAMES.join(", ")}, not "${stranger}".`);
    const named = text(values, "world") ?? "balances";
    const world = await openWorld(named, optionsOf(text(values, "options"))).catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      throw new Failure(
        code === "ERR_UNSUPPORTED_DIR_IMPORT" || (code === "ERR_MODULE_NOT_FOUND" && !existsSync(named))
          ? `There is no world "${named}": it is one of ${Object.keys(WORLDS).join(", ")}, crude:LAW with a LAW of ${LAW_NAMES.join(", ")}, or the path of a module.`
          : `The world could not be opened: ${withPlace(error, pathToFileURL(resolve(named)).href)}`,
      );
    });
    const comparison = compared(() => compare(world, seed, customers, shippedPrior(), names, progressOf(context)));
    if (comparison.cases === 0)
      throw new Failure(
        "No first charge was declined in this world, so there is nothing to compare: 10 to 15 % should be.",
      );
    if (values.json === true) context.print(JSON.stringify(comparison));
    else for (const line of comparisonLines(comparison)) context.print(line);
    return EXIT.ok;
  },
};

/** What is wrong, and where in the module; without where in Node it was found. */
function withPlace(error: unknown, module: string): string {
  if (!(error instanceof Error)) return String(error);
  const [said = "", ...places] = error.stack?.split("\n    at ") ?? [];
  if (error instanceof SyntaxError) return said;
  const place = places.find((each) => each.includes(module));
  return place === undefined ? error.message : `${error.message}, at ${place}`;
}

/** Says beside the output which policy is at work: a year of 20,000 customers takes minutes. */
const progressOf =
  ({ aside }: Context) =>
  (name: string, number: number, of: number) =>
    aside.isTerminal && aside.print(`${name}, ${number} of ${of} …`);

/** A world that does not keep to its interface is its author's to mend: a stack of ours would not help. */
function compared(make: () => Comparison): Comparison {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof WorldFault)) throw error;
    throw new Failure(`The world does not keep to its interface: ${error.message}.`);
  }
}

function optionsOf(json: string | undefined): Record<string, unknown> | undefined {
  if (json === undefined) return undefined;
  try {
    const options: unknown = JSON.parse(json);
    if (typeof options === "object" && options !== null && !Array.isArray(options)) return { ...options };
  } catch {}
  throw new UsageError(`--options takes JSON such as {"gone":0.6}, not "${json}".`);
}

/** Of fewer failed payments than these what is closed says little. */
const CASES_MIN = 5000;

/** What the rows and columns are. */
const LEGEND = [
  "warm is Dunlin with the prior that it ships, cold Dunlin that begins knowing nothing.",
  "even is six tries spread evenly over the window, fixed days 1, 3, 5 and 7.",
  "ladder is days 1, 3, 8, 10 and 12, expert rules by code and pay day, hours what was counted by code and hour of the day.",
  "oracle knows the true chance of every moment, but not the luck to come.",
  "recovered and value are shares of the money that failed; value is less what waiting and tries cost.",
  "tries are those for each failed payment, per recovery those for each that was recovered.",
  "calibration error is how far chances that were said are from what came, in the mean; 0 is none.",
];

function comparisonLines({ world, seed, customers, cases, policies, gapClosed }: Comparison): string[] {
  const percent = (share: number) => `${(share * 100).toFixed(1)}%`;
  const rows = Object.entries(policies).map(([name, figures]) => [
    name,
    percent(figures.recovered),
    percent(figures.value),
    figures.attempts.toFixed(2),
    figures.attemptsPerRecovery?.toFixed(2) ?? "",
    String(figures.brokenRules),
    figures.ece === null ? "" : figures.ece.toFixed(3),
  ]);
  const gap = (from: string, share: number, words: string) => {
    const behind = policies[from]!.value - policies.warm!.value;
    if (policies.oracle!.value <= policies[from]!.value) return [];
    return behind > 0
      ? [`is ${percent(behind)} of the money behind ${words}`]
      : [`closes ${percent(share)} of the gap from ${words} to the oracle`];
  };
  const closed = [
    ...gap("even", gapClosed.fromEven, "six even tries"),
    ...gap("fixed", gapClosed.fromFixed, "days 1, 3, 5, 7"),
  ];
  return [
    `World "${world}", seed ${seed}: ${customers} customers, ${cases} failed payments.`,
    "",
    ...table(["policy", "recovered", "value", "tries", "per recovery", "rules broken", "calibration error"], rows),
    "",
    ...LEGEND.map((line) => `  ${line}`),
    "",
    closed.length > 0
      ? `Dunlin, warm, ${closed.join(", and ")}.`
      : "The oracle is no better than a static policy here, so there is no gap to close.",
    ...(closed.length > 0 && cases < CASES_MIN
      ? [
          `With fewer than ${CASES_MIN} failed payments one seed differs from another by some 20 points: take more --customers, or several seeds.`,
        ]
      : []),
  ];
}
