import type { EndReason } from "../domain/case.ts";
import type { DecisionRecord } from "../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { isApproved } from "../domain/transaction.ts";
import { findBankDebit } from "../engine/rules/bank-debits.ts";
import { isCard } from "../engine/rules/instrument.ts";
import { REPORTING_GRACE_DAYS } from "../experiments/maturity.ts";
import { wouldAskCustomer } from "../explain/customer-request-wording.ts";
import type { Tx } from "../postgres/database.ts";
import { instrumentOf } from "../recovery/build-decision-facts.ts";
import { listFinishedRetries } from "../recovery/observed-retries.ts";
import { casesInShadow, type ShadowCase } from "../tables/cases.ts";
import { decisionsOfCases } from "../tables/decisions.ts";
import { type TransactionFacts, transactionsForCases } from "../tables/transactions.ts";

/** A retry this close to Dunlin's time counts as made then. */
const SAME_TIME_MS = 12 * HOUR_MS;
/** A decision this short before an attempt may already know it, as the merchant's clock may differ. */
const CLOCK_SKEW_MS = 5 * 60_000;
/** A page may wait for the result, and other requests wait for each batch. */
const CASES_PER_BATCH = 100;

/** The merchant's own retry compared with Dunlin's next action by the facts before it. */
export const STANCES = ["same", "earlier", "later", "card_change", "stop", "wait", "unknown"] as const;
export type Stance = (typeof STANCES)[number];

interface RetryCounts {
  tries: number;
  approved: number;
}

export interface ShadowFigures {
  since: Date | null;
  cases: number;
  /** The customer would have been asked for another card or payment method, or to confirm. */
  asked: number;
  /**
   * Cases old enough to count, and those paid by any means. Paid cases end at once and others with their window, so ended cases
   * alone would be biased. Each counts as many days after its window as in an experiment. A case with nothing to pay in the end
   * (voided, refunded, a draft again) never counts.
   */
  counted: number;
  paid: number;
  /** Too young, and when the first and last of them will count. */
  young: { cases: number; firstAt: Date | null; lastAt: Date | null };
  /** Counted cases and amounts in minor units, by currency. */
  money: Map<string, { cases: number; due: number; paid: number }>;
  /**
   * Counted cases with a plan when the failure was first known: predicted recoveries, paid ones, bank debits, and neither debits
   * nor cards.
   */
  planned: { cases: number; expected: number; paid: number; debits: number; others: number };
  /** The merchant's own retries, without first charges. */
  stances: Record<Stance, RetryCounts>;
  /** Made when Dunlin would have made them, with the sum of the learned engine's predictions. */
  foreseen: RetryCounts & { expected: number };
  /** At times that a network's or scheme's rule forbids. */
  forbidden: RetryCounts;
}

export const newShadowFigures = (): ShadowFigures => ({
  since: null,
  cases: 0,
  asked: 0,
  counted: 0,
  paid: 0,
  young: { cases: 0, firstAt: null, lastAt: null },
  money: new Map(),
  planned: { cases: 0, expected: 0, paid: 0, debits: 0, others: 0 },
  stances: Object.fromEntries(STANCES.map((stance) => [stance, { tries: 0, approved: 0 }])) as Record<
    Stance,
    RetryCounts
  >,
  foreseen: { tries: 0, approved: 0, expected: 0 },
  forbidden: { tries: 0, approved: 0 },
});

/**
 * Compares Dunlin's decisions with the merchant's own attempts, in shadow mode.
 *
 * @param from  only cases that became unpaid since then
 * @param onCases  called with the number of cases so far; an error that it throws ends the comparison
 */
export async function computeShadowFigures(
  tx: Tx,
  merchantId: string,
  from: Date,
  now: Date,
  onCases?: (cases: number) => Promise<void>,
): Promise<ShadowFigures> {
  const figures = newShadowFigures();
  let after = { unpaidAt: new Date(from.getTime() - 1), id: "ffffffff-ffff-ffff-ffff-ffffffffffff" };
  for (;;) {
    const cases = await casesInShadow(tx, merchantId, after, CASES_PER_BATCH);
    const last = cases.at(-1);
    if (!last) return figures;
    const ids = cases.map(({ id }) => id);
    const invoiceIds = cases.map(({ invoiceId }) => invoiceId);
    const decisions = Map.groupBy(await decisionsOfCases(tx, merchantId, ids), ({ caseId }) => caseId);
    const attempts = Map.groupBy(
      await transactionsForCases(tx, merchantId, invoiceIds, [], cases[0]!.unpaidAt),
      ({ invoiceId }) => invoiceId,
    );
    for (const shadowCase of cases)
      addCase(figures, shadowCase, decisions.get(shadowCase.id) ?? [], attempts.get(shadowCase.invoiceId) ?? [], now);
    await onCases?.(figures.cases);
    after = last;
  }
}

