import type { LearnedModel } from "../engine/learned/learned-model.ts";
import type { DeclineGroup } from "../engine/rules/decline-groups.ts";
import {
  type Episode,
  type Estimate,
  estimateStrategy,
  isEstimate,
  isRecovered,
  type NotEstimable,
} from "./estimate.ts";
import { declineGroupOf, type FailedInvoice, findAbandonedGroups, findFailedInvoices } from "./failed-invoices.ts";
import type { PaymentHistory } from "./parse-history.ts";
import { CHOICE_COUNT, gapText, STOP_CHOICE } from "./retry-gaps.ts";
import { buildStrategies, choiceOf, type RetryStrategy } from "./strategies.ts";

/** Later decisions of a way can hardly be told from any history. */
const MAX_COMPARED_RETRIES = 4;

/** What a history says of one way of trying again. */
export interface JudgedStrategy {
  name: string;
  words: string;
  /** For as many of its first decisions as the history can tell, else why not even for one. */
  count: Estimate | NotEstimable;
  money: Estimate | NotEstimable;
  /** Invoices for which it asks for another card right after their first failure. */
  asked?: RecoveryTotals;
  /** Where nothing is said of its money: what the history lacks most. */
  missing?: UnseenChoice | null;
}

/** A first retry, and the shares of the invoices for which a way and the merchant's own system make it. */
interface UnseenChoice {
  choice: number;
  wanted: number;
  made: number;
}

/** Some failed invoices, and what the merchant's own system recovered of them. */
interface RecoveryTotals {
  invoices: number;
  recovered: number;
  /** Minor units. */
  amount: number;
  recoveredAmount: number;
}

/** Failed invoices in one currency. */
export interface CurrencyResult extends RecoveryTotals {
  currency: string;
  ways: JudgedStrategy[];
}

/** What a merchant's history says. What is optional, here and in its parts, is not in results that were kept from before it was told. */
export interface BacktestResult {
  from: Date;
  to: Date;
  attempts: number;
  leftOut: number;
  problems: string[];
  /** Columns of a file that are not read. */
  passedOver?: string[];
  /** Words for states whose meaning was said (--states), and that no record has. */
  unmet?: string[];
  /** Records of a file that repeat another one. */
  repeated?: number;
  /** Attempts that are dated after the backtest, and when the first of them is. */
  ahead?: number;
  aheadFrom?: Date | null;
  tooYoung: number;
  /** When the first of these can be judged. */
  countsFrom?: Date | null;
  /** Failed invoices that their customers paid before the first retry, which are left out. */
  paidBefore?: number;
  /** Whether the history says of any attempt who made it. */
  initiatorKnown?: boolean;
  /** Whether the history said with which chance choices were made. */
  chancesKnown: boolean;
  /** Where it said so of some retries only, of how many: then it is not gone by. */
  chancesGiven?: { retries: number; of: number } | null;
  /** The largest first. */
  books: CurrencyResult[];
  /** Share of the first retries by gap, and of them that succeeded. */
  firstGaps: { words: string; share: number; succeeded: number | null }[];
  /** Failed invoices by why they failed first, and the recovered share. */
  groups: { group: DeclineGroup; share: number; recovered: number }[];
  /** After these declines your system gives up, and so do the schedules. */
  givenUp?: DeclineGroup[];
}

/**
 * Judges ways of trying again by a merchant's own history. Each currency is judged for itself.
 *
 * @param learned  what Dunlin ships knowing; is not changed
 */
export function runBacktest(history: PaymentHistory, learned: LearnedModel, now: Date): BacktestResult {
  const { attempts, problems, leftOut, passedOver, unmet, repeated } = history;
  const failures = findFailedInvoices(attempts, now);
  const { invoices, ...chances } = withPropensities(failures.invoices);
  const givenUp = findAbandonedGroups(invoices);
  const ways = buildStrategies(failures, learned, givenUp);
  const books = [...Map.groupBy(invoices, ({ currency }) => currency)]
    .map(([currency, invoices]) => buildCurrencyResult(currency, invoices, ways))
    .sort((a, b) => b.invoices - a.invoices);
  return {
    from: failures.from,
    to: failures.to,
    attempts: attempts.length - failures.ahead,
    leftOut,
    problems,
    passedOver,
    unmet,
    repeated,
    ahead: failures.ahead,
    aheadFrom: failures.aheadFrom,
    tooYoung: failures.tooYoung,
    countsFrom: failures.countsFrom,
    paidBefore: failures.paidBefore,
    initiatorKnown: attempts.some(({ initiator }) => initiator !== null),
    ...chances,
    books,
    firstGaps: summarizeFirstGaps(invoices),
    groups: summarizeGroups(invoices),
    givenUp,
  };
}

