import type { NumberedRule } from "../domain/recovery-rule.ts";
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

/** Histories rarely support more decisions. */
const MAX_COMPARED_RETRIES = 4;

/** A retry strategy's result. */
export interface JudgedStrategy {
  name: string;
  words: string;
  /** For as many decisions as the history supports, or why not. */
  count: Estimate | NotEstimable;
  money: Estimate | NotEstimable;
  /** Invoices for which it requests another card after the first failure. */
  asked?: RecoveryTotals;
  /** Without an estimate for the money: the first retry that the history lacks most. */
  missing?: UnseenChoice | null;
}

/** The shares of invoices for which the strategy and the merchant's system make it. */
interface UnseenChoice {
  choice: number;
  wanted: number;
  made: number;
}

interface RecoveryTotals {
  invoices: number;
  recovered: number;
  amount: number;
  recoveredAmount: number;
}

export interface CurrencyResult extends RecoveryTotals {
  currency: string;
  ways: JudgedStrategy[];
}

export interface BacktestResult {
  from: Date;
  to: Date;
  attempts: number;
  leftOut: number;
  problems: string[];
  /** Ignored columns. */
  passedOver?: string[];
  unmet?: string[];
  /** Duplicate records. */
  repeated?: number;
  /** Dated after the backtest, and the first date. */
  ahead?: number;
  aheadFrom?: Date | null;
  tooYoung: number;
  countsFrom?: Date | null;
  /** Left out, because customers paid before the first retry. */
  paidBefore?: number;
  /** For any attempt. */
  initiatorKnown?: boolean;
  /** For every retry. */
  chancesKnown: boolean;
  /** If only some are stated, none is used. */
  chancesGiven?: { retries: number; of: number } | null;
  /** Largest first. */
  books: CurrencyResult[];
  /** First retries by gap, and the share that succeeded. */
  firstGaps: { words: string; share: number; succeeded: number | null }[];
  /** By the first failure's reason. */
  groups: { group: DeclineGroup; share: number; recovered: number }[];
  /** The merchant's system gives up after these, and so do the fixed schedules. */
  givenUp?: DeclineGroup[];
}

/**
 * Evaluates retry strategies on a merchant's history, separately for each currency.
 *
 * @param learned  the pretrained model; is not changed
 * @param rules  the recovery rules of the merchant
 */
export function runBacktest(
  history: PaymentHistory,
  learned: LearnedModel,
  now: Date,
  rules: readonly NumberedRule[] = [],
): BacktestResult {
  const { attempts, problems, leftOut, passedOver, unmet, repeated } = history;
  const failures = findFailedInvoices(attempts, now);
  const { invoices, ...propensities } = withPropensities(failures.invoices);
  const abandonedGroups = findAbandonedGroups(invoices);
  const strategies = buildStrategies(failures, learned, abandonedGroups, rules);
  const books = [...Map.groupBy(invoices, ({ currency }) => currency)]
    .map(([currency, invoices]) => buildCurrencyResult(currency, invoices, strategies))
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
    ...propensities,
    books,
    firstGaps: summarizeFirstGaps(invoices),
    groups: summarizeGroups(invoices),
    givenUp: abandonedGroups,
  };
}

/** Only if every retry has one, because mixing them with estimated ones would be meaningless. */
function withPropensities(invoices: readonly FailedInvoice[]) {
  const retries = invoices.flatMap(({ decisions }) => decisions.filter(({ choice }) => choice !== STOP_CHOICE));
  const stated = retries.filter(({ chance }) => chance !== null).length;
  if (stated > 0 && stated === retries.length) return { invoices, chancesKnown: true, chancesGiven: null };
  const withoutPropensities = ({ decisions, ...invoice }: FailedInvoice) => ({
    ...invoice,
    decisions: decisions.map((decision) => ({ ...decision, chance: null })),
  });
  const chancesGiven = stated > 0 ? { retries: stated, of: retries.length } : null;
  return { invoices: invoices.map(withoutPropensities), chancesKnown: false, chancesGiven };
}

const buildCurrencyResult = (
  currency: string,
  invoices: readonly FailedInvoice[],
  strategies: readonly RetryStrategy[],
): CurrencyResult => ({
  currency,
  ...recoveryTotalsOf(invoices),
  ways: strategies.map((strategy) => evaluateStrategy(strategy, invoices)),
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
 * For as many decisions as the history supports, which depends only on choices, never on outcomes. Computes the strategy's
 * choices only up to there, because they are expensive.
 */
function evaluateStrategy(strategy: RetryStrategy, invoices: readonly FailedInvoice[]): JudgedStrategy {
  const chosen = invoices.map((): number[] => []);
  const cardRequested: FailedInvoice[] = [];
  const answers: { count?: Estimate | NotEstimable; money?: Estimate | NotEstimable } = {};
  const measures = { count: () => 1, money: ({ amount }: Episode) => amount };
  const open = new Set(["count", "money"] as const);
  for (let depth = 1; depth <= MAX_COMPARED_RETRIES && open.size > 0; depth++) {
    for (const [i, invoice] of invoices.entries()) {
      if (depth > invoice.decisions.length) continue;
      const next = strategy.next(invoice, depth - 1);
      chosen[i]!.push(choiceOf(next, invoice, depth - 1));
      if (depth === 1 && next === "card") cardRequested.push(invoice);
    }
    for (const measure of open) {
      const answer = estimateStrategy(invoices, chosen, depth, measures[measure]);
      if (isEstimate(answer) || depth === 1) answers[measure] = answer;
      if (!isEstimate(answer)) open.delete(measure);
    }
  }
  const { count, money } = answers;
  const missing = isEstimate(money!) || money!.why === "chances" ? null : findUnseenChoice(invoices, chosen);
  const { name, words } = strategy;
  return { name, words, count: count!, money: money!, asked: recoveryTotalsOf(cardRequested), missing };
}

/** Rarer first retries hardly matter. */
const MIN_WANTED_SHARE = 0.05;
/** A choice is rare if its share is below this fraction of the strategy's. */
const RARE_CHOICE_RATIO = 1 / 4;

/** The strategy's most frequent first retry that the merchant's system rarely made. */
function findUnseenChoice(
  invoices: readonly FailedInvoice[],
  chosen: readonly (readonly number[])[],
): UnseenChoice | null {
  const retries = Array.from({ length: STOP_CHOICE }, (_, choice) => ({
    choice,
    wanted: chosen.filter(([first]) => first === choice).length / invoices.length,
    made: invoices.filter(({ decisions }) => decisions[0]!.choice === choice).length / invoices.length,
  }));
  const rare = retries.filter(({ wanted, made }) => wanted >= MIN_WANTED_SHARE && made < RARE_CHOICE_RATIO * wanted);
  return rare.sort((a, b) => b.wanted - a.wanted)[0] ?? null;
}

function summarizeFirstGaps(invoices: readonly FailedInvoice[]): BacktestResult["firstGaps"] {
  return Array.from({ length: CHOICE_COUNT }, (_, choice) => {
    const matching = invoices.filter(({ decisions }) => decisions[0]!.choice === choice);
    const succeeded = matching.filter(({ decisions }) => decisions[0]!.succeeded).length;
    return {
      words: gapText(choice),
      share: matching.length / Math.max(1, invoices.length),
      succeeded: matching.length === 0 || choice === STOP_CHOICE ? null : succeeded / matching.length,
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
