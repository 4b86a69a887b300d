import type { Case } from "../../domain/case.ts";
import type { DecisionRecord } from "../../domain/decision.ts";
import { cardBrandName, paymentMethodName } from "../../domain/payment-method-names.ts";
import { findPlannedAction, removeZoneNames } from "../../explain/answers.ts";
import { describeShadowAction, wouldAskCustomer } from "../../explain/customer-request-wording.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { describeRequester, isRequestedByHand, nameActor } from "../../explain/persons-requests.ts";
import { describeAttempt } from "../../explain/story.ts";
import type { PersonsRequest } from "../../tables/audit-log.ts";
import type { ListedDelivery } from "../../tables/delivery-states.ts";
import type { ShownAction, ShownTransaction } from "../../tables/invoice-history.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { formatMoney } from "../show/number-format.ts";
import { deliveryStateLabel, toSpacedWords } from "../show/state-labels.ts";
import { actionState } from "./actions-page.ts";
import { hasConsideredTimes } from "./considered-times.ts";
import { clockTime, type PageClock, zoneWords } from "./page-clock.ts";

export interface InvoiceHistory {
  /** Already gives the reasons for the current plan, and for the latest case's end. */
  explained: ExplainedCase;
  actions: readonly ShownAction[];
  deliveries: readonly ListedDelivery[];
  transactions: readonly ShownTransaction[];
  decisions: readonly DecisionRecord[];
  /** Its considered times are on the page. */
  shownDecision: DecisionRecord | null;
}

interface LogEntry {
  at: Date;
  kind: "good" | "bad" | "plan" | "";
  /** At the same time, the effect has the higher rank. */
  rank: number;
  title: HtmlPart;
  /** On the same line. */
  note?: HtmlPart;
  /** Folded. */
  details?: HtmlPart;
}

/** Without "show all". */
const SHOWN_ENTRIES = 12;

/** Everything that happened, newest first, one line each. */
export function invoiceLog(history: InvoiceHistory, isWhole: boolean, clock: PageClock, hidden: string | null): Html {
  const entries = listEntries(history, clock);
  const shown = isWhole ? entries : entries.slice(0, SHOWN_ENTRIES);
  const { id } = history.explained.invoice;
  const csv =
    history.decisions.length > 0 &&
    html`<a href="/decisions.csv?invoiceId=${encodeURIComponent(id)}">Decisions as CSV</a>`;
  const more = isWhole
    ? entries.length > SHOWN_ENTRIES && html`<a href="?#log">Show the latest ${SHOWN_ENTRIES}</a>`
    : (entries.length > SHOWN_ENTRIES || entries.some(({ details }) => details)) &&
      html`<a href="?show=all#log">Show all ${entries.length} entries, with the reasons of each decision</a>`;
  return html`<details class="card mb" id="log" open><summary class="log-sum"><h2>Everything that happened</h2> <span class="soft small">${entries.length} entries · ${zoneWords(clock)}${hidden}</span></summary>
<ol class="log plain">${shown.map((entry) => logLine(entry, isWhole, history.explained.now, clock))}</ol>
<div class="foot"><span>${more}</span><span>${csv}</span></div></details>`;
}

function logLine({ at, kind, title, note, details }: LogEntry, isWhole: boolean, now: Date, clock: PageClock): Html {
  const line = html`<b>${title}</b>${note && html` <span class="soft">${note}</span>`}${at > now && html` <span class="tag">upcoming</span>`}`;
  return html`<li>${clockTime(clock, at, "short")}<span class="dot ${kind}"></span><div>${details ? html`<details${isWhole && html` open`}><summary>${line}</summary>${details}</details>` : line}</div></li>\n`;
}