/** The chances that a history states are gone by where it states all: of two kinds of chances in one sum nobody knows what it means. */
function withPropensities(invoices: readonly FailedInvoice[]) {
  const retries = invoices.flatMap(({ decisions }) => decisions.filter(({ choice }) => choice !== STOP_CHOICE));
  const stated = retries.filter(({ chance }) => chance !== null).length;
  if (stated > 0 && stated === retries.length) return { invoices, chancesKnown: true, chancesGiven: null };
  const without = ({ decisions, ...invoice }: FailedInvoice) => ({
    ...invoice,
    decisions: decisions.map((decided) => ({ ...decided, chance: null })),
  });
  const chancesGiven = stated > 0 ? { retries: stated, of: retries.length } : null;
  return { invoices: invoices.map(without), chancesKnown: false, chancesGiven };
}

const buildCurrencyResult = (
  currency: string,
  invoices: readonly FailedInvoice[],
  ways: readonly RetryStrategy[],
): CurrencyResult => ({
  currency,
  ...recoveryTotalsOf(invoices),
  ways: ways.map((way) => judgeStrategy(way, invoices)),
});

function recoveryTotalsOf(invoices: readonly FailedInvoice[]): RecoveryTotals {
  const recovered = invoices.filter(isRecovered);
  const sumOf = (some: readonly FailedInvoice[]) => some.reduce((sum, { amount }) => sum + amount, 0);
  return {
    invoices: invoices.length,
    recovered: recovered.length,
    amount: sumOf(invoices),
    recoveredAmount: sumOf(recovered),
  };
}

/**
 * A way, for as many own decisions as the history can tell. How many that are is told by what was done, never by what came of it. What
 * the way would have chosen is asked for no further than that: it is the dear part.
 */
function judgeStrategy(way: RetryStrategy, invoices: readonly FailedInvoice[]): JudgedStrategy {
  const chosen = invoices.map((): number[] => []);
  const asked: FailedInvoice[] = [];
  const told: { count?: Estimate | NotEstimable; money?: Estimate | NotEstimable } = {};
  const measures = { count: () => 1, money: ({ amount }: Episode) => amount };
  const open = new Set(["count", "money"] as const);
  for (let depth = 1; depth <= MAX_COMPARED_RETRIES && open.size > 0; depth++) {
    for (const [i, invoice] of invoices.entries()) {
      if (depth > invoice.decisions.length) continue;
      const next = way.next(invoice, depth - 1);
      chosen[i]!.push(choiceOf(next, invoice, depth - 1));
      if (depth === 1 && next === "card") asked.push(invoice);
    }
    for (const measure of open) {
      const answer = estimateStrategy(invoices, chosen, depth, measures[measure]);
      if (isEstimate(answer) || depth === 1) told[measure] = answer;
      if (!isEstimate(answer)) open.delete(measure);
    }
  }
  const { count, money } = told;
  const missing = isEstimate(money!) || money!.why === "chances" ? null : findUnseenChoice(invoices, chosen);
  return { name: way.name, words: way.words, count: count!, money: money!, asked: recoveryTotalsOf(asked), missing };
}

/** A way's first retries of one kind that are fewer than this among its invoices hardly matter. */
const MIN_WANTED_SHARE = 0.05;
/** The merchant's own system made something seldom when it made it less than this share of what a way makes of it. */
const RARE_CHOICE_RATIO = 1 / 4;

/** What a way does most often of what the merchant's system did seldom, right after the first failure; null where there is nothing. */
function findUnseenChoice(
  invoices: readonly FailedInvoice[],
  chosen: readonly (readonly number[])[],
): UnseenChoice | null {
  const retries = Array.from({ length: STOP_CHOICE }, (_, choice) => ({
    choice,
    wanted: chosen.filter(([first]) => first === choice).length / invoices.length,
    made: invoices.filter(({ decisions }) => decisions[0]!.choice === choice).length / invoices.length,
  }));
  const seldom = retries.filter(({ wanted, made }) => wanted >= MIN_WANTED_SHARE && made < RARE_CHOICE_RATIO * wanted);
  return seldom.sort((a, b) => b.wanted - a.wanted)[0] ?? null;
}

function summarizeFirstGaps(invoices: readonly FailedInvoice[]): BacktestResult["firstGaps"] {
  return Array.from({ length: CHOICE_COUNT }, (_, choice) => {
    const made = invoices.filter(({ decisions }) => decisions[0]!.choice === choice);
    const succeeded = made.filter(({ decisions }) => decisions[0]!.succeeded).length;
    return {
      words: gapText(choice),
      share: made.length / Math.max(1, invoices.length),
      succeeded: made.length === 0 || choice === STOP_CHOICE ? null : succeeded / made.length,
    };
  });
}

function summarizeGroups(invoices: readonly FailedInvoice[]): BacktestResult["groups"] {
  return [...Map.groupBy(invoices, ({ attempts }) => declineGroupOf(attempts[0]!))]
    .map(([group, some]) => ({
      group,
      share: some.length / invoices.length,
      recovered: some.filter(isRecovered).length / some.length,
    }))
    .sort((a, b) => b.share - a.share);
}
