import { dayWords, localDay, type Zone } from "../decisions/local-time.ts";
import { besideEven } from "../decisions/outlook.ts";
import { hundredths, percent } from "../decisions/shares.ts";
import { EVEN_TRIES } from "../decisions/spread-evenly.ts";
import type { Account, DecisionKind } from "../domain/decision.ts";
import { bankDebit } from "../rules/bank-debits.ts";
import type { Explained } from "./explain.ts";
import { drawnWords, STEP_BY_STEP, when } from "./explained-moment.ts";
import { instrumentOf } from "./known.ts";

const WITHOUT_ALTERNATIVES: Readonly<Record<DecisionKind, string>> = {
  retry: "the static policy decided, by fixed rules",
  card_change: "another card or payment method was needed, so no try was planned",
  stop: "no try was worth planning",
  wait: "no try was planned yet",
};

const triesWords = (count: number) => `${count} ${count === 1 ? "try" : "tries"}`;

const evenWords = (count: number) =>
  `${count} even ${count === 1 ? "try" : "tries"}${count === EVEN_TRIES ? "" : ", as many as could be made,"}`;

/** A plan of more tries reaches more by these alone, so what it is ahead is said of one with as many. */
function asManyWords({ tries, plan, asMany }: NonNullable<Account["even"]>): string | null {
  if (plan.length <= tries.length || tries.length === 0) return null;
  const more = plan.length - tries.length;
  if (!asMany)
    return `With ${triesWords(more)} more than the even ones it reaches more by ${more === 1 ? "that" : "these"} alone.`;
  const { recovers, worth } = asMany;
  return `A plan of ${triesWords(tries.length)}, as many as the even ones, would recover it with a chance of ${percent(recovers)}, worth ${percent(worth)}.`;
}

/**
 * By the first plan that knew how the invoice had failed, which all six were before: a later one knows what came of tries that even ones would not have made, and
 * one made of the invoice alone may be of a card that can't work.
 */
export function sixEvenTries({ decisions: all, payer }: Explained, zone: Zone): string[] {
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
    return [`No alternatives were worked out${since}: ${WITHOUT_ALTERNATIVES[kind]}.`];
  }
  const { tries, recovers, worth, plan, planRecovers, planWorth } = first.account.even!;
  const days = (dates: readonly Date[]) => dates.map((at) => dayWords(localDay(zone, at.getTime()))).join(", ");
  return [
    `As seen on ${when(zone, first.madeAt)}, when moments were first compared${before ? " knowing how the invoice had failed" : ""}, by the same model, less what each try costs and must bring beyond that:`,
    tries.length === 0
      ? "No even try could be made."
      : `${evenWords(tries.length)} on ${days(tries)} ${tries.length === 1 ? "recovers" : "recover"} it with a chance of ${percent(recovers)}, worth ${percent(worth)} of the amount.`,
    plan.length === 0
      ? NO_PLAN
      : `The plan${first === decisions.at(-1) ? "" : " of then"}, ${triesWords(plan.length)} on ${days(plan)}, recovers it with a chance of ${percent(planRecovers)}, worth ${percent(planWorth)}.`,
    ...[asManyWords(first.account.even!)].filter((words) => words !== null),
    ...(plan.length > 0 && tries.length > 0 && hundredths(worth) === hundredths(planWorth) ? [AS_GOOD] : []),
    ...(plan.length > 0 && hundredths(worth) > hundredths(planWorth)
      ? [`It was chosen all the same. ${whyAllTheSame(first.account, payer.paymentMethodType)}`]
      : []),
    besideEven(instrumentOf(payer), plan.length > 0),
  ];
}

/** Why a plan was chosen that is worth less than even tries. */
function whyAllTheSame(account: Account, paymentMethodType: string | null | undefined): string {
  const isHopeless = account.even!.planWorth <= 0 && !account.spread;
  const why = [
    ...(isHopeless ? [HOPELESS] : []),
    ...drawnWords(account),
    ...(bankDebit(paymentMethodType) ? [ANSWERED_FIRST] : []),
  ];
  return why.length > 0 ? why.join(" ") : STEP_BY_STEP;
}

const AS_GOOD = "To the percent the plan and the even tries are worth the same.";
const NO_PLAN = "No plan was made: by what was known no try was worth making.";
const HOPELESS =
  "No try seems worth making: a share of such cases is tried without counting what tries cost, to go on learning.";
const ANSWERED_FIRST =
  "A plan leaves each debit the days in which its answer comes before the next one is asked for, and even tries do not.";