/**
 * @param decisions  in the case, oldest first
 * @param onInvoice  attempts on its invoice, oldest first
 */
export function addCase(
  figures: ShadowFigures,
  shadowCase: ShadowCase,
  decisions: readonly DecisionRecord[],
  onInvoice: readonly TransactionFacts[],
  now: Date,
) {
  figures.since ??= shadowCase.unpaidAt;
  figures.cases++;
  if (decisions.some(wouldAskCustomer)) figures.asked++;
  addOutcome(figures, shadowCase, findFirstInformedDecision(decisions, onInvoice), onInvoice[0], now);
  for (const attempt of listFinishedRetries(shadowCase, onInvoice)) {
    const at = attempt.createdAt.getTime();
    const before = decisions.findLast(({ madeAt }) => madeAt.getTime() < at - CLOCK_SKEW_MS);
    const stance = stanceOf(before, at);
    const approved = Number(isApproved(attempt));
    addRetry(figures.stances[stance], approved);
    const chance = stance === "same" ? before!.chance : null;
    if (chance !== null) {
      addRetry(figures.foreseen, approved);
      figures.foreseen.expected += chance;
    }
    if (before?.account.ruledOut.some(({ from, to }) => from.getTime() <= at && at < to.getTime()))
      addRetry(figures.forbidden, approved);
  }
}

/**
 * Finds the first decision that knew of a failed attempt, as an earlier plan may be for a card that cannot work. If no failed
 * attempt was pushed, it is the first decision; if all were pushed after the last decision, there is none.
 */
const findFirstInformedDecision = (decisions: readonly DecisionRecord[], onInvoice: readonly TransactionFacts[]) =>
  onInvoice.some(({ state }) => state === "FAILED")
    ? decisions.find(({ account }) => account.knowsFailure)
    : decisions[0];

const NOT_FOR_RECOVERY: readonly (EndReason | null)[] = ["voided", "refunded", "draft", "left_out"];

function addOutcome(
  figures: ShadowFigures,
  { amount, currency, endReason, isPaid, windowEndsAt }: ShadowCase,
  informed: DecisionRecord | undefined,
  charge: TransactionFacts | undefined,
  now: Date,
) {
  if (NOT_FOR_RECOVERY.includes(endReason)) return;
  const countsAt = new Date(windowEndsAt.getTime() + REPORTING_GRACE_DAYS * DAY_MS);
  if (countsAt > now) {
    const { young } = figures;
    young.cases++;
    if (!young.firstAt || countsAt < young.firstAt) young.firstAt = countsAt;
    if (!young.lastAt || countsAt > young.lastAt) young.lastAt = countsAt;
    return;
  }
  const paid = Number(endReason === "paid" || isPaid);
  figures.counted++;
  figures.paid += paid;
  const money = figures.money.get(currency) ?? { cases: 0, due: 0, paid: 0 };
  money.cases++;
  money.due += amount;
  money.paid += paid * amount;
  figures.money.set(currency, money);
  const evenlySpaced = informed?.account.even;
  // A given-up case has evenly spaced retries to compare with, but no plan.
  if (!evenlySpaced || evenlySpaced.plan.length === 0) return;
  figures.planned.cases++;
  figures.planned.expected += evenlySpaced.planRecovers;
  figures.planned.paid += paid;
  if (findBankDebit(charge?.paymentMethodType)) figures.planned.debits++;
  else if (charge && !isCard(instrumentOf(charge))) figures.planned.others++;
}

/** By the latest decision that cannot know of the retry. */
function stanceOf(decision: DecisionRecord | undefined, at: number): Stance {
  if (!decision) return "unknown";
  if (decision.kind !== "retry") return decision.kind;
  const late = at - decision.idealTime!.getTime();
  return Math.abs(late) <= SAME_TIME_MS ? "same" : late < 0 ? "earlier" : "later";
}

function addRetry(counts: RetryCounts, approved: number) {
  counts.tries++;
  counts.approved += approved;
}
