import { formatColumnList } from "../domain/csv-format.ts";
import { formatMoneyText } from "../domain/currency.ts";
import type { DeclineGroup } from "../engine/rules/decline-groups.ts";
import { formatTenths } from "../engine/shares.ts";
import type { BacktestResult, CurrencyResult, JudgedStrategy } from "./backtest.ts";
import { type Estimate, isEstimate, MIN_EFFECTIVE_SAMPLE, type NotEstimable } from "./estimate.ts";
import { gapText } from "./retry-gaps.ts";

/** With a sign. */
export const signedPoints = (share: number) => `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(1)}`;

export const formatCount = (count: number) => Math.floor(count).toLocaleString("en");

const invoiceCountText = (count: number) =>
  `${formatCount(count)} ${formatCount(count) === "1" ? "invoice" : "invoices"}`;

export const currencySummaryText = ({ currency, invoices, recovered, amount, recoveredAmount }: CurrencyResult) =>
  invoices === 1
    ? `1 invoice failed (${formatMoneyText(amount, currency)}), and your system ${recovered === 1 ? "recovered" : "did not recover"} it.`
    : `${invoiceCountText(invoices)} failed (${formatMoneyText(amount, currency)} in total). Your system recovered ${formatCount(recovered)} of them (${formatTenths(recovered / invoices)}): ${formatMoneyText(recoveredAmount, currency)}, ${formatTenths(recoveredAmount / amount)} of the money.`;

/** Why a history has no result. */
export function noResultText({ tooYoung, countsFrom, to, paidBefore = 0 }: BacktestResult): string {
  if (tooYoung === 0 && paidBefore > 0)
    return `No strategy can be evaluated: ${invoiceCountText(paidBefore)} failed at first, and customers paid before the first retry.`;
  if (tooYoung === 0) return "No strategy can be evaluated: no invoice failed at first.";
  const from = countsFrom ? `; the first invoice counts once it reaches ${formatDay(countsFrom)}` : "";
  return `No strategy can be evaluated yet: ${invoiceCountText(tooYoung)} failed at first, and each counts 28 days later. The history ends on ${formatDay(to)}${from}.`;
}

/** 2026-01-31, in UTC. */
export const formatDay = (at: Date) => at.toISOString().slice(0, 10);

/** Rounding error between strategies with the same choices. */
const NO_DIFFERENCE = 1e-9;

/** Compared with the merchant's system. `same`: the same choices. `open`: unclear. */
export function compareToCurrent(judged: Estimate | NotEstimable): "more" | "less" | "same" | "open" {
  if (!isEstimate(judged)) return "open";
  if (Math.max(-judged.differenceLow, judged.differenceHigh) < NO_DIFFERENCE) return "same";
  return judged.differenceLow > NO_DIFFERENCE ? "more" : judged.differenceHigh < -NO_DIFFERENCE ? "less" : "open";
}

/** For a quick reader: would another strategy have recovered more? */
export function shortAnswerText(book: CurrencyResult): string {
  const { ways, currency, amount } = book;
  const estimated = ways.flatMap(({ words, money }) =>
    isEstimate(money) ? [{ words, money, side: compareToCurrent(money) }] : [],
  );
  if (estimated.length === 0) {
    const areContradictory = ways.some(({ money }) => !isEstimate(money) && money.why === "chances");
    const why = areContradictory
      ? "the selection probabilities in the file (propensity) do not match what your system did"
      : "your system rarely did what other strategies would have done";
    return `This history cannot show whether another strategy would have recovered more${hasAnyEstimate(book) ? " money" : ""}: ${why}. An experiment can.`;
  }
  const [best, ...others] = estimated
    .filter(({ side }) => side === "more")
    .sort((a, b) => b.money.differenceLow - a.money.differenceLow);
  if (best) {
    const answer = `Another strategy would have recovered more: ${best.words}. For the ${retryCountText(best.money.depth)}, it would have recovered ${rangeText(best.money, { currency, amount })} more than your system, of ${formatMoneyText(amount, currency)} that failed.`;
    return others.length === 0
      ? answer
      : `${answer} So would ${others.length} other ${others.length === 1 ? "strategy" : "strategies"}.`;
  }
  const [less, same, open] = (["less", "same", "open"] as const).map(
    (which) => estimated.filter(({ side }) => side === which).length,
  );
  const parts = [
    ...(less ? [`${less} would have recovered less`] : []),
    ...(same ? [`${same} would have recovered the same`] : []),
    ...(open ? [`${open} ${open === 1 ? "is" : "are"} unclear`] : []),
  ];
  const rest = ways.length - estimated.length;
  return `No strategy is certain to have recovered more than your system. Of the ${estimated.length} that could be evaluated, ${joinList(parts, ", and ")}.${rest > 0 ? ` ${rest} could not be evaluated.` : ""}`;
}

export const hasAnyEstimate = ({ ways }: CurrencyResult) =>
  ways.some(({ count, money }) => isEstimate(count) || isEstimate(money));