function listEntries(history: InvoiceHistory, clock: PageClock): LogEntry[] {
  const cases = casesOf(history.explained);
  return [
    ...cases.flatMap((recoveryCase) => caseEntries(recoveryCase, history, clock)),
    ...history.transactions.map((t) => transactionEntry(t, history)),
    ...history.actions.flatMap((action) => actionEntries(action, history, clock)),
    ...cases
      .filter(({ arm }) => arm === "shadow")
      .flatMap((recoveryCase) => shadowEntries(recoveryCase, history, clock)),
    ...history.explained.requests.map((request) => requestEntry(request, clock)),
    ...history.deliveries.map(deliveryEntry),
    { at: history.explained.invoice.createdAt, kind: "" as const, rank: 0, title: "Invoice created" },
  ].sort((a, b) => b.at.getTime() - a.at.getTime() || b.rank - a.rank);
}

const casesOf = ({ earlierCases, case: recoveryCase }: ExplainedCase) => [
  ...earlierCases,
  ...(recoveryCase ? [recoveryCase] : []),
];

function caseEntries(
  { id, openedAt, arm, endedAt, endReason, windowEndsAt, budget }: Case,
  { decisions, explained }: InvoiceHistory,
  clock: PageClock,
): LogEntry[] {
  const opened: LogEntry = {
    at: openedAt,
    kind: "",
    rank: 2,
    title: "Recovery began",
    note: html`At most ${budget} ${budget === 1 ? "retry" : "retries"}, until ${clockTime(clock, windowEndsAt)}`,
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
      details: why.length > 0 && reasonList(why, clock),
    },
  ];
}

const INITIATOR_LABELS: Record<string, string> = {
  BILLING_SYSTEM: "by the billing system",
  RECOVERY_ACTION: "requested by Dunlin",
  CUSTOMER: "by the customer",
  MERCHANT_MANUAL: "manually",
};

/** Before its effect. */
function requestEntry(request: PersonsRequest, clock: PageClock): LogEntry {
  const { kind, at, until } = request;
  return {
    ...{ at, kind: "", rank: 2 },
    title:
      kind === "stopped"
        ? "Recovery stopped by hand"
        : kind === "retried"
          ? "Retry requested by hand"
          : html`Retries postponed${until && html` until ${clockTime(clock, until)}`}`,
    note: `by ${nameActor(request)}`,
  };
}

function transactionEntry(t: ShownTransaction, history: InvoiceHistory): LogEntry {
  const paymentMethod = [
    t.cardBrand ? cardBrandName(t.cardBrand) : t.paymentMethodType && paymentMethodName(t.paymentMethodType),
    t.cardLast4 && `…${t.cardLast4}`,
  ]
    .filter(Boolean)
    .join(" ");
  const action = history.actions.find((each) => each.type === "RETRY" && isAttemptOf(t, each, history));
  const by =
    action && isRequestedByHand(action)
      ? `requested ${describeRequester(action, history.explained.requests)}`
      : t.recoveryActionId !== null
        ? "requested by Dunlin"
        : INITIATOR_LABELS[t.initiator ?? ""];
  const why = describeDeclineOf(t, history);
  const isRetry = action !== undefined;
  const what = isRetry ? "The retry " : "Payment attempt: ";
  const message = t.paymentGatewayErrorMessage;
  return {
    at: t.createdAt,
    kind: t.state === "PAID" ? "good" : t.state === "FAILED" ? "bad" : "",
    rank: isRetry ? 5 : 1,
    title:
      t.amount === 0
        ? `Card check: ${toSpacedWords(t.state)}`
        : `${what}${isRetry && t.state === "PAID" ? "succeeded" : toSpacedWords(t.state)}`,
    note: html`${t.amount === 0 ? "No money moved" : formatMoney(t.amount, t.currency)}${paymentMethod !== "" && ` on ${paymentMethod}`}${by && `, ${by}`}${why !== "" && `: ${why}`}`,
    details: message !== null && html`<p>Message of the gateway: ${message}</p>`,
  };
}

/** "there was not enough money (code 51)" */
function describeDeclineOf(t: ShownTransaction, { explained }: InvoiceHistory): string {
  const facts = explained.transactions.find(({ id }) => id === t.id);
  const [, words] = facts?.state === "FAILED" ? describeAttempt(facts).split(" failed: ") : [];
  if (words !== undefined) return words.replace(/\.$/, "");
  if (t.state === "PAID") return "";
  const code = t.networkDeclineCode ?? t.paymentGatewayErrorCode;
  return [code && `code ${code}`, t.networkAdviceCode && `advice ${t.networkAdviceCode}`].filter(Boolean).join(", ");
}

