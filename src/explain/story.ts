import type { EndReason } from "../domain/case.ts";
import { formatMoneyText } from "../domain/currency.ts";
import type { ActionStatus, RecoveryAction } from "../domain/recovery-action.ts";
import type { TransactionState } from "../domain/transaction.ts";
import type { Zone } from "../engine/local-time.ts";
import { describeFailure } from "../engine/reasons.ts";
import { interpretDecline } from "../engine/rules/interpret-decline.ts";
import { declineCodesOf, instrumentOf } from "../recovery/build-decision-facts.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { describeRequest, describeShadowAction, wouldAskCustomer } from "./customer-request-wording.ts";
import { formatTime } from "./explain-retry-time.ts";
import type { ExplainedCase } from "./load-explained-case.ts";
import { describePersonsRequest, findStopper, isRequestedByHand } from "./persons-requests.ts";

export const nameZone = ({ name }: Zone) => `Times are those of ${name}.`;

interface StoryEvent {
  at: Date;
  words: string;
  isEnd?: true;
  /** Made by a person, a key or a command. Its effect is an event of its own, and may have an earlier time: gateways round. */
  isRequest?: true;
}

/** Returns the history of an invoice, oldest event first. */
export function listStoryEvents(
  { case: recoveryCase, transactions, actions, decisions, requests }: ExplainedCase,
  zone: Zone,
): StoryEvent[] {
  const events: StoryEvent[] = transactions.map((t) => ({ at: t.createdAt, words: describeAttempt(t) }));
  for (const request of requests)
    events.push({ at: request.at, words: describePersonsRequest(request, zone), isRequest: true });
  const isOver = recoveryCase !== null && recoveryCase.endedAt !== null;
  for (const action of actions)
    if (action.decidedAt) events.push({ at: action.decidedAt, words: describeAction(action, isOver, zone) });
  if (recoveryCase?.arm === "shadow") {
    let last: string | null = null;
    const firstAsk = decisions.find(wouldAskCustomer);
    for (const decision of decisions) {
      const { kind, madeAt, idealTime } = decision;
      const text = `Shadow mode: Dunlin would ${describeShadowAction(decision, firstAsk)}${kind === "retry" ? ` on ${formatTime(zone, idealTime!)}` : ""}.`;
      // A new fact may lead to the same decision.
      if (text !== last) events.push({ at: madeAt, words: text });
      last = text;
    }
  }
  if (recoveryCase)
    events.push({ at: recoveryCase.unpaidAt, words: "The invoice became unpaid, and the recovery window began." });
  if (recoveryCase?.endedAt)
    events.push({
      at: recoveryCase.endedAt,
      words: `The case ended: ${describeEnd(recoveryCase.endReason!, decisions, findStopper({ case: recoveryCase, requests }))}`,
      isEnd: true,
    });
  return events.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Returns the history below the invoice's id and amount, one event per line. */
export function buildStory(explained: ExplainedCase, zone: Zone): string[] {
  const { invoice, earlierCases } = explained;
  const lines = listStoryEvents(explained, zone).map(({ at, words }) => `${formatTime(zone, at)}  ${words}`);
  const head = `${invoice.id}: ${formatMoneyText(invoice.amount, invoice.currency)}, ${invoice.state}.`;
  const before =
    earlierCases.length > 0
      ? [`It was in recovery ${earlierCases.length === 1 ? "once" : `${earlierCases.length} times`} before.`]
      : [];
  return [head, nameZone(zone), ...before, ...lines];
}

/** Describes an action and its outcome. */
function describeAction(action: RecoveryAction, isOver: boolean, zone: Zone): string {
  const { type, status, attemptedAt, idealRetryTime, reasons } = action;
  const ideal = formatTime(zone, idealRetryTime);
  const attemptTime = attemptedAt && formatTime(zone, attemptedAt);
  const at = attemptTime === null || (type === "RETRY" && attemptTime === ideal) ? "" : ` on ${attemptTime}`;
  if (type === "RETRY")
    return `A retry on ${ideal} was requested${isRequestedByHand(action) ? " by hand" : ""}${RETRY_WORDING[status](at)}.`;
  const open = isOver ? "" : "; one may still come";
  const end =
    isOver && status === "SENT" ? ", and none came before the case ended" : CARD_CHANGE_WORDING[status](at, open);
  return `${describeRequest(reasons)} was requested${end}.`;
}

/** `open` is added while the case is open. */
type OutcomeWording = Readonly<Record<ActionStatus, (at: string, open?: string) => string>>;

const UNDELIVERED_WORDING = {
  SCHEDULED: () => ", and the request is on its way",
  CANCELED: () => ", but a payment came first, or the request was withdrawn",
  DELIVERY_FAILED: () => ", but the endpoint did not accept the request",
} as const;

const RETRY_WORDING: OutcomeWording = {
  ...UNDELIVERED_WORDING,
  SENT: () => ", and its outcome is awaited",
  SUCCEEDED: (at) => `, and succeeded${at}`,
  FAILED: (at) => `, and failed${at}`,
  EXPIRED: () => ", and no result was reported",
};

const CARD_CHANGE_WORDING: OutcomeWording = {
  ...UNDELIVERED_WORDING,
  SENT: () => ", and may still come",
  SUCCEEDED: (at) => `, and the invoice was paid${at}`,
  FAILED: () => ", and none came",
  EXPIRED: (_, open = "") => `, and no payment followed within seven days${open}`,
};

const ATTEMPT_WORDING: Readonly<Record<Exclude<TransactionState, "FAILED">, string>> = {
  PAID: "succeeded",
  PENDING: "was made, and its outcome is awaited",
  VOIDED: "was voided",
  REFUNDED: "succeeded, and was refunded later",
  DISPUTED: "succeeded, and is disputed",
};

export function describeAttempt(t: TransactionFacts): string {
  if (t.amount === 0) return `A card was checked: ${t.state === "FAILED" ? "it was declined" : "no money moved"}.`;
  const who = t.initiator === "CUSTOMER" ? "The customer's attempt" : "An attempt";
  if (t.state !== "FAILED") return `${who} ${ATTEMPT_WORDING[t.state]}.`;
  return describeFailure(who, interpretDecline(declineCodesOf(t), instrumentOf(t)));
}

/** Describes the end of a case: the actor that stopped it; if Dunlin gave up, whether a rule or the expected value decided. */
function describeEnd(reason: EndReason, decisions: ExplainedCase["decisions"], stopper: string | undefined): string {
  if (stopper !== undefined) return describeStop(stopper);
  const last = decisions.at(-1);
  if (reason !== "hopeless" || last?.kind !== "stop") return END_REASON_WORDING[reason];
  return `${END_REASON_WORDING.hopeless.slice(0, -1)}, because ${last.modelVersion === null ? ENDED_BY_RULES : ENDED_AS_UNLIKELY}`;
}

/** Completes "The case ended:". */
export const describeStop = (stopper: string) => `the recovery of this invoice was stopped by ${stopper}.`;

const ENDED_BY_RULES = "a rule or the bank's decline ruled out another retry.";
const ENDED_AS_UNLIKELY = "no allowed retry was worth its cost.";

/** Ends after which nothing was left to recover. */
export const NOTHING_DUE: ReadonlySet<EndReason> = new Set(["voided", "refunded", "draft", "settled"]);

export const END_REASON_WORDING: Readonly<Record<EndReason, string>> = {
  paid: "the invoice is paid.",
  voided: "the invoice was voided.",
  uncollectible: "the merchant wrote the invoice off.",
  refunded: "the invoice was refunded.",
  draft: "the invoice became a draft again.",
  subscription_canceled: "the subscription was canceled.",
  subscription_expired: "the subscription expired.",
  window_over: "the recovery window was over.",
  budget_used: "all retries of the budget were used.",
  hopeless: "Dunlin gave up on the invoice.",
  settled: "the remaining amount was credited.",
  stopped_by_hand: "a person stopped the recovery of this invoice; the audit log says who.",
  left_out: "a recovery rule leaves the invoice to the merchant's own system.",
};
