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
  card_change: "another card or payment method was needed, so no retry was planned",
  stop: "no retry was worth planning",
  wait: "no retry was planned yet",
};

const describeRetryCount = (count: number) => `${count} ${count === 1 ? "retry" : "retries"}`;

const describeEvenlySpacedCount = (count: number) =>
  `${count} evenly spaced ${count === 1 ? "retry" : "retries"}${count === EVENLY_SPACED_RETRY_COUNT ? "" : ", as many as possible,"}`;

/** Compares with a plan of as many retries. A longer plan recovers more by its length alone. */
function compareWithSameCount({ tries, plan, asMany }: NonNullable<DecisionAccount["even"]>): string | null {
  if (plan.length <= tries.length || tries.length === 0) return null;
  const extraCount = plan.length - tries.length;
  if (!asMany)
    return `With ${describeRetryCount(extraCount)} more than the evenly spaced ones, it reaches more by ${extraCount === 1 ? "that" : "these"} alone.`;
  const { recovers, worth } = asMany;
  return `A plan of ${describeRetryCount(tries.length)}, as many as the evenly spaced ones, would recover it with a chance of ${formatPercent(recovers)}, expected value ${formatPercent(worth)}.`;
}

/**
 * Compares six evenly spaced retries with the first plan that knew how the invoice had failed. A later plan knows the outcomes of
 * other retries, and a plan made before the failure was known may be for a card that cannot work.
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
    // A retry without compared times was decided by fixed rules.
    const kind =
      (["retry", "card_change"] as const).find((preferredKind) => kinds.includes(preferredKind)) ?? kinds.at(-1)!;
    const since = before ? " since the failure is known" : "";
    return [`No alternatives were computed${since}: ${NO_COMPARISON_WORDING[kind]}.`];
  }
  const { tries, recovers, worth, plan, planRecovers, planWorth } = first.account.even!;
  const days = (dates: readonly Date[]) => dates.map((at) => formatDay(localDay(zone, at.getTime()))).join(", ");
  return [
    `As seen on ${formatTime(zone, first.madeAt)}, when times were first compared${before ? " with the failure known" : ""}, by the same model, minus the cost and margin of each retry:`,
    tries.length === 0
      ? "No evenly spaced retry was possible."
      : `${describeEvenlySpacedCount(tries.length)} on ${days(tries)} ${tries.length === 1 ? "recovers" : "recover"} it with a chance of ${formatPercent(recovers)}, expected value ${formatPercent(worth)} of the amount.`,
    plan.length === 0
      ? NO_PLAN
      : `The plan${first === decisions.at(-1) ? "" : " at that time"}, ${describeRetryCount(plan.length)} on ${days(plan)}, recovers it with a chance of ${formatPercent(planRecovers)}, expected value ${formatPercent(planWorth)}.`,
    ...[compareWithSameCount(first.account.even!)].filter((sentence) => sentence !== null),
    ...(plan.length > 0 && tries.length > 0 && toHundredths(worth) === toHundredths(planWorth) ? [EQUAL_VALUE] : []),
    ...(plan.length > 0 && toHundredths(worth) > toHundredths(planWorth)
      ? [`It was chosen all the same. ${explainLowerValuePlan(first.account, payer.paymentMethodType)}`]
      : []),
    evenlySpacedCaveat(instrumentOf(payer), plan.length > 0),
  ];
}

/** Explains why the chosen plan has a lower expected value than evenly spaced retries. */
function explainLowerValuePlan(account: DecisionAccount, paymentMethodType: string | null | undefined): string {
  const isHopeless = account.even!.planWorth <= 0 && !account.spread;
  const reasons = [
    ...(isHopeless ? [NOT_WORTH_RETRYING] : []),
    ...describeSampling(account),
    ...(findBankDebit(paymentMethodType) ? [WAITS_FOR_DEBIT_ANSWER] : []),
  ];
  return reasons.length > 0 ? reasons.join(" ") : PLAN_IS_APPROXIMATE;
}

const EQUAL_VALUE = "Rounded to whole percent, the plan and the evenly spaced retries have the same expected value.";
const NO_PLAN = "No plan was made: no retry was worth its cost.";
const NOT_WORTH_RETRYING =
  "No retry seems worth its cost. A sample of such cases is retried regardless of cost, to keep the model accurate.";
const WAITS_FOR_DEBIT_ANSWER =
  "A plan waits for the answer to each debit before the next one, and evenly spaced retries do not.";