/** If there are too few failed invoices for any comparison. */
export const tooFewInvoicesText = (book: CurrencyResult): string | null =>
  book.invoices < MIN_EFFECTIVE_SAMPLE && !hasAnyEstimate(book)
    ? `Too few invoices to evaluate another strategy: at least ${MIN_EFFECTIVE_SAMPLE} are needed.`
    : null;

export function strategiesText(book: CurrencyResult): string[] {
  const tooFew = tooFewInvoicesText(book);
  return tooFew
    ? [tooFew]
    : [...book.ways.map((judged) => judgedStrategyText(judged, book)), ...indistinguishableText(book)];
}

export const indistinguishableText = ({ ways }: CurrencyResult): string[] =>
  [...Map.groupBy(ways, ({ money }) => (isEstimate(money) ? JSON.stringify(money) : ""))].flatMap(
    ([figures, group]) => {
      const { money } = group[0]!;
      if (figures === "" || group.length === 1 || !isEstimate(money)) return [];
      const names = joinList(
        group.map(({ words }) => `"${words}"`),
        " and ",
      );
      return [
        `${names} have the same figures: they make the same choices for the ${retryCountText(money.depth)}, and later retries could not be evaluated.`,
      ];
    },
  );

const joinList = (parts: readonly string[], last: string) =>
  [parts.slice(0, -1).join(", "), parts.at(-1)].filter((part) => part).join(last);

export const judgedStrategyText = (judged: Omit<JudgedStrategy, "name">, book: CurrencyResult): string =>
  `${verdictText(judged, book)}${isEstimate(judged.money) ? requestedCardText(judged, book) : `${unseenChoiceText(judged)}${invoicesText(judged, book)}`}`;

function verdictText(
  { words, count, money: judged }: Pick<JudgedStrategy, "words" | "count" | "money">,
  { currency, amount }: CurrencyResult,
): string {
  // A few large invoices may dominate the money, so that only invoices can be compared.
  if (!isEstimate(judged))
    return `${capitalize(words)}: no estimate${isEstimate(count) ? " for the money" : ""}. ${notEstimableText(judged)}`;
  const { differenceLow, differenceHigh, depth } = judged;
  const subject = `${capitalize(words)}, for the ${retryCountText(depth)}`;
  const moneyText = (share: number) => formatMoneyText(Math.abs(share * amount), currency);
  const range = rangeText(judged, { currency, amount });
  switch (compareToCurrent(judged)) {
    case "same":
      return `${subject}: the same as your system.`;
    case "more":
      return `${subject}: ${range} more than your system.`;
    case "less":
      return `${subject}: ${range} less than your system.`;
    case "open":
      return `${subject}: no clear difference, between ${moneyText(differenceLow)} less and ${moneyText(differenceHigh)} more than your system.`;
  }
}

/** The smaller amount first. */
const rangeText = (
  { differenceLow, differenceHigh }: Estimate,
  { currency, amount }: Pick<CurrencyResult, "currency" | "amount">,
) =>
  [differenceLow, differenceHigh]
    .map((share) => Math.abs(share * amount))
    .sort((a, b) => a - b)
    .map((each) => formatMoneyText(each, currency))
    .join(" to ");

function invoicesText({ count }: Pick<JudgedStrategy, "count">, { invoices, recovered }: CurrencyResult): string {
  if (!isEstimate(count)) return "";
  return ` Counting invoices instead of money, it would have recovered ${formatTenths(count.low)} to ${formatTenths(count.high)} of them with the ${retryCountText(count.depth)}; your system recovered ${formatTenths(recovered / invoices)}.`;
}

function requestedCardText({ asked }: Pick<JudgedStrategy, "asked">, { currency }: CurrencyResult): string {
  if (!asked || asked.invoices === 0) return "";
  const isOne = asked.invoices === 1;
  return ` After the first failure, it requests another card or payment method for ${invoiceCountText(asked.invoices)} (${formatMoneyText(asked.amount, currency)}${isOne ? "" : " in total"}). ${isOne ? "It counts" : "They count"} as not recovered; your system recovered ${formatMoneyText(asked.recoveredAmount, currency)} of that.`;
}

function unseenChoiceText({ missing }: Pick<JudgedStrategy, "missing">): string {
  if (!missing) return "";
  const when = missing.choice === 0 ? "on the same day" : `after ${gapText(missing.choice)}`;
  return ` The history lacks mainly first retries ${when}: this strategy makes them for ${formatTenths(missing.wanted)} of the invoices, your system for ${formatTenths(missing.made)}.`;
}

function notEstimableText({ why, effective, unseen, standsFor = 0 }: NotEstimable): string {
  if (why === "chances")
    return `The selection probabilities in the file (propensity) do not match: by them, the invoices for which your system made the same choices represent ${formatTenths(standsFor)} of the invoices that they must represent. Without that column, the probabilities are estimated from what your system did.`;
  if (why === "unseen")
    return `For ${formatTenths(unseen)} of the invoices, it does what your system hardly ever did, so the history does not show the result.`;
  return `Your system rarely made the same choices: the effective sample is ${invoiceCountText(effective)}, and ${MIN_EFFECTIVE_SAMPLE} are needed.`;
}

