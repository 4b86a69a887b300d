import type { Case } from "../../domain/case.ts";
import type { DecisionRecord } from "../../domain/decision.ts";
import { cardBrandName, paymentMethodName } from "../../domain/payment-method-names.ts";
import { describeDecision, findPlannedAction } from "../../explain/answers.ts";
import { describeShadowAction, wouldAskCustomer } from "../../explain/customer-request-wording.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import type { ListedDelivery } from "../../tables/delivery-states.ts";
import type { ShownAction, ShownTransaction } from "../../tables/invoice-history.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { formatMoney } from "../show/number-format.ts";
import { deliveryStateLabel, toSpacedWords } from "../show/state-labels.ts";
import { timeElement } from "../show/time-format.ts";
import { actionState } from "./actions-page.ts";
import { consideredTimes, hasConsideredTimes } from "./considered-times.ts";

interface InvoiceHistory {
  /** Already gives the reasons for the current plan, and for the latest case's end. */
  explained: ExplainedCase;
  actions: readonly ShownAction[];
  deliveries: readonly ListedDelivery[];
  transactions: readonly ShownTransaction[];
  decisions: readonly DecisionRecord[];
  /** Shows its considered times. */
  expandedActionId: string | null;
}

interface TimelineEntry {
  at: Date;
  kind: "good" | "bad" | "plan" | "";
  /** At the same time, the effect has the higher rank. */
  rank: number;
  title: HtmlPart;
  body?: HtmlPart;
}

export function renderTimeline(history: InvoiceHistory, zone: string, now: Date): Html {
  const cases = casesOf(history.explained);
  const entries = [
    ...cases.flatMap((recoveryCase) => caseEntries(recoveryCase, history, zone)),
    ...history.transactions.map(transactionEntry),
    ...history.actions.flatMap((action) => actionEntries(action, history, zone)),
    ...cases
      .filter(({ arm }) => arm === "shadow")
      .flatMap((recoveryCase) => shadowEntries(recoveryCase, history, zone)),
    ...history.deliveries.map((delivery) => deliveryEntry(delivery, zone)),
    { at: history.explained.invoice.createdAt, kind: "" as const, rank: 0, title: "Invoice created" },
  ].sort((a, b) => b.at.getTime() - a.at.getTime() || b.rank - a.rank);
  return html`<ol class="timeline">${entries.map(
    ({ at, kind, title, body }) =>
      html`<li class="${kind}"><h3>${title} <span class="when">${timeElement(at, zone)}</span>${at > now && html` <span class="soft">upcoming</span>`}</h3>${body}</li>\n`,
  )}</ol>`;
}

const casesOf = ({ earlierCases, case: recoveryCase }: ExplainedCase) => [
  ...earlierCases,
  ...(recoveryCase ? [recoveryCase] : []),
];

function caseEntries(
  { id, openedAt, arm, endedAt, endReason, windowEndsAt, budget }: Case,
  { decisions, explained }: InvoiceHistory,
  zone: string,
): TimelineEntry[] {
  const opened: TimelineEntry = {
    at: openedAt,
    kind: "",
    rank: 2,
    title: "Recovery began",
    body: html`<p>At most ${budget} ${budget === 1 ? "retry" : "retries"}, until ${timeElement(windowEndsAt, zone)}.</p>`,
  };
  const last = decisions.findLast(({ caseId }) => caseId === id);
  if (endedAt === null || endReason === null)
    return arm === "dunlin" && last?.kind === "wait"
      ? [opened, { at: last.madeAt, kind: "plan", rank: 3, title: "Decided: wait" }]
      : [opened];
  const why = id !== explained.case!.id && endReason !== "paid" && last?.kind === "stop" ? last.account.reasons : [];
  return [
    opened,
    {
      at: endedAt,
      kind: endReason === "paid" ? "good" : "bad",
      rank: 6,
      title: `Recovery ended: ${toSpacedWords(endReason)}`,
      body: why.length > 0 && reasonList(why),
    },
  ];
}

const INITIATOR_LABELS: Record<string, string> = {
  BILLING_SYSTEM: "by the billing system",
  RECOVERY_ACTION: "requested by Dunlin",
  CUSTOMER: "by the customer",
  MERCHANT_MANUAL: "manually",
};

