import { formatColumnList } from "../domain/csv-format.ts";
import { formatMoneyText } from "../domain/currency.ts";
import type { DeclineGroup } from "../engine/rules/decline-groups.ts";
import { formatTenths } from "../engine/shares.ts";
import type { BacktestResult, CurrencyResult, JudgedStrategy } from "./backtest.ts";
import { type Estimate, isEstimate, MIN_EFFECTIVE_SAMPLE, type NotEstimable } from "./estimate.ts";
import { gapText } from "./retry-gaps.ts";

/** Points of a hundred, with a sign. */
export const signedPoints = (share: number) => `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)}`;

export const formatCount = (count: number) => Math.floor(count).toLocaleString("en");

const invoiceCountText = (count: number) =>
  `${formatCount(count)} ${formatCount(count) === "1" ? "invoice" : "invoices"}`;

/** The whole of a book in a sentence. */
export const currencySummaryText = ({ currency, invoices, recovered, amount, recoveredAmount }: CurrencyResult) =>
  invoices === 1
    ? `1 invoice failed, ${formatMoneyText(amount, currency)}, and your system ${recovered === 1 ? "recovered" : "did not recover"} it.`
    : `${invoiceCountText(invoices)} failed, ${formatMoneyText(amount, currency)} in all, and your system recovered ${formatCount(recovered)} of them (${formatTenths(recovered / invoices)}): ${formatMoneyText(recoveredAmount, currency)}, ${formatTenths(recoveredAmount / amount)} of the money.`;

/** Why a history without books has none. */
export function noResultText({ tooYoung, countsFrom, to, paidBefore = 0 }: BacktestResult): string {
  if (tooYoung === 0 && paidBefore > 0)
    return `Nothing to judge: ${invoiceCountText(paidBefore)} failed at first, and customers paid before the first retry.`;
  if (tooYoung === 0) return "Nothing to judge: no invoice failed at first.";
  const first = tooYoung === 1 ? "it" : "the first of them";
  const from = countsFrom ? `; ${first} counts once it reaches ${formatDay(countsFrom)}` : "";
  return `Nothing to judge yet: ${invoiceCountText(tooYoung)} failed at first, and each counts 28 days after that. The history ends on ${formatDay(to)}${from}.`;
}

/** 2026-01-31, in UTC. */
export const formatDay = (at: Date) => at.toISOString().slice(0, 10);

/** Rounding leaves this much between two ways that chose alike. */
const NO_DIFFERENCE = 1e-9;

/** Whether a way would have recovered more or less than the merchant's own; `same`: it chose as that did; `open`: it can't be told. */
export function compareToCurrent(judged: Estimate | NotEstimable): "more" | "less" | "same" | "open" {
  if (!isEstimate(judged)) return "open";
  if (Math.max(-judged.differenceLow, judged.differenceHigh) < NO_DIFFERENCE) return "same";
  return judged.differenceLow > NO_DIFFERENCE ? "more" : judged.differenceHigh < -NO_DIFFERENCE ? "less" : "open";
}

/** Whether another way would have recovered more, for somebody who reads nothing else. */
export function shortAnswerText(book: CurrencyResult): string {
  const { ways, currency, amount } = book;
  const said = ways.flatMap(({ words, money }) =>
    isEstimate(money) ? [{ words, money, side: compareToCurrent(money) }] : [],
  );
  if (said.length === 0) {
    const isStated = ways.some(({ money }) => !isEstimate(money) && money.why === "chances");
    const why = isStated
      ? "the chances in the file (propensity) do not fit what your system did"
      : "your system did too seldom what others would have done";
    return `This history can't tell whether another way would have recovered more${hasAnyEstimate(book) ? " money" : ""}: ${why}. An experiment can.`;
  }
  const [best, ...others] = said
    .filter(({ side }) => side === "more")
    .sort((a, b) => b.money.differenceLow - a.money.differenceLow);
  if (best) {
    const more = `Another way would have recovered more: ${best.words}, for the ${retryCountText(best.money.depth)}, ${rangeText(best.money, { currency, amount })} more than your system, of ${formatMoneyText(amount, currency)} that failed.`;
    return others.length === 0
      ? more
      : `${more} So would ${others.length} other ${others.length === 1 ? "way" : "ways"}.`;
  }
  const [less, same, open] = (["less", "same", "open"] as const).map(
    (which) => said.filter(({ side }) => side === which).length,
  );
  const parts = [
    ...(less ? [`${less} would have recovered less`] : []),
    ...(same ? [`${same} would have recovered just as much`] : []),
    ...(open ? [`of ${open} it can't be told`] : []),
  ];
  const rest = ways.length - said.length;
  return `No way is sure to have recovered more than your system: of the ${said.length} that could be judged, ${joinList(parts, ", and ")}.${rest > 0 ? ` ${rest} could not be judged.` : ""}`;
}

