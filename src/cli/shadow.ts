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

/** `dunlin shadow`: what Dunlin would have done beside what the merchant's own system did. */
export const shadow: Command = {
  name: "shadow",
  usage: `[options]
  --merchant M   whose; not needed when there is only one
  --from D       only invoices that became unpaid since then
  --json         the numbers; money in minor units`,
  summary: "Compare what Dunlin would have done, in shadow mode, with what the merchant's own system did",
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
          `Shadow mode of ${merchant.name} is ${merchant.shadow ? "on" : `off. "npx dunlin merchant set ${merchantId} --shadow yes" begins it`}.`,
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
  const met = listStancesWithRetries(figures);
  const tries = met.reduce((sum, stance) => sum + stances[stance].tries, 0);
  return [
    "",
    ...describeCounts(figures, formatDay),
    ...(counted === 0
      ? []
      : [`Without Dunlin ${paid} of ${counted}${formatShare(paid / counted, counted)} of those that count were paid:`]),
    ...[...money].map(
      ([currency, { cases, due, paid }]) =>
        `  ${formatMoneyText(paid, currency)} of ${formatMoneyText(due, currency)}${formatShare(paid / due, cases)}`,
    ),
    ...describePlans(figures),
    "",
    ...(tries === 0
      ? [NO_RETRY]
      : [
          `Your system's ${tries} ${tries === 1 ? "retry" : "retries"}, by what Dunlin would do at that point:`,
          "",
          ...formatTable(
            ["DUNLIN WOULD", "RETRIES", "APPROVED"],
            met.map((stance) => [
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