/** Its attempt is the outcome of the action, so the two are one entry. */
const isAttemptOf = (t: ShownTransaction, { id, executedAt }: ShownAction, { explained }: InvoiceHistory) =>
  executedAt !== null &&
  (t.recoveryActionId === id || explained.actions.some((each) => each.id === id && each.transactionId === t.id));

/** At its latest plan's time. An executed action is a second entry. */
function actionEntries(action: ShownAction, history: InvoiceHistory, clock: PageClock): LogEntry[] {
  const { decidedAt, createdAt, idealRetryTime, reasons, status, executedAt } = action;
  const what = action.type === "RETRY" ? "retry" : "ask for another card or payment method";
  const planned = history.decisions.findLast(({ actionId }) => actionId === action.id);
  const link = planned ? consideredLink(planned, history) : null;
  const isNow = action.id === findPlannedAction(history.explained)?.id;
  const decision: LogEntry = {
    at: decidedAt ?? planned?.madeAt ?? createdAt,
    kind: "plan",
    rank: 3,
    title: `${decidedAt ? "Decided" : "Planned"}: ${what}`,
    note: html`on ${clockTime(clock, idealRetryTime)}${isRequestedByHand(action) && `, requested ${describeRequester(action, history.explained.requests)}`} ${actionState(status)}`,
    details: (!isNow || link) && html`${!isNow && reasonList(reasons, clock)}${link}`,
  };
  const isShown = action.type === "RETRY" && history.transactions.some((t) => isAttemptOf(t, action, history));
  if (executedAt === null || isShown) return [decision];
  const title =
    action.type === "RETRY"
      ? `The retry ${toSpacedWords(status)}`
      : "The invoice was paid while Dunlin was asking for another card or payment method";
  return [decision, { at: executedAt, kind: status === "SUCCEEDED" ? "good" : "bad", rank: 5, title }];
}

function shadowEntries(recoveryCase: Case, history: InvoiceHistory, clock: PageClock): LogEntry[] {
  const decisions = history.decisions.filter(({ caseId }) => caseId === recoveryCase.id);
  const now = recoveryCase.endedAt === null ? decisions.at(-1) : null;
  const firstAsk = decisions.find(wouldAskCustomer);
  return decisions.map((decision) => ({
    at: decision.madeAt,
    kind: "plan",
    rank: 3,
    title: `Shadow mode: Dunlin would ${describeShadowAction(decision, firstAsk)}`,
    note: decision.kind === "retry" && html`on ${clockTime(clock, decision.idealTime!)}`,
    details: decision !== now && reasonList(decision.account.reasons, clock),
  }));
}

/** Stored sentences name the zone with each time. */
const reasonList = (reasons: readonly string[], clock: PageClock): Html =>
  html`<ul>${removeZoneNames(reasons, clock.zone).map((reason) => html`<li>${reason}</li>`)}</ul>`;

/** The page shows the considered times of one decision, so others link to theirs. */
const consideredLink = (decision: DecisionRecord, { shownDecision }: InvoiceHistory): Html | null =>
  hasConsideredTimes(decision) && decision !== shownDecision
    ? html`<p><a href="?decision=${decision.actionId!}#considered">Other times considered</a></p>`
    : null;

const EVENT_LABELS = {
  recovery_action: "Instruction to your endpoint",
  pause_collection: "Request to pause your own retries",
  complete_dunning: "Notice that dunning is over",
  recovery_ended: "Notice that recovery has ended",
} as const;

const deliveryEntry = (delivery: ListedDelivery): LogEntry => ({
  at: delivery.createdAt,
  kind: delivery.state === "exhausted" ? "bad" : "",
  rank: 4,
  title: EVENT_LABELS[delivery.type],
  note: html`${deliveryStateLabel(delivery.state)} ${delivery.attempts} ${delivery.attempts === 1 ? "attempt" : "attempts"}. <a href="/deliveries/${delivery.eventId}">Event</a>`,
});
