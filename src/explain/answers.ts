import { formatMoneyText } from "../domain/currency.ts";
import type { DecisionRecord } from "../domain/decision.ts";
import { nameRule } from "../domain/recovery-rule.ts";
import { isApproved } from "../domain/transaction.ts";
import { findCustomerLocale } from "../engine/customer-locale.ts";
import { describeLocalTime } from "../engine/decision-account.ts";
import type { Zone } from "../engine/local-time.ts";
import { isRetryOfRenewableCard } from "../engine/reasons.ts";
import { formatPercent, formatTenths } from "../engine/shares.ts";
import { describeConflict } from "../recovery/conflict-wording.ts";
import {
  describeRequest,
  describeRequestedChange,
  describeShadowAction,
  wouldAskCustomer,
} from "./customer-request-wording.ts";
import { explainEvenlySpacedRetries } from "./explain-evenly-spaced.ts";
import {
  describeBlockEnd,
  describeSampling,
  explainHour,
  explainNotToday,
  formatTime,
  introduceEarlierReasons,
  isShadowRetryPast,
  SHADOW_PLAN_STANDS,
} from "./explain-retry-time.ts";
import type { ExplainedCase } from "./load-explained-case.ts";
import { findStopper } from "./persons-requests.ts";
import { buildStory, describeStop, END_REASON_WORDING, nameZone } from "./story.ts";
import { describeUnansweredRequest } from "./unanswered-request.ts";

/** A question about an invoice and its answer, one sentence per line. */
export interface Answer {
  question: string;
  answer: string[];
  /** Whether there is something to say. If not, people are not shown the question. */
  applies: boolean;
  /** Whether it is shown only to readers who ask for everything. */
  isDetail: boolean;
}

/** Answers the questions that people ask about an invoice from its stored decisions. */
export function buildExplanation(explained: ExplainedCase): Answer[] {
  const zone = findCustomerZone(explained);
  const answer = removeZoneNames(buildStory(explained, zone), zone);
  const history = { question: "History", answer, applies: true, isDetail: false };
  return [history, ...buildAnswers(explained)];
}

export const nameTimeZone = (explained: ExplainedCase): string => nameZone(findCustomerZone(explained));

/** The first question about an open case, and about an ended one. */
export const PLANNED_QUESTION = "Next step";
export const STOPPED_QUESTION = "Why did it stop?";

/** Answers all questions except the one about the history. */
export function buildAnswers(explained: ExplainedCase): Answer[] {
  const zone = findCustomerZone(explained);
  const { decisions } = explained;
  const latest = decisions.at(-1) ?? null;
  const answered = (question: string, answer: string[], applies = true): Answer => ({
    question,
    answer: removeZoneNames(answer, zone),
    applies,
    isDetail: DETAILS.has(question),
  });
  if (!explained.case) return [answered(UNDECIDED_QUESTION, [explainNoCase(explained)])];
  const stopReasons = explainStop(explained, latest, zone);
  const stopped = answered(STOPPED_QUESTION, stopReasons, stopReasons[0] !== NOT_STOPPED_ANSWER);
  const undecided = explainUndecided(explained);
  if (undecided) return [answered(UNDECIDED_QUESTION, [undecided]), stopped];
  const isOpen = explained.case.endedAt === null;
  const isRetry = latest!.kind === "retry";
  const cardChange = explainCardChange(explained, zone);
  const wasCompared = decisions.some(({ account }) => account.even !== null);
  return [
    answered(PLANNED_QUESTION, describePlan(explained, latest!, zone), isOpen),
    answered("Why not today?", explainNotToday(explained, latest!, zone), isOpen && isRetry),
    answered("Why this hour?", explainHour(explained, latest!, zone), isOpen ? isRetry : wasRetried(explained)),
    answered("Limits", describeRules(explained, latest!, zone)),
    answered("Why a new card?", cardChange, cardChange[0] !== NO_CARD_CHANGE),
    stopped,
    answered("Compared with six evenly spaced retries", explainEvenlySpacedRetries(explained, zone), wasCompared),
    answered("Changes since the last decision", describeChanges(latest!), latest!.number > 1),
    answered("Input data", describeFacts(latest!, zone)),
    answered("How Dunlin chose", describeChoice(latest!)),
  ];
}

