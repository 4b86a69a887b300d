import { formatMoneyText } from "../domain/currency.ts";
import { computeShadowFigures, type ShadowFigures } from "../shadow/shadow-figures.ts";
import {
  COMPARISON_CAVEAT,
  describeCounts,
  describePlans,
  describeRetries,
  formatApproved,
  formatShare,
  listStancesWithRetries,
  NO_RETRY,
  STANCE_WORDING,
} from "../shadow/shadow-wording.ts";
import { findMerchant } from "../tables/merchants.ts";
import { type Command, EXIT_CODES, formatTable, timeOption, withDatabase } from "./command.ts";
import { resolveMerchant } from "./resolve-merchant.ts";

export const shadow: Command = {
  name: "shadow",
  usage: `[options]
  --merchant M   the merchant; not needed if there is only one
  --from D       only invoices that became unpaid from this time on
  --json         print the figures as JSON, money in minor units`,
  summary: "Compare Dunlin's decisions in shadow mode with the merchant's own retries",
  options: { merchant: { type: "string" }, from: { type: "string" }, json: { type: "boolean" } },
  positionals: [],
  examples: ["npx dunlin shadow", "npx dunlin shadow --from 2026-11-01"],
  async run(context, values) {
    const from = timeOption(values, "from") ?? new Date(0);
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await resolveMerchant(db, values);
      const merchant = (await findMerchant(db, merchantId))!;
      const figures = await computeShadowFigures(db, merchantId, from, ports.now());
      if (values.json)
        context.print(
          JSON.stringify({ shadow: merchant.shadow, ...figures, money: Object.fromEntries(figures.money) }),
        );
      else {
        context.print(
          `Shadow mode of ${merchant.name} is ${merchant.shadow ? "on." : `off. To turn it on: npx dunlin merchant set ${merchantId} --shadow yes`}`,
        );
        for (const line of shadowLines(figures)) context.print(line);
      }
      return EXIT_CODES.ok;
    });
  },
};

function shadowLines(figures: ShadowFigures): string[] {
  const { since, counted, paid, money, stances } = figures;
  if (since === null) return describeCounts(figures, formatDay);
  const stancesWithRetries = listStancesWithRetries(figures);
  const retries = stancesWithRetries.reduce((sum, stance) => sum + stances[stance].tries, 0);
  return [
    "",
    ...describeCounts(figures, formatDay),
    ...(counted === 0
      ? []
      : [`Without Dunlin, ${paid} of ${counted} counted invoices${formatShare(paid / counted, counted)} were paid:`]),
    ...[...money].map(
      ([currency, { cases, due, paid }]) =>
        `  ${formatMoneyText(paid, currency)} of ${formatMoneyText(due, currency)}${formatShare(paid / due, cases)}`,
    ),
    ...describePlans(figures),
    "",
    ...(retries === 0
      ? [NO_RETRY]
      : [
          `The merchant's ${retries} ${retries === 1 ? "retry" : "retries"}, by what Dunlin would have done at that time:`,
          "",
          ...formatTable(
            ["DUNLIN WOULD", "RETRIES", "APPROVED"],
            stancesWithRetries.map((stance) => [
              STANCE_WORDING[stance],
              String(stances[stance].tries),
              formatApproved(stances[stance]),
            ]),
          ),
          "",
          ...describeRetries(figures),
        ]),
    "",
    `${COMPARISON_CAVEAT}: see docs/guides/experiments.md.`,
  ];
}

const formatDay = (at: Date) => at.toISOString().slice(0, 10);
