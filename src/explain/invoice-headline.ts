import type { Case } from "../domain/case.ts";
import { formatMoneyText } from "../domain/currency.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import type { Zone } from "../engine/local-time.ts";
import { describeFailure } from "../engine/reasons.ts";
import { isPostponement } from "../engine/requests-by-hand.ts";
import { interpretDecline } from "../engine/rules/interpret-decline.ts";
import { declineCodesOf, instrumentOf } from "../recovery/build-decision-facts.ts";
import {
  describeWait,
  explainNoCase,
  explainUndecided,
  findCustomerZone,
  findPlannedAction,
  removeZoneNames,
} from "./answers.ts";
import { describeRequest, describeShadowAction, wouldAskCustomer } from "./customer-request-wording.ts";
import { formatTime } from "./explain-retry-time.ts";
import type { ExplainedCase } from "./load-explained-case.ts";
import { describeCurrentPostponement, findStopper } from "./persons-requests.ts";
import { END_REASON_WORDING, NOTHING_DUE } from "./story.ts";
import { describeUnansweredRequest } from "./unanswered-request.ts";

/** An invoice's state in a few words. Times are the customer's, without a zone. */
export interface InvoiceHeadline {
  /** The amount and its age or its end. */
  lead: string;
  /** Why it failed, and the next step. */
  rest: string;
  /** The time in `rest` that matters most, as it is written there. */
  time: string | null;
}

/** The headline as one text. */
export const joinHeadline = ({ lead, rest }: InvoiceHeadline): string => (rest === "" ? lead : `${lead} ${rest}`);

export function buildHeadline(explained: ExplainedCase): InvoiceHeadline {
  const { case: recoveryCase, invoice, balance } = explained;
  const amount = formatMoneyText(balance?.unpaidAmount || recoveryCase?.amount || invoice.amount, invoice.currency);
  if (recoveryCase === null) return headline(`${amount} is ${stateWords(explained)}.`, [explainNoCase(explained)]);
  if (recoveryCase.endedAt !== null) return describeEnded(explained, recoveryCase, amount);
  const wait = describeWait(explained);
  if (balance?.conflict) return headline(`It is not clear whether ${amount} is unpaid.`, [CONFLICT_WORDING]);
  const age = formatAge(explained.now.getTime() - recoveryCase.unpaidAt.getTime());
  const partText =
    balance && balance.unpaidAmount < invoice.amount ? ` of ${formatMoneyText(invoice.amount, invoice.currency)}` : "";
  const { sentence, time = null } = describeNext(explained, recoveryCase, wait);
  return headline(`${amount}${partText} has been unpaid for ${age}.`, [describeFailures(explained), sentence], time);
}

const headline = (lead: string, sentences: readonly string[], time: string | null = null): InvoiceHeadline => ({
  lead,
  rest: sentences.filter((sentence) => sentence !== "").join(" "),
  time,
});

const CONFLICT_WORDING = "The facts about it contradict each other, so Dunlin requests no payment until they change.";

const stateWords = ({ invoice: { state } }: ExplainedCase) => state.toLowerCase().replaceAll("_", " ");

const timeText = (zone: Zone, at: Date) => withoutZone(zone, formatTime(zone, at));
/** The reader sees the zone once. */
const withoutZone = (zone: Zone, sentence: string) => removeZoneNames([sentence], zone)[0]!;

/** "16 days", "5 hours", "less than an hour". */
function formatAge(ms: number): string {
  const [size, word] = ms >= DAY_MS ? [Math.floor(ms / DAY_MS), "day"] : [Math.floor(ms / HOUR_MS), "hour"];
  return size === 0 ? "less than an hour" : `${size} ${word}${size === 1 ? "" : "s"}`;
}

/** Those since any earlier recovery ended. */
function attemptsOf({ transactions, earlierCases }: ExplainedCase) {
  const since = earlierCases.at(-1)?.endedAt ?? null;
  return transactions.filter(({ amount, createdAt }) => amount > 0 && (since === null || createdAt > since));
}

const failedAttempts = (explained: ExplainedCase) => attemptsOf(explained).filter(({ state }) => state === "FAILED");

function describeFailures(explained: ExplainedCase): string {
  const failed = failedAttempts(explained);
  const last = failed.at(-1);
  if (!last) return "";
  const declines = failed.map((t) => interpretDecline(declineCodesOf(t), instrumentOf(t)));
  const isSame = declines.every((each) => describeFailure("", each) === describeFailure("", declines[0]!));
  const which =
    failed.length === 1
      ? "The first attempt"
      : isSame
        ? failed.length === 2
          ? "Both attempts"
          : `All ${failed.length} attempts`
        : `The last of ${failed.length} attempts`;
  return describeFailure(which, declines.at(-1)!);
}

interface NextStep {
  sentence: string;
  time?: string;
}