/** Whether a retry was executed, or in shadow mode would have been requested. */
const wasRetried = ({ case: recoveryCase, actions, decisions }: ExplainedCase) =>
  recoveryCase!.arm === "shadow"
    ? decisions.some(({ kind }) => kind === "retry")
    : actions.some(({ type, status }) => type === "RETRY" && (status === "SUCCEEDED" || status === "FAILED"));

const DETAILS: ReadonlySet<string> = new Set([
  "Why this hour?",
  "Compared with six evenly spaced retries",
  "Changes since the last decision",
  "Input data",
  "How Dunlin chose",
]);

const UNDECIDED_QUESTION = "Why Dunlin did nothing";

/** Removes the zone from sentences: stored ones name it with each time, and the answers name it once. */
export function removeZoneNames(lines: readonly string[], zone: Zone): string[] {
  const zoneNames = [` (${zone.name})`, ` ${describeLocalTime(zone)}`];
  return lines.map((line) => zoneNames.reduce((text, zoneName) => text.replaceAll(zoneName, ""), line));
}

/** Explains one decision by itself: why its time is not the plan's next one, and which rules excluded times. */
export function describeDecision(explained: ExplainedCase, decision: DecisionRecord): string[] {
  const zone = findCustomerZone(explained);
  return removeZoneNames([...describeSampling(decision.account), ...describeRules(explained, decision, zone)], zone);
}

/** Explains why nothing was decided about an invoice without a case. */
export function explainNoCase(explained: ExplainedCase): string {
  const { invoice, transactions } = explained;
  const waits = describeWait(explained);
  if (waits !== null) return waits;
  const isPaidAtOnce = invoice.state === "PAID" && transactions[0] && isApproved(transactions[0]);
  return isPaidAtOnce ? "It was paid at the first attempt, so there was nothing to decide." : NEVER_IN_RECOVERY;
}

/** Explains why nothing was decided in a case; null if something was. */
export function explainUndecided(explained: ExplainedCase): string | null {
  const { case: recoveryCase, decisions } = explained;
  if (recoveryCase!.arm === "merchant") return HOLDOUT_ANSWER;
  if (decisions.length > 0) return null;
  const waits = recoveryCase!.endedAt ? null : describeWait(explained);
  if (waits !== null) return waits;
  return recoveryCase!.endedAt
    ? "Nothing was decided before the case ended, or the decision is no longer stored."
    : "The case was not processed yet, so nothing was decided.";
}

/** Explains why Dunlin requests nothing although the invoice is unpaid; null if no fact prevents it. */
export function describeWait(explained: ExplainedCase): string | null {
  const { balance, invoice, smallestAmount } = explained;
  if (balance?.conflict)
    return `Facts contradict each other, so Dunlin requests no payment. ${describeConflict(balance.conflict, (at) => formatTime(findCustomerZone(explained), at))}`;
  if (!balance || balance.unpaidAmount === 0 || balance.unpaidAmount >= smallestAmount) return null;
  return `${formatMoneyText(balance.unpaidAmount, invoice.currency)} is left to pay, which is less than the smallest amount that this merchant retries (${formatMoneyText(smallestAmount, invoice.currency)}).`;
}

/**
 * Returns the customer's zone. If the latest attempt names no country, an earlier one on the invoice does: the decisions were
 * made with it.
 */
export function findCustomerZone({
  invoice: { currency },
  payer: { customerTimezone, cardCountry },
  transactions,
}: ExplainedCase): Zone {
  const country = cardCountry ?? transactions.findLast((t) => t.cardCountry !== undefined)?.cardCountry;
  return findCustomerLocale({ customerTimezone: customerTimezone ?? null, cardCountry: country ?? null, currency })
    .zone;
}

/** The answer for an invoice without a case. */
export const NEVER_IN_RECOVERY =
  "This invoice was never in recovery. It was not pushed as unpaid while its recovery window was open, or it comes from an imported history.";

/** The answer for a case in the arm `merchant`. */
export const HOLDOUT_ANSWER =
  "An experiment assigned this customer to the merchant's own system. Dunlin requests nothing and only observes the invoice.";

/** The answer for a case in shadow mode. */
export const SHADOW_ANSWER =
  "The case began in shadow mode. The merchant's own system retries; Dunlin only logs what it would do.";

