import { besidePlans } from "../decisions/outlook.ts";
import { moneyWords } from "../domain/currency.ts";
import { AFTER_WINDOW_DAYS } from "../recovery/experiments.ts";
import { type ShadowFigures, STANCES, type Stance, shadowFigures } from "../recovery/shadow.ts";
import { findMerchant } from "../store/merchants.ts";
import { type Command, EXIT, moment, table, withDatabase } from "./command.ts";
import { merchantOf } from "./delivery.ts";

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

const STANCE_WORDS: Readonly<Record<Stance, string>> = {
  same: "try too, within 12 hours",
  earlier: "try, more than 12 hours later",
  later: "have tried, more than 12 hours before",
  card_change: "ask for another card",
  stop: "have stopped",
  wait: "wait, for an answer or for what comes of the customer's other bills",
  unknown: "not known: nothing was decided before, or it is kept no longer",
};

function lines(figures: ShadowFigures): string[] {
  const { since, cases, counted, paid, money, planned, stances } = figures;
  if (since === null) return ["No invoice has become unpaid in shadow mode."];
  const made = STANCES.filter((stance) => stances[stance].tries > 0);
  const tries = made.reduce((sum, stance) => sum + stances[stance].tries, 0);
  return [
    "",
    `${cases} ${cases === 1 ? "invoice" : "invoices"} became unpaid from ${day(since)} on; ${counted} ${counted === 1 ? "is" : "are"} old enough to count, voided and refunded ones aside.`,
    ...youngLines(figures),
    ...(counted === 0 ? [] : [`Without Dunlin ${shareWords(paid, counted)} of those that count were paid:`]),
    ...[...money].map(
      ([currency, { cases: n, due, paid: got }]) =>
        `  ${moneyWords(got, currency)} of ${moneyWords(due, currency)}${share(got / due, n)}`,
    ),
    ...(planned.cases === 0
      ? []
      : [
          `For ${planned.cases} of them Dunlin had made a plan. By its own model the plans recover ${planned.expected.toFixed(1)} of these${share(planned.expected / planned.cases, planned.cases)}; ${planned.paid}${share(planned.paid / planned.cases, planned.cases)} ${planned.paid === 1 ? "was" : "were"} paid.`,
          besidePlans({ plans: planned.cases, debits: planned.debits }),
        ]),
    "",
    ...(tries === 0 ? ["Your system has made no retry since."] : triesLines(figures, made, tries)),
    "",
    "This compares; it proves nothing, since nobody followed Dunlin. An experiment does: see docs/guides/experiments.md.",
  ];
}

/** What does not count yet, and from when on it does. */
function youngLines({ young: { cases, firstAt, lastAt } }: ShadowFigures): string[] {
  if (cases === 0) return [];
  const [first, last] = [day(firstAt!), day(lastAt!)];
  return [
    `${cases} ${cases === 1 ? "is" : "are"} too young, and ${cases === 1 ? "counts" : "count"} ${first === last ? `on ${first}` : `from ${first} to ${last}`}: paid or not, each counts ${AFTER_WINDOW_DAYS} days after its window is over, since what is paid is known sooner than what is not.`,
  ];
}

function triesLines({ stances, foreseen, forbidden }: ShadowFigures, made: readonly Stance[], tries: number): string[] {
  return [
    `Your system's ${tries} ${tries === 1 ? "retry" : "retries"}, by what Dunlin would do at that point:`,
    "",
    ...table(
      ["DUNLIN WOULD", "RETRIES", "APPROVED"],
      made.map((stance) => [STANCE_WORDS[stance], String(stances[stance].tries), approvedWords(stances[stance])]),
    ),
    "",
    ...(foreseen.tries === 0
      ? []
      : [
          `Where both tried at the same time, of ${foreseen.tries} ${foreseen.tries === 1 ? "retry" : "retries"} Dunlin had foreseen ${foreseen.expected.toFixed(1)}${share(foreseen.expected / foreseen.tries, foreseen.tries)} to be approved, and ${approvedWords(foreseen)} ${foreseen.approved === 1 ? "was" : "were"}.`,
        ]),
    `Rules of card networks and schemes left no try at the moment of ${forbidden.tries} of the retries; ${forbidden.approved} of these were approved.`,
  ];
}

const day = (at: Date) => at.toISOString().slice(0, 10);
/** Of fewer than these a share in percent says more than is known: one more or less moves it by over three points. */
const PERCENT_MIN = 30;
const share = (part: number, of: number) => (of < PERCENT_MIN ? "" : ` (${(100 * part).toFixed(1)}%)`);
const approvedWords = ({ tries, approved }: { tries: number; approved: number }) =>
  `${approved}${share(approved / tries, tries)}`;
const shareWords = (part: number, all: number) => `${part} of ${all}${share(part / all, all)}`;