/** Whether anything is said of any way. */
export const hasAnyEstimate = ({ ways }: CurrencyResult) =>
  ways.some(({ count, money }) => isEstimate(count) || isEstimate(money));

/** Where fewer failed than any comparison takes, as in a currency that is seldom billed, that is said once; null: each way says for itself. */
export const tooFewInvoicesText = (book: CurrencyResult): string | null =>
  book.invoices < MIN_EFFECTIVE_SAMPLE && !hasAnyEstimate(book)
    ? `Too few to judge another way by: ${MIN_EFFECTIVE_SAMPLE} are needed at least.`
    : null;

/** All that is said of the ways of a book. */
export function strategiesText(book: CurrencyResult): string[] {
  const tooFew = tooFewInvoicesText(book);
  return tooFew ? [tooFew] : [...book.ways.map((way) => judgedStrategyText(way, book)), ...indistinguishableText(book)];
}

/** Ways that can't be told apart by this history. */
export const indistinguishableText = ({ ways }: CurrencyResult): string[] =>
  [...Map.groupBy(ways, ({ money }) => (isEstimate(money) ? JSON.stringify(money) : ""))].flatMap(
    ([figures, alike]) => {
      const { money } = alike[0]!;
      if (figures === "" || alike.length === 1 || !isEstimate(money)) return [];
      const names = joinList(
        alike.map(({ words }) => `"${words}"`),
        " and ",
      );
      return [
        `The figures of ${names} are the same: they choose alike for the ${retryCountText(money.depth)}, and no more was judged.`,
      ];
    },
  );

const joinList = (parts: readonly string[], last: string) =>
  [parts.slice(0, -1).join(", "), parts.at(-1)].filter((part) => part).join(last);

/** What the history says of a way, for somebody who decides about money. */
export const judgedStrategyText = (judged: Omit<JudgedStrategy, "name">, book: CurrencyResult): string =>
  `${verdictText(judged, book)}${isEstimate(judged.money) ? requestedCardText(judged, book) : `${unseenChoiceText(judged)}${invoicesText(judged, book)}`}`;

function verdictText(
  { words, count, money: judged }: Pick<JudgedStrategy, "words" | "count" | "money">,
  { currency, amount }: CurrencyResult,
): string {
  // A few large invoices may leave too little to compare the money by, where invoices can be compared.
  if (!isEstimate(judged))
    return `${capitalize(words)}: cannot say${isEstimate(count) ? " of the money" : ""}. ${notEstimableText(judged)}`;
  const { differenceLow, differenceHigh, depth } = judged;
  const tries = retryCountText(depth);
  const of = (share: number) => formatMoneyText(Math.abs(share * amount), currency);
  const range = rangeText(judged, { currency, amount });
  switch (compareToCurrent(judged)) {
    case "same":
      return `${capitalize(words)}, for the ${tries}: just what your system did.`;
    case "more":
      return `${capitalize(words)}, for the ${tries}, would have recovered more: ${range}.`;
    case "less":
      return `${capitalize(words)}, for the ${tries}, would have recovered less: ${range}.`;
    case "open":
      return `${capitalize(words)}, for the ${tries}: no difference can be told. It lies between ${of(differenceLow)} less and ${of(differenceHigh)} more.`;
  }
}