/** Returns what Dunlin would do next. */
function describeShadowPlan(explained: ExplainedCase, latest: DecisionRecord, zone: Zone): string[] {
  const { kind, idealTime, chance, account } = latest;
  const chanceWords = chance === null ? "" : `, with a chance of ${formatPercent(chance)}`;
  const timeText = kind === "retry" ? ` on ${formatTime(zone, idealTime!)}${chanceWords}` : "";
  if (isShadowRetryPast(explained, latest))
    return [
      `It would have requested a retry${timeText}. ${SHADOW_PLAN_STANDS}`,
      introduceEarlierReasons(latest, zone),
      ...account.reasons,
    ];
  return [
    `It would ${describeShadowAction(latest, explained.decisions.find(wouldAskCustomer))}${timeText}.`,
    ...account.reasons,
  ];
}

/** Returns the action that the first answer is about; undefined: none. */
export const findPlannedAction = ({ case: recoveryCase, actions }: ExplainedCase) =>
  recoveryCase?.endedAt === null
    ? actions.findLast(({ status }) => status === "SCHEDULED" || status === "SENT")
    : undefined;

export function describePlan(explained: ExplainedCase, latest: DecisionRecord, zone: Zone): string[] {
  const { case: recoveryCase } = explained;
  if (recoveryCase!.endedAt) return ["Nothing: the case has ended."];
  if (recoveryCase!.arm === "shadow") return [SHADOW_ANSWER, ...describeShadowPlan(explained, latest, zone)];
  const action = findPlannedAction(explained);
  if (!action) return [describeWait(explained) ?? latest.account.reasons].flat();
  const subject = action.type === "RETRY" ? "A retry" : describeRequestedChange(action.reasons);
  const chanceText =
    latest.actionId === action.id && latest.chance !== null
      ? ` The chance of success is ${formatPercent(latest.chance)}.`
      : "";
  const time = formatTime(zone, action.idealRetryTime);
  const state =
    action.status === "SENT"
      ? `was requested for ${time}, and the merchant's endpoint has accepted the request`
      : action.decidedAt
        ? `is being requested for ${time}, and the merchant's endpoint has not accepted the request yet`
        : `is planned for ${time} and may still change`;
  return [`${subject} ${state}.${chanceText}`, ...action.reasons];
}

function describeRules(explained: ExplainedCase, latest: DecisionRecord, zone: Zone): string[] {
  const { madeAt, account } = latest;
  const { ruledOut, reasons, known, about } = account;
  const isRuledOut = (sentence: string) => ruledOut.some(({ rule }) => rule === sentence);
  const sentencesAt = (sentences: readonly string[], places: readonly number[]) =>
    places.map((index) => sentences[index]!);
  const waits = sentencesAt(reasons, about.wait).filter((wait) => !isRuledOut(wait));
  return [
    ...describeRecoveryRule(explained),
    ...(ruledOut.length === 0 && waits.length === 0
      ? [`On ${formatTime(zone, madeAt)}, no rule excluded any time in the rest of the recovery window.`]
      : []),
    ...ruledOut.flatMap((ruled) => [
      `No retry from ${formatTime(zone, ruled.from)} to ${describeBlockEnd(ruled, explained, zone)}: ${ruled.rule}`,
      `Source: ${ruled.source}.`,
    ]),
    ...waits,
    ...sentencesAt(reasons, about.rule),
    ...withHeading(`As counted on ${formatTime(zone, madeAt)}:`, sentencesAt(known, about.limit)),
  ];
}

/** Which recovery rule gives the window and the budget. */
function describeRecoveryRule({ case: recoveryCase, rule }: ExplainedCase): string[] {
  if (!rule) return [];
  const { ruleWindowDays: days, ruleBudget: budget } = recoveryCase!;
  const given = [
    ...(days === null ? [] : [`a window of ${days} ${days === 1 ? "day" : "days"}`]),
    ...(budget === null ? [] : [`a budget of ${budget} ${budget === 1 ? "retry" : "retries"}`]),
  ];
  const name = nameRule(rule);
  return given.length === 0
    ? [`${name} fits this invoice. The window and the budget come from the settings.`]
    : [`${name} gives this invoice ${given.join(" and ")}.`];
}

const withHeading = (heading: string, lines: string[]) => (lines.length === 0 ? [] : [heading, ...lines]);

