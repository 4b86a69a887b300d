import type { EndReason } from "../domain/case.ts";
import type { DecisionRecord } from "../domain/decision.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import { isApproved } from "../domain/transaction.ts";
import { findBankDebit } from "../engine/rules/bank-debits.ts";
import { isCard } from "../engine/rules/instrument.ts";
import { REPORTING_GRACE_DAYS } from "../experiments/experiments.ts";
import { wouldAskCustomer } from "../explain/customer-request-wording.ts";
import type { Tx } from "../postgres/database.ts";
import { instrumentOf } from "../recovery/build-decision-facts.ts";
import { listFinishedRetries } from "../recovery/observed-retries.ts";
import { casesInShadow, type ShadowCase } from "../tables/cases.ts";
import { decisionsOfCases } from "../tables/decisions.ts";
import { type TransactionFacts, transactionsForCases } from "../tables/transactions.ts";

/** A try this near to the moment that Dunlin would have chosen counts as made then. */
const SAME_TIME_MS = 12 * HOUR_MS;
/** A decision this soon before a try may rest on it already: the merchant's clock is not ours. */
const CLOCK_SKEW_MS = 5 * 60_000;
/** A page may have asked for it, and requests of others wait for what is made of so many. */
const CASES_PER_BATCH = 100;

/** How a try of the merchant's own system lies beside what Dunlin would have done next by what was known before it. */
export const STANCES = ["same", "earlier", "later", "card_change", "stop", "wait", "unknown"] as const;
export type Stance = (typeof STANCES)[number];

interface RetryCounts {
  tries: number;
  approved: number;
}

/** What shadow mode saw. */
export interface ShadowFigures {
  /** When the first of the cases began; null: there is none. */
  since: Date | null;
  cases: number;
  /** Of these, in which the customer would have been asked for another card or payment method, or to confirm. */
  asked: number;
  /**
   * Of all cases, what is old enough to count, and what of it was paid, by whomever. Paid cases end at once and others with their window, so what is over
   * says nothing: each counts as many days after its window as an experiment waits. Where in the end nothing was to be paid (voided, refunded, a draft again) counts nowhere.
   */
  counted: number;
  paid: number;
  /** The others, and from when on the first and the last of them count. */
  young: { cases: number; firstAt: Date | null; lastAt: Date | null };
  /** Of those that count, by currency: how many, and minor units. */
  money: Map<string, { cases: number; due: number; paid: number }>;
  /** Of those that count, the ones of which Dunlin made a plan at the first decision that knew how they had failed: how many its plans would have recovered, by its own model, how many were paid, and how many are bank debits, or neither these nor by card. */
  planned: { cases: number; expected: number; paid: number; debits: number; others: number };
  /** Tries of the merchant's own system, after the first charge of each case. */
  stances: Record<Stance, RetryCounts>;
  /** Of the tries made when Dunlin would have, those to which the learned engine gave a chance, and the sum of these chances. */
  foreseen: RetryCounts & { expected: number };
  /** Tries at moments at which a rule of a card network or a scheme leaves none. */
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
 * Compare what Dunlin would have done with what the merchant's own system did, over the cases that shadow mode left to it.
 *
 * @param from  only cases that became unpaid since then
 * @param onCases  hears how many were compared so far; what it throws ends the comparison
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
    for (const kase of cases)
      addCase(figures, kase, decisions.get(kase.id) ?? [], attempts.get(kase.invoiceId) ?? [], now);
    await onCases?.(figures.cases);
    after = last;
  }
}

/**
 * Count a case in.
 *
 * @param decisions  in the case, oldest first
 * @param onInvoice  attempts on its invoice, oldest first
 */
export function addCase(
  figures: ShadowFigures,
  kase: ShadowCase,
  decisions: readonly DecisionRecord[],
  onInvoice: readonly TransactionFacts[],
  now: Date,
) {
  figures.since ??= kase.unpaidAt;
  figures.cases++;
  if (decisions.some(wouldAskCustomer)) figures.asked++;
  addOutcome(figures, kase, findFirstInformedDecision(decisions, onInvoice), onInvoice[0], now);
  for (const attempt of listFinishedRetries(kase, onInvoice)) {
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
 * The decision whose plan is held against what was paid: the first one that knew of a failed attempt, since one made of the invoice alone may plan for a card that
 * can't work. Where no failed attempt was ever pushed the first one of all; where they came after the last decision none, as no plan was made with them.
 */
const findFirstInformedDecision = (decisions: readonly DecisionRecord[], onInvoice: readonly TransactionFacts[]) =>
  onInvoice.some(({ state }) => state === "FAILED")
    ? decisions.find(({ account }) => account.knowsFailure)
    : decisions[0];

const ENDED_WITHOUT_DEBT: readonly (EndReason | null)[] = ["voided", "refunded", "draft"];

function addOutcome(
  figures: ShadowFigures,
  { amount, currency, endReason, isPaid, windowEndsAt }: ShadowCase,
  informed: DecisionRecord | undefined,
  charge: TransactionFacts | undefined,
  now: Date,
) {
  if (ENDED_WITHOUT_DEBT.includes(endReason)) return;
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
  const even = informed?.account.even;
  // What was given up has even tries to be held beside, and no plan.
  if (!even || even.plan.length === 0) return;
  figures.planned.cases++;
  figures.planned.expected += even.planRecovers;
  figures.planned.paid += paid;
  if (findBankDebit(charge?.paymentMethodType)) figures.planned.debits++;
  else if (charge && !isCard(instrumentOf(charge))) figures.planned.others++;
}

/** Of a try, by the latest decision that cannot know of it. */
function stanceOf(decision: DecisionRecord | undefined, at: number): Stance {
  if (!decision) return "unknown";
  if (decision.kind !== "retry") return decision.kind;
  const late = at - decision.idealTime!.getTime();
  return Math.abs(late) <= SAME_TIME_MS ? "same" : late < 0 ? "earlier" : "later";
}

function addRetry(tries: RetryCounts, approved: number) {
  tries.tries++;
  tries.approved += approved;
}