function transactionEntry(t: ShownTransaction): TimelineEntry {
  const paymentMethod = [
    t.cardBrand ? cardBrandName(t.cardBrand) : t.paymentMethodType && paymentMethodName(t.paymentMethodType),
    t.cardLast4 && `…${t.cardLast4}`,
  ]
    .filter(Boolean)
    .join(" ");
  const code = t.networkDeclineCode ?? t.paymentGatewayErrorCode;
  const by = t.recoveryActionId !== null ? "requested by Dunlin" : INITIATOR_LABELS[t.initiator ?? ""];
  const why = [
    code && `code ${code}`,
    t.networkAdviceCode && `advice ${t.networkAdviceCode}`,
    t.paymentGatewayErrorMessage,
  ]
    .filter(Boolean)
    .join(", ");
  return {
    at: t.createdAt,
    kind: t.state === "PAID" ? "good" : t.state === "FAILED" ? "bad" : "",
    rank: 1,
    title: t.amount === 0 ? `Card check: ${toSpacedWords(t.state)}` : `Payment attempt: ${toSpacedWords(t.state)}`,
    body: html`<p>${t.amount === 0 ? "No money moved" : formatMoney(t.amount, t.currency)}${paymentMethod !== "" && ` on ${paymentMethod}`}${by && `, ${by}`}${why !== "" && html`. <span class="soft">${why}</span>`}</p>`,
  };
}

/** At its latest plan's time. An executed action is a second entry. */
function actionEntries(action: ShownAction, history: InvoiceHistory, zone: string): TimelineEntry[] {
  const { decidedAt, createdAt, idealRetryTime, reasons, status, executedAt } = action;
  const what = action.type === "RETRY" ? "retry" : "ask for another card or payment method";
  const planned = history.decisions.findLast(({ actionId }) => actionId === action.id);
  const isNow = action.id === findPlannedAction(history.explained)?.id;
  const decision: TimelineEntry = {
    at: decidedAt ?? planned?.madeAt ?? createdAt,
    kind: "plan",
    rank: 3,
    title: html`${decidedAt ? "Decided" : "Planned"}: ${what} at ${timeElement(idealRetryTime, zone)} (${zone}) ${actionState(status)}`,
    body: html`${!isNow && reasonList(reasons)}${consideredForAction(action, planned, history, zone)}`,
  };
  if (executedAt === null) return [decision];
  const isGood = status === "SUCCEEDED";
  return [
    decision,
    {
      at: executedAt,
      kind: isGood ? "good" : "bad",
      rank: 5,
      title:
        action.type === "RETRY"
          ? `The retry ${toSpacedWords(status)}`
          : "The invoice was paid while Dunlin was asking for another card or payment method",
    },
  ];
}

function shadowEntries(recoveryCase: Case, history: InvoiceHistory, zone: string): TimelineEntry[] {
  const decisions = history.decisions.filter(({ caseId }) => caseId === recoveryCase.id);
  const latest = decisions.findLast(hasConsideredTimes);
  const now = recoveryCase.endedAt === null ? decisions.at(-1) : null;
  const firstAsk = decisions.find(wouldAskCustomer);
  return decisions.map((decision) => ({
    at: decision.madeAt,
    kind: "plan",
    rank: 3,
    title: html`Shadow mode: Dunlin would ${describeShadowAction(decision, firstAsk)}${decision.kind === "retry" && html` at ${timeElement(decision.idealTime, zone)} (${zone})`}`,
    body: html`${decision !== now && reasonList(decision.account.reasons)}${decision === latest && html`<div>${consideredForCase(recoveryCase, decision, history, zone)}</div>`}`,
  }));
}

const reasonList = (reasons: readonly string[]): Html =>
  html`<ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`;

/** They take much space, so other actions only link to them. */
function consideredForAction(
  { id }: ShownAction,
  decision: DecisionRecord | undefined,
  history: InvoiceHistory,
  zone: string,
): HtmlPart {
  if (!decision || !hasConsideredTimes(decision)) return null;
  if (id !== history.expandedActionId)
    return html`<p><a href="?decision=${id}#considered">Other times considered</a></p>`;
  const recoveryCase = casesOf(history.explained).find((each) => each.id === decision.caseId)!;
  return html`<div id="considered">${consideredForCase(recoveryCase, decision, history, zone)}</div>`;
}

/** The answers already describe the latest decision. */
function consideredForCase(
  recoveryCase: Case,
  decision: DecisionRecord,
  { explained }: InvoiceHistory,
  zone: string,
): Html {
  const remarks =
    decision === explained.decisions.at(-1) ? [] : describeDecision({ ...explained, case: recoveryCase }, decision);
  return consideredTimes(decision, recoveryCase.windowEndsAt, zone, remarks);
}

const EVENT_LABELS = {
  recovery_action: "Instruction to your endpoint",
  pause_collection: "Request to pause your own retries",
  complete_dunning: "Notice that dunning is over",
  recovery_ended: "Notice that recovery has ended",
} as const;

const deliveryEntry = (delivery: ListedDelivery, zone: string): TimelineEntry => ({
  at: delivery.createdAt,
  kind: delivery.state === "exhausted" ? "bad" : "",
  rank: 4,
  title: html`${EVENT_LABELS[delivery.type]} ${deliveryStateLabel(delivery.state)}`,
  body: html`<p>${delivery.attempts} ${delivery.attempts === 1 ? "attempt" : "attempts"}${delivery.endedAt && html`, the last ${timeElement(delivery.endedAt, zone, "second")}`}. <a href="/deliveries/${delivery.eventId}">Event</a></p>`,
});