/** How much more or less, the smaller amount first. */
const rangeText = (
  { differenceLow, differenceHigh }: Estimate,
  { currency, amount }: Pick<CurrencyResult, "currency" | "amount">,
) =>
  [differenceLow, differenceHigh]
    .map((share) => Math.abs(share * amount))
    .sort((a, b) => a - b)
    .map((each) => formatMoneyText(each, currency))
    .join(" to ");

/** What can be said of invoices, where nothing can of their money. */
function invoicesText({ count }: Pick<JudgedStrategy, "count">, { invoices, recovered }: CurrencyResult): string {
  if (!isEstimate(count)) return "";
  return ` Of invoices, whatever their amount, it would have recovered ${formatTenths(count.low)} to ${formatTenths(count.high)} with the ${retryCountText(count.depth)}, your system ${formatTenths(recovered / invoices)}.`;
}

/** Money of which a way was not judged by what it would do. */
function requestedCardText({ asked }: Pick<JudgedStrategy, "asked">, { currency }: CurrencyResult): string {
  if (!asked || asked.invoices === 0) return "";
  const count = asked.invoices === 1 ? "counts" : "count";
  return ` Right after the first failure it asks for another card or payment method for ${invoiceCountText(asked.invoices)}, ${formatMoneyText(asked.amount, currency)}${asked.invoices === 1 ? "" : " in all"}, which ${count} as not recovered; your system recovered ${formatMoneyText(asked.recoveredAmount, currency)} of that.`;
}

function unseenChoiceText({ missing }: Pick<JudgedStrategy, "missing">): string {
  if (!missing) return "";
  const when = missing.choice === 0 ? "on the same day" : `after ${gapText(missing.choice)}`;
  return ` What it lacks most are first retries ${when}: this way makes them for ${formatTenths(missing.wanted)} of the invoices, your system for ${formatTenths(missing.made)}.`;
}

/** Why nothing is said. */
function notEstimableText({ why, effective, unseen, standsFor = 0 }: NotEstimable): string {
  if (why === "chances")
    return `The chances in the file (propensity) do not fit it: by them, the invoices for which your system did the same stand for ${formatTenths(standsFor)} of those for which they have to. Without that column the chances are worked out from what your system did.`;
  if (why === "unseen")
    return `In ${formatTenths(unseen)} of the invoices it does what your system hardly ever did, so there is nothing to learn it from.`;
  return `Your system did the same too seldom: what can be compared weighs as much as ${invoiceCountText(effective)}, and ${MIN_EFFECTIVE_SAMPLE} are needed.`;
}

/** The choices behind what is said of a way: of its money, or where nothing is said of that, of its invoices. */
export function basisText({ money, count }: Pick<JudgedStrategy, "money" | "count">): string {
  const judged = isEstimate(money) ? money : count;
  return isEstimate(judged) ? `${retryCountText(judged.depth)}; as much as ${invoiceCountText(judged.effective)}` : "";
}

const retryCountText = (depth: number) => (depth === 1 ? "first retry" : `first ${depth} retries`);

/** What is not in what is said, in sentences, each with what explains it. */
export function leftOutText(result: BacktestResult): { words: string; problems: string[] }[] {
  const { leftOut, problems, passedOver = [], unmet = [], repeated = 0, ahead = 0, aheadFrom } = result;
  const over = formatColumnList(passedOver);
  const unread =
    leftOut === 1
      ? "1 record of the file could not be read and is left out:"
      : `${formatCount(leftOut)} records of the file could not be read and are left out:`;
  const again =
    repeated === 1
      ? "1 record of the file repeats another one and is left out: it has its id, or without ids says the same."
      : `${formatCount(repeated)} records of the file repeat others and are left out: they have their ids, or without ids say the same. If they are tries of their own, give each its id.`;
  const future = (is: string) =>
    `dated in the future${aheadFrom ? `, the first ${is} of ${formatDay(aheadFrom)}` : ""}`;
  return [
    ...(leftOut > 0 ? [{ words: unread, problems }] : []),
    ...(repeated > 0 ? [{ words: again, problems: [] }] : []),
    ...(ahead > 0
      ? [
          {
            words: `${formatCount(ahead)} ${ahead === 1 ? "attempt is" : "attempts are"} left out, being ${future("one")}.`,
            problems: [],
          },
        ]
      : []),
    ...(over !== "" ? [{ words: `Columns that are not read: ${over}.`, problems: [] }] : []),
    ...(unmet.length > 0
      ? [{ words: `Words of --states that no record has: ${unmet.join(", ")}.`, problems: [] }]
      : []),
  ];
}