/** The number of decisions and the sample: for the money, or else for invoices. */
export function basisText({ money, count }: Pick<JudgedStrategy, "money" | "count">): string {
  const judged = isEstimate(money) ? money : count;
  return isEstimate(judged)
    ? `${retryCountText(judged.depth)}; effective sample of ${invoiceCountText(judged.effective)}`
    : "";
}

const retryCountText = (depth: number) => (depth === 1 ? "first retry" : `first ${depth} retries`);

/** With reasons. */
export function leftOutText(result: BacktestResult): { words: string; problems: string[] }[] {
  const { leftOut, problems, passedOver = [], unmet = [], repeated = 0, ahead = 0, aheadFrom } = result;
  const ignoredColumns = formatColumnList(passedOver);
  const unreadable =
    leftOut === 1
      ? "Skipped 1 record that could not be read:"
      : `Skipped ${formatCount(leftOut)} records that could not be read:`;
  const duplicates =
    repeated === 1
      ? "Skipped 1 duplicate record: it has the same id as another one or, without ids, the same content."
      : `Skipped ${formatCount(repeated)} duplicate records: they have the same ids as others or, without ids, the same content. If they are separate attempts, give each one an id.`;
  const future = `Skipped ${formatCount(ahead)} ${ahead === 1 ? "attempt" : "attempts"} dated in the future${aheadFrom ? ` (the first on ${formatDay(aheadFrom)})` : ""}.`;
  return [
    ...(leftOut > 0 ? [{ words: unreadable, problems }] : []),
    ...(repeated > 0 ? [{ words: duplicates, problems: [] }] : []),
    ...(ahead > 0 ? [{ words: future, problems: [] }] : []),
    ...(ignoredColumns !== ""
      ? [{ words: `Ignored columns (no matching field): ${ignoredColumns}.`, problems: [] }]
      : []),
    ...(unmet.length > 0
      ? [{ words: `Unused words in --states (no record has them): ${unmet.join(", ")}.`, problems: [] }]
      : []),
  ];
}

export function assumptionsText(result: BacktestResult): string[] {
  const { chancesKnown, chancesGiven, tooYoung, givenUp, paidBefore, initiatorKnown = true } = result;
  return [
    "Each invoice whose first attempt failed counts 28 days later, paid or not. Money that was received without an attempt in the file does not count.",
    "A strategy is evaluated by the number of days between a failure and the next retry, not by the hour. After the named retries, your own system continues as it did.",
    ...(givenUp ? [scheduleText(givenUp)] : []),
    chancesKnown
      ? "The probabilities of your system's choices are those in the file (propensity). If they do not add up for a strategy, it gets no estimate."
      : "The probabilities of your system's choices are estimated from how often it made them, by the number of attempts, the decline reason and the weeks since the first failure. If your system considered anything else that affects success, the results are biased.",
    ...(chancesGiven
      ? [
          `The probabilities in the file (propensity) are not used, because only ${formatCount(chancesGiven.retries)} of ${formatCount(chancesGiven.of)} retries have one.`,
        ]
      : []),
    ...(paidBefore === undefined ? [] : [initiatorKnown ? customerPaymentsText(paidBefore) : UNKNOWN_INITIATOR_TEXT]),
    "A request for a new card counts as not recovered, because a history of attempts does not show its result.",
    "Each range contains the true value in 95 of 100 such reports, so one of many ranges may well be wrong. An experiment answers the same question without these assumptions.",
    ...(tooYoung === 1 ? ["1 failed invoice is left out because its 28 days were not over."] : []),
    ...(tooYoung > 1
      ? [`${formatCount(tooYoung)} failed invoices are left out because their 28 days were not over.`]
      : []),
  ];
}

/** Shorter than those of `explain`. */
export const GROUP_NAMES: Readonly<Record<DeclineGroup, string>> = {
  REVOKED: "payment revoked",
  FRAUD: "suspected fraud",
  HARD_CARD: "card cannot be charged",
  INVALID_DATA: "wrong card data",
  EXPIRED: "card expired",
  AUTH_REQUIRED: "customer must confirm",
  LIMIT: "limit reached",
  FUNDS: "insufficient funds",
  ISSUER_DOWN: "bank unavailable",
  GENERIC: "no clear reason",
  UNKNOWN: "no reason given",
};

const UNKNOWN_INITIATOR_TEXT =
  "The history does not say who made an attempt (initiator), so payments by customers count as retries of your system.";

const customerPaymentsText = (paidBefore: number) =>
  `Attempts made by customers (initiator) are no retries. What customers paid after a retry counts as not recovered. An invoice that they paid before the first retry is left out${paidBefore > 0 ? `: ${invoiceCountText(paidBefore)}` : ""}.`;

const scheduleText = (givenUp: readonly DeclineGroup[]) =>
  givenUp.length === 0
    ? "The fixed schedules retry on their days after every decline."
    : `The fixed schedules retry on their days after every decline, with an exception. They give up after declines that your system hardly ever retried: ${givenUp.map((group) => `"${GROUP_NAMES[group]}"`).join(", ")}.`;

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