function describeNext(explained: ExplainedCase, recoveryCase: Case, wait: string | null): NextStep {
  const zone = findCustomerZone(explained);
  const latest = explained.decisions.at(-1);
  if (recoveryCase.arm === "merchant") return { sentence: HOLDOUT_WORDING };
  const undecided = explainUndecided(explained);
  if (undecided !== null || !latest) return { sentence: undecided ?? "" };
  if (recoveryCase.arm === "shadow") {
    const what = describeShadowAction(latest, explained.decisions.find(wouldAskCustomer));
    if (latest.kind !== "retry") return { sentence: `Shadow mode: Dunlin would ${what}. ${SHADOW_WORDING}` };
    const time = timeText(zone, latest.idealTime!);
    const would = latest.idealTime! < explained.now ? `would have requested a retry` : `would ${what}`;
    return { sentence: `Shadow mode: Dunlin ${would} on ${time}. ${SHADOW_WORDING}`, time };
  }
  const action = findPlannedAction(explained);
  const postponement = describeCurrentPostponement(explained, zone);
  if (postponement !== null) return describePostponed(explained, withoutZone(zone, postponement), action, zone);
  if (action) return describeAction(action, zone);
  return { sentence: withoutZone(zone, `Dunlin waits. ${wait ?? latest.account.reasons.at(-1) ?? ""}`.trim()) };
}

/** The plan follows, unless it was made before the postponement. */
function describePostponed(
  { case: recoveryCase, decisions }: ExplainedCase,
  postponement: string,
  action: RecoveryAction | undefined,
  zone: Zone,
): NextStep {
  if (action?.type === "RETRY" && action.decidedAt === null && action.idealRetryTime < recoveryCase!.postponedUntil!)
    return { sentence: postponement };
  if (action) {
    const { sentence, ...next } = describeAction(action, zone);
    return { sentence: `${postponement} ${sentence}`, ...next };
  }
  const wait = decisions.at(-1)?.account.reasons.findLast((reason) => !isPostponement(reason));
  return { sentence: withoutZone(zone, `${postponement} ${wait ?? ""}`.trim()) };
}

const HOLDOUT_WORDING = "An experiment assigned this customer to the merchant's own system, so Dunlin only observes.";
const SHADOW_WORDING = "The merchant's own system retries.";

function describeAction({ type, status, decidedAt, idealRetryTime, reasons }: RecoveryAction, zone: Zone): NextStep {
  const time = timeText(zone, type === "RETRY" ? idealRetryTime : (decidedAt ?? idealRetryTime));
  const isDelivered = status === "SENT";
  if (type === "RETRY") {
    if (decidedAt === null) return { sentence: `The next attempt is planned for ${time}.`, time };
    return isDelivered
      ? { sentence: `A retry was requested for ${time}, and its outcome is awaited.`, time }
      : { sentence: `The instruction to retry on ${time} is waiting for delivery.`, time };
  }
  const what = describeRequest(reasons);
  if (decidedAt === null) return { sentence: `${what} is requested on ${time}.`, time };
  return isDelivered
    ? { sentence: `${what} was requested on ${time}, and may still come.`, time }
    : { sentence: `${what} was requested on ${time}, and the instruction is waiting for delivery.`, time };
}

function describeEnded(explained: ExplainedCase, { endedAt, endReason, paidAt, arm }: Case, amount: string) {
  const zone = findCustomerZone(explained);
  if (endReason === "paid") {
    const time = timeText(zone, paidAt ?? endedAt!);
    return headline(`${amount} was paid on ${time}.`, [describePayment(explained, arm)]);
  }
  const time = timeText(zone, endedAt!);
  const later = explained.invoice.state === "PAID" ? "It has been paid since." : "";
  const stopper = findStopper(explained);
  if (endReason === "stopped_by_hand")
    return headline(
      `Recovery of ${amount} was stopped ${stopper === undefined ? "by hand" : `by ${stopper}`} on ${time}.`,
      [describeFailures(explained), later],
    );
  const end = `The case ended on ${time}: ${END_REASON_WORDING[endReason!]}`;
  if (NOTHING_DUE.has(endReason!)) return headline(`${amount} is no longer due.`, [end, later], time);
  const request = withoutZone(zone, describeUnansweredRequest(explained, zone) ?? "");
  return headline(`${amount} was not recovered.`, [describeFailures(explained), request, end, later], time);
}

function describePayment(explained: ExplainedCase, arm: Case["arm"]): string {
  const failedCount = failedAttempts(explained).length;
  const after =
    failedCount === 0 ? "" : `, after ${failedCount === 1 ? "1 failed attempt" : `${failedCount} failed attempts`}`;
  if (arm !== "dunlin") return `The merchant's own system or the customer brought it${after}. Dunlin only observed.`;
  const brought = explained.actions.findLast(({ status }) => status === "SUCCEEDED");
  if (!brought) return `It was paid without an instruction of Dunlin${after}.`;
  return brought.type === "RETRY"
    ? `A retry that Dunlin requested succeeded${after}.`
    : `It was paid while Dunlin was asking for another card or payment method${after}.`;
}
