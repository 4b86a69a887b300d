import { moneyWords } from "../domain/currency.ts";
import { type ShadowFigures, shadowFigures } from "../recovery/shadow.ts";
import {
  approvedWords,
  countedWords,
  NO_RETRY,
  PROVES_NOTHING,
  plannedWords,
  STANCE_WORDS,
  shareWords,
  stancesMet,
  triesWords,
} from "../recovery/shadow-words.ts";
import { findMerchant } from "../store/merchants.ts";
import { type Command, EXIT, moment, table, withDatabase } from "./command.ts";
import { merchantOf } from "./whose.ts";

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
    const from = moment(values, "from") ?? new Date(0);
    return withDatabase(context, async ({ db, ports }) => {
      const merchantId = await merchantOf(db, values);
      const merchant = (await findMerchant(db, merchantId))!;
      const figures = await shadowFigures(db, merchantId, from, ports.now());
      if (values.json)
        context.print(
          JSON.stringify({ shadow: merchant.shadow, ...figures, money: Object.fromEntries(figures.money) }),
        );
      else {
        context.print(
          `Shadow mode of ${merchant.name} is ${merchant.shadow ? "on" : `off. "npx dunlin merchant set ${merchantId} --shadow yes" begins it`}.`,
        );
        for (const line of lines(figures)) context.print(line);
      }
      return EXIT.ok;
    });
  },
};

function lines(figures: ShadowFigures): string[] {
  const { since, counted, paid, money, stances } = figures;
  if (since === null) return countedWords(figures, day);
  const met = stancesMet(figures);
  const tries = met.reduce((sum, stance) => sum + stances[stance].tries, 0);
  return [
    "",
    ...countedWords(figures, day),
    ...(counted === 0
      ? []
      : [`Without Dunlin ${paid} of ${counted}${shareWords(paid / counted, counted)} of those that count were paid:`]),
    ...[...money].map(
      ([currency, { cases, due, paid }]) =>
        `  ${moneyWords(paid, currency)} of ${moneyWords(due, currency)}${shareWords(paid / due, cases)}`,
    ),
    ...plannedWords(figures),
    "",
    ...(tries === 0
      ? [NO_RETRY]
      : [
          `Your system's ${tries} ${tries === 1 ? "retry" : "retries"}, by what Dunlin would do at that point:`,
          "",
          ...table(
            ["DUNLIN WOULD", "RETRIES", "APPROVED"],
            met.map((stance) => [STANCE_WORDS[stance], String(stances[stance].tries), approvedWords(stances[stance])]),
          ),
          "",
          ...triesWords(figures),
        ]),
    "",
    `${PROVES_NOTHING}: see docs/guides/experiments.md.`,
  ];
}

const day = (at: Date) => at.toISOString().slice(0, 10);
