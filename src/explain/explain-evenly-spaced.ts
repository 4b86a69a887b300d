import type { DecisionAccount, DecisionKind } from "../domain/decision.ts";
import { evenlySpacedCaveat } from "../engine/alternatives.ts";
import { formatDay, localDay, type Zone } from "../engine/local-time.ts";
import { findBankDebit } from "../engine/rules/bank-debits.ts";
import { formatPercent, toHundredths } from "../engine/shares.ts";
import { EVENLY_SPACED_RETRY_COUNT } from "../engine/space-evenly.ts";
import { instrumentOf } from "../recovery/build-decision-facts.ts";
import { describeSampling, formatTime, PLAN_IS_APPROXIMATE } from "./explain-retry-time.ts";
import type { ExplainedCase } from "./load-explained-case.ts";

const NO_COMPARISON_WORDING: Readonly<Record<DecisionKind, string>> = {
  retry: "the static policy decided, by fixed rules",
  card_change: "another card or payment method was needed, so no try was planned",
  stop: "no try was worth planning",
  wait: "no try was planned yet",
};

const describeRetryCount = (count: number) => `${count} ${count === 1 ? "try" : "tries"}`;

const describeEvenlySpacedCount = (count: number) =>
  `${count} even ${count === 1 ? "try" : "tries"}${count === EVENLY_SPACED_RETRY_COUNT ? "" : ", as many as could be made,"}`;

/** A plan of more tries reaches more by these alone, so what it is ahead is said of one with as many. */
function compareWithSameCount({ tries, plan, asMany }: NonNullable<DecisionAccount["even"]>): string | null {
  if (plan.length <= tries.length || tries.length === 0) return null;
  const more = plan.length - tries.length;
  if (!asMany)
    return `With ${describeRetryCount(more)} more than the even ones it reaches more by ${more === 1 ? "that" : "these"} alone.`;
  const { recovers, worth } = asMany;
  return `A plan of ${describeRetryCount(tries.length)}, as many as the even ones, would recover it with a chance of ${formatPercent(recovers)}, worth ${formatPercent(worth)}.`;
}

/**
 * By the first plan that knew how the invoice had failed, which all six were before: a later one knows what came of tries that even ones would not have made, and
 * one made of the invoice alone may be of a card that can't work.
 */
export function explainEvenlySpacedRetries({ decisions: all, payer }: ExplainedCase, zone: Zone): string[] {
  const from = Math.max(
    0,
    all.findIndex(({ account }) => account.knowsFailure),
  );
  const decisions = all.slice(from);
  const before = all.slice(0, from).some(({ account }) => account.even !== null);
  const first = decisions.find(({ account }) => account.even !== null);
  if (!first) {
    const kinds = decisions.map(({ kind }) => kind);
    // The first of these that was met: who planned a try without comparing moments went by fixed rules.
    const kind = (["retry", "card_change"] as const).find((met) => kinds.includes(met)) ?? kinds.at(-1)!;
    const since = before ? " since it is known how the invoice had failed" : "";
    return [`No alternatives were worked out${since}: ${NO_COMPARISON_WORDING[kind]}.`];
  }
  const { tries, recovers, worth, plan, planRecovers, planWorth } = first.account.even!;
  const days = (dates: readonly Date[]) => dates.map((at) => formatDay(localDay(zone, at.getTime()))).join(", ");
  return [
    `As seen on ${formatTime(zone, first.madeAt)}, when moments were first compared${before ? " knowing how the invoice had failed" : ""}, by the same model, less what each try costs and must bring beyond that:`,
    tries.length === 0
      ? "No even try could be made."
      : `${describeEvenlySpacedCount(tries.length)} on ${days(tries)} ${tries.length === 1 ? "recovers" : "recover"} it with a chance of ${formatPercent(recovers)}, worth ${formatPercent(worth)} of the amount.`,
    plan.length === 0
      ? NO_PLAN
      : `The plan${first === decisions.at(-1) ? "" : " of then"}, ${describeRetryCount(plan.length)} on ${days(plan)}, recovers it with a chance of ${formatPercent(planRecovers)}, worth ${formatPercent(planWorth)}.`,
    ...[compareWithSameCount(first.account.even!)].filter((words) => words !== null),
    ...(plan.length > 0 && tries.length > 0 && toHundredths(worth) === toHundredths(planWorth) ? [EQUAL_VALUE] : []),
    ...(plan.length > 0 && toHundredths(worth) > toHundredths(planWorth)
      ? [`It was chosen all the same. ${explainLowerValuePlan(first.account, payer.paymentMethodType)}`]
      : []),
    evenlySpacedCaveat(instrumentOf(payer), plan.length > 0),
  ];
}

/** Why a plan was chosen that is worth less than even tries. */
function explainLowerValuePlan(account: DecisionAccount, paymentMethodType: string | null | undefined): string {
  const isHopeless = account.even!.planWorth <= 0 && !account.spread;
  const why = [
    ...(isHopeless ? [NOT_WORTH_RETRYING] : []),
    ...describeSampling(account),
    ...(findBankDebit(paymentMethodType) ? [WAITS_FOR_DEBIT_ANSWER] : []),
  ];
  return why.length > 0 ? why.join(" ") : PLAN_IS_APPROXIMATE;
}

const EQUAL_VALUE = "To the percent the plan and the even tries are worth the same.";
const NO_PLAN = "No plan was made: by what was known no try was worth making.";
const NOT_WORTH_RETRYING =
  "No try seems worth making: a share of such cases is tried without counting what tries cost, to go on learning.";
const WAITS_FOR_DEBIT_ANSWER =
  "A plan leaves each debit the days in which its answer comes before the next one is asked for, and even tries do not.";