/** What the numbers rest on, and what could make them wrong. */
export function assumptionsText(result: BacktestResult): string[] {
  const { chancesKnown, chancesGiven, tooYoung, givenUp, paidBefore, initiatorKnown = true } = result;
  return [
    "Only invoices whose first attempt failed count, and each counts: paid or not, 28 days after that. Money that came without an attempt in the file does not count.",
    "A way is judged by how many days it lets pass between a failure and the next try, not by the hour. After the retries that are named, your own system goes on as it did.",
    ...(givenUp ? [scheduleText(givenUp)] : []),
    chancesKnown
      ? "The chances with which your system chose are those in the file (propensity). Where they do not add up for a way, nothing is said of it."
      : "The chances with which your system chose are worked out from how often it chose so, by the number of tries, the reason of the decline, and the weeks since the first failure. If it looked at anything else that has to do with success, the results are off by that.",
    ...(chancesGiven
      ? [
          `Those in the file (propensity) are not used, since only ${formatCount(chancesGiven.retries)} of ${formatCount(chancesGiven.of)} retries have one.`,
        ]
      : []),
    ...(paidBefore === undefined ? [] : [initiatorKnown ? customerPaymentsText(paidBefore) : UNKNOWN_INITIATOR_TEXT]),
    "A change of card is not counted as recovered, since no history of attempts tells what asking for one would have brought.",
    "Each range holds the truth in 95 of 100 such reports, so of many ranges one may well be wrong. An experiment answers the same question without these assumptions.",
    ...(tooYoung === 1 ? ["1 failed invoice is left out because its 28 days were not over."] : []),
    ...(tooYoung > 1
      ? [`${formatCount(tooYoung)} failed invoices are left out because their 28 days were not over.`]
      : []),
  ];
}

/** Why a payment failed, as a label: in few of the words that `explain` has for it. */
export const GROUP_NAMES: Readonly<Record<DeclineGroup, string>> = {
  REVOKED: "payment revoked",
  FRAUD: "suspected fraud",
  HARD_CARD: "card can't be charged",
  INVALID_DATA: "wrong card data",
  EXPIRED: "card expired",
  AUTH_REQUIRED: "customer must confirm",
  LIMIT: "limit reached",
  FUNDS: "not enough money",
  ISSUER_DOWN: "bank out of reach",
  GENERIC: "no clear reason",
  UNKNOWN: "no reason given",
};

const UNKNOWN_INITIATOR_TEXT =
  "The history does not say who made an attempt (initiator), so what customers paid by themselves is taken for a retry of your system.";

const customerPaymentsText = (paidBefore: number) =>
  `Attempts that customers made themselves (initiator) are no retries. What they paid after a retry counts as not recovered, and an invoice that they paid before the first retry is left out${paidBefore > 0 ? `: ${invoiceCountText(paidBefore)}` : ""}.`;

const scheduleText = (givenUp: readonly DeclineGroup[]) =>
  givenUp.length === 0
    ? "The schedules of days try on them whatever the decline was."
    : `The schedules of days try on them whatever the decline was, with an exception. They give up where your system hardly ever tried again: after ${givenUp.map((group) => `"${GROUP_NAMES[group]}"`).join(", ")}.`;

const capitalize = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);