const describeFacts = ({ madeAt, account: { known, about } }: DecisionRecord, zone: Zone) =>
  withHeading(
    `As of ${formatTime(zone, madeAt)}:`,
    known.filter((_, index) => !about.limit.includes(index)),
  );

const SHADOW_CARD_CHANGE =
  "Dunlin would also ask for another card or payment method at once. In shadow mode it cannot ask, so it plans retries of the current card, which the bank may renew.";

const NO_CARD_CHANGE = "No other card or payment method was requested.";

function explainCardChange({ case: recoveryCase, decisions }: ExplainedCase, zone: Zone): string[] {
  const request = decisions.findLast(({ kind }) => kind === "card_change");
  const was = recoveryCase!.arm === "shadow" ? "would have been" : "was";
  if (request)
    return [
      `${describeRequest(request.account.reasons)} ${was} requested on ${formatTime(zone, request.madeAt)}:`,
      ...request.account.reasons,
    ];
  const latest = decisions.at(-1);
  if (recoveryCase!.arm === "shadow" && latest && isRetryOfRenewableCard(latest.account.reasons))
    return [SHADOW_CARD_CHANGE];
  return [
    NO_CARD_CHANGE,
    ...(!recoveryCase!.endedAt && latest?.kind === "retry"
      ? ["The current one may still work: see the next step."]
      : []),
  ];
}

const NOT_STOPPED_ANSWER = "It has not stopped.";

function explainStop(explained: ExplainedCase, latest: DecisionRecord | null, zone: Zone): string[] {
  const { case: recoveryCase } = explained;
  const gaveUp = latest?.kind === "stop" ? latest.account.reasons : [];
  if (recoveryCase!.endedAt) {
    const stopper = findStopper(explained);
    const request = describeUnansweredRequest(explained, zone);
    const isGivenUp = recoveryCase!.endReason === "hopeless" || recoveryCase!.endReason === "budget_used";
    return isGivenUp && gaveUp.length > 0
      ? ["Dunlin gave up on the invoice.", ...gaveUp]
      : [
          stopper !== undefined
            ? `The case ended: ${describeStop(stopper)}`
            : recoveryCase!.endReason === "left_out" && explained.rule
              ? `${nameRule(explained.rule)} leaves this invoice to the merchant's own system.`
              : `The case ended: ${END_REASON_WORDING[recoveryCase!.endReason!]}`,
          ...(request === null ? [] : [request]),
        ];
  }
  const waits = describeWait(explained);
  if (recoveryCase!.arm === "dunlin" && waits !== null) return ["It has not stopped; it waits:", waits];
  if (recoveryCase!.arm === "dunlin")
    return latest?.kind === "wait"
      ? ["It has not stopped; it waits:", ...latest.account.reasons]
      : [NOT_STOPPED_ANSWER];
  return [
    "The merchant's own system continues.",
    ...(gaveUp.length > 0 ? ["Dunlin would give up on the invoice.", ...gaveUp] : []),
  ];
}

function describeChanges(latest: DecisionRecord): string[] {
  if (latest.number === 1) return ["This is the first decision in the case."];
  const { changed: facts } = latest.account;
  return facts.length > 0 ? facts : ["No new facts: time passed, or a count changed."];
}

const PRETRAINED_ONLY =
  "This is the pretrained model: it has not learned from your payments yet, and its chances come from simulations.";

function describeChoice(latest: DecisionRecord): string[] {
  const { account, engine, modelVersion, propensity } = latest;
  const lines = [
    engine === "static"
      ? "The static policy decided by fixed rules."
      : modelVersion === null
        ? "Rules alone decided; the model was not used."
        : `The learned engine decided, with version ${modelVersion} of the model.`,
  ];
  if (modelVersion === 0) lines.push(PRETRAINED_ONLY);
  if (account.fallback) lines.push(`The merchant wants the learned engine, but ${account.fallback}.`);
  lines.push(...describeSampling(account));
  if (propensity === 1) lines.push("Nothing was sampled: no other time had a higher expected value.");
  else if (propensity !== null)
    lines.push(
      `Dunlin chose this time with a probability of ${formatTenths(propensity)}. This selection probability is used to compare strategies. It is not the chance of success.`,
    );
  return lines;
}
