import { readFile } from "node:fs/promises";
import { formatMoneyText } from "../domain/currency.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import type { NumberedRule } from "../domain/recovery-rule.ts";
import { type ProposedRule, parseRecoveryRules } from "../merchants/parse-recovery-rules.ts";
import { changeRecoveryRules } from "../merchants/recovery-rules.ts";
import { toRuleJson } from "../merchants/rule-json.ts";
import { describeConditions, describeOutcome } from "../merchants/rules-wording.ts";
import { type RulesTest, type SegmentTotal, testRules } from "../merchants/test-recovery-rules.ts";
import { listRecoveryRules } from "../tables/recovery-rules.ts";
import {
  type Command,
  CommandFailure,
  EXIT_CODES,
  formatTable,
  type OptionValues,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

const MERCHANT_USAGE = "  --merchant M   the merchant; not needed if there is only one";
const FILE_USAGE = '  --file F       JSON: {"rules": […]}, as "rules list --json" prints it';
const OPTIONS = { merchant: { type: "string" }, json: { type: "boolean" } } as const;
const FILE_OPTIONS = { ...OPTIONS, file: { type: "string" } } as const;

export const rulesList: Command = {
  name: "rules list",
  usage: `[--merchant M] [--json]\n${MERCHANT_USAGE}`,
  summary: "Show a merchant's recovery rules in order, with the open cases that each would hold",
  options: OPTIONS,
  positionals: [],
  examples: ["npx dunlin rules list", "npx dunlin rules list --json > rules.json"],
  run: (context, values) =>
    withDatabase(context, async ({ db }) => {
      const merchantId = await resolveMerchant(db, values);
      const rules = await listRecoveryRules(db, merchantId);
      if (values.json) context.print(JSON.stringify({ rules: rules.map(toRuleJson) }, null, 2));
      else if (rules.length === 0) context.print(NO_RULES);
      else for (const line of rulesTable(rules, await testRules(db, merchantId, rules))) context.print(line);
      return EXIT_CODES.ok;
    }),
};

export const rulesSet: Command = {
  name: "rules set",
  usage: `--file F [--merchant M] [--json]\n${FILE_USAGE}\n${MERCHANT_USAGE}`,
  summary: "Replace a merchant's recovery rules by those of a file; open cases follow them",
  options: FILE_OPTIONS,
  positionals: [],
  examples: ["npx dunlin rules set --file rules.json"],
  async run(context, values) {
    const proposed = await readRulesFile(values);
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const rules = (await changeRecoveryRules(db, merchantId, proposed, COMMAND_LINE_ACTOR, ports))!;
      if (values.json) context.print(JSON.stringify({ rules: rules.map(toRuleJson) }, null, 2));
      else
        context.print(
          `Stored ${rules.length === 1 ? "1 rule" : `${rules.length} rules`}. Open cases are decided again.`,
        );
      return EXIT_CODES.ok;
    });
  },
};

export const rulesTest: Command = {
  name: "rules test",
  usage: `--file F [--merchant M] [--json]\n${FILE_USAGE}\n${MERCHANT_USAGE}`,
  summary: "Show what the recovery rules of a file would change in the open cases, and change nothing",
  options: FILE_OPTIONS,
  positionals: [],
  examples: ["npx dunlin rules test --file rules.json"],
  async run(context, values) {
    const proposed = await readRulesFile(values);
    return withDatabase(context, async ({ db }) => {
      const result = await testRules(db, await resolveMerchant(db, values), proposed);
      if (values.json) context.print(JSON.stringify(result));
      else {
        const rules = proposed.map((rule, index) => ({ ...rule, number: index + 1 }));
        for (const line of rulesTable(rules, result)) context.print(line);
        context.print(`Open cases: ${result.openCases}. Plans that would change: ${result.planChanges}.`);
      }
      return EXIT_CODES.ok;
    });
  },
};

const NO_RULES =
  "No recovery rules: the settings hold for every invoice. To store some: npx dunlin rules set --file rules.json";

const rulesTable = (rules: readonly Omit<NumberedRule, "id">[], { rules: totals, others, notes }: RulesTest) => [
  ...formatTable(
    ["NO", "RULE", "FITS", "OUTCOME", "OPEN", "MONEY"],
    [
      ...rules.map((rule, index) => [
        ...[String(rule.number), rule.name, describeConditions(rule.conditions), describeOutcome(rule)],
        ...totalCells(totals[index]!),
      ]),
      ["", "all others", "", "as in the settings", ...totalCells(others)],
    ],
  ),
  ...notes.map((note) => `Note: ${note}.`),
];

const totalCells = ({ openCases, amounts }: SegmentTotal) => [
  String(openCases),
  Object.entries(amounts)
    .map(([currency, amount]) => formatMoneyText(amount, currency))
    .join(", "),
];

async function readRulesFile(values: OptionValues): Promise<ProposedRule[]> {
  const path = textOption(values, "file");
  if (path === undefined) throw new UsageError("--file is missing.");
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`${path} cannot be read: ${error.code ?? error.message}`);
  });
  const value = parseJson(path, text);
  const rules = parseRecoveryRules(Array.isArray(value) ? value : (value as { rules?: unknown } | null)?.rules);
  if (!Array.isArray(rules)) throw new CommandFailure(`${path}: ${rules.field} ${rules.rule}. Nothing was changed.`);
  return rules;
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandFailure(`${path} is not valid JSON. Nothing was changed.`);
  }
}
