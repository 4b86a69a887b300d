import type { Case } from "../../domain/case.ts";
import type { DecisionRecord } from "../../domain/decision.ts";
import { brandWords, wayWords } from "../../domain/payment-words.ts";
import { wouldAsk, wouldWords } from "../../recovery/asked-for.ts";
import type { Explained } from "../../recovery/explain.ts";
import { decisionWords, plannedNow } from "../../recovery/explanation.ts";
import type { ListedDelivery } from "../../store/delivery-states.ts";
import type { ShownAction, ShownTransaction } from "../../store/invoice-history.ts";
import { type Html, html, type Part } from "../html.ts";
import { moment } from "../show/moments.ts";
import { money } from "../show/money.ts";
import { deliveryState, spaced } from "../show/words.ts";
import { actionState } from "./actions.ts";
import { considered, hasConsidered } from "./considered.ts";

interface History {
  /** The answers to what people ask give the reasons for what is planned now, and for why the case was given up. */
  explained: Explained;
  actions: readonly ShownAction[];
  deliveries: readonly ListedDelivery[];
  transactions: readonly ShownTransaction[];
  decisions: readonly DecisionRecord[];
  /** The action of which everything that was considered is shown. */
  shown: string | null;
}

interface Entry {
  at: Date;
  kind: "good" | "bad" | "plan" | "";
  /** What follows from something of the same moment has a higher one. */
  rank: number;
  title: Part;
  body?: Part;
}

/** Everything that is known of an invoice, latest first. */
export function timeline(history: History, zone: string, now: Date): Html {
  const cases = casesOf(history.explained);
  const entries = [
    ...cases.flatMap((kase) => caseEntries(kase, history, zone)),
    ...history.transactions.map(transactionEntry),
    ...history.actions.flatMap((action) => actionEntries(action, history, zone)),
    ...cases.filter(({ arm }) => arm === "shadow").flatMap((kase) => shadowEntries(kase, history, zone)),
    ...history.deliveries.map((delivery) => deliveryEntry(delivery, zone)),
    { at: history.explained.invoice.createdAt, kind: "" as const, rank: 0, title: "Invoice created" },
  ]
    // Of one moment, in the order in which one thing follows from the other.
    .sort((a, b) => b.at.getTime() - a.at.getTime() || b.rank - a.rank);
  return html`<ol class="timeline">${entries.map(
    ({ at, kind, title, body }) =>
      html`<li class="${kind}"><h3>${title} <span class="when">${moment(at, zone)}</span>${at > now && html` <span class="soft">still to come</span>`}</h3>${body}</li>\n`,
  )}</ol>`;
}

const casesOf = ({ earlierCases, case: kase }: Explained) => [...earlierCases, ...(kase ? [kase] : [])];

function caseEntries(
  { id, openedAt, arm, endedAt, endReason, windowEndsAt, budget }: Case,
  { decisions, explained }: History,
  zone: string,
): Entry[] {
  const opened: Entry = {
    at: openedAt,
    kind: "",
    rank: 2,
    title: "Recovery began",
    body: html`<p>At most ${budget} ${budget === 1 ? "retry" : "retries"}, until ${moment(windowEndsAt, zone)}.</p>`,
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
      title: `Recovery ended: ${spaced(endReason)}`,
      body: why.length > 0 && reasonList(why),
    },
  ];
}

const INITIATORS: Record<string, string> = {
  BILLING_SYSTEM: "by the billing system",
  RECOVERY_ACTION: "as Dunlin asked",
  CUSTOMER: "by the customer",
  MERCHANT_MANUAL: "by hand",
};

function transactionEntry(t: ShownTransaction): Entry {
  const means = [
    t.cardBrand ? brandWords(t.cardBrand) : t.paymentMethodType && wayWords(t.paymentMethodType),
    t.cardLast4 && `…${t.cardLast4}`,
  ]
    .filter(Boolean)
    .join(" ");
  const code = t.networkDeclineCode ?? t.paymentGatewayErrorCode;
  const by = t.recoveryActionId !== null ? "as Dunlin asked" : INITIATORS[t.initiator ?? ""];
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
    title: t.amount === 0 ? `Check of a card: ${spaced(t.state)}` : `Payment attempt: ${spaced(t.state)}`,
    body: html`<p>${t.amount === 0 ? "No money moved" : money(t.amount, t.currency)}${means !== "" && ` on ${means}`}${by && `, ${by}`}${why !== "" && html`. <span class="soft">${why}</span>`}</p>`,
  };
}

/** A decision with its reasons, where its plan was made last; its outcome is an entry of its own when one was recorded. */
function actionEntries(action: ShownAction, history: History, zone: string): Entry[] {
  const { decidedAt, createdAt, idealRetryTime, reasons, status, executedAt } = action;
  const what = action.type === "RETRY" ? "retry" : "ask for another card or payment method";
  const planned = history.decisions.findLast(({ actionId }) => actionId === action.id);
  const isNow = action.id === plannedNow(history.explained)?.id;
  const decision: Entry = {
    at: decidedAt ?? planned?.madeAt ?? createdAt,
    kind: "plan",
    rank: 3,
    title: html`${decidedAt ? "Decided" : "Planned"}: ${what} at ${moment(idealRetryTime, zone)} (${zone}) ${actionState(status)}`,
    body: html`${!isNow && reasonList(reasons)}${compared(action, planned, history, zone)}`,
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
          ? `The retry ${spaced(status)}`
          : "The invoice was paid while another card or payment method was asked for",
    },
  ];
}

/** What Dunlin would have done in a case of shadow mode, with what else was considered for the latest of it. */
function shadowEntries(kase: Case, history: History, zone: string): Entry[] {
  const made = history.decisions.filter(({ caseId }) => caseId === kase.id);
  const latest = made.findLast(hasConsidered);
  const now = kase.endedAt === null ? made.at(-1) : null;
  const firstAsk = made.find(wouldAsk);
  return made.map((decision) => ({
    at: decision.madeAt,
    kind: "plan",
    rank: 3,
    title: html`Shadow mode: Dunlin would ${wouldWords(decision, firstAsk)}${decision.kind === "retry" && html` at ${moment(decision.idealTime, zone)} (${zone})`}`,
    body: html`${decision !== now && reasonList(decision.account.reasons)}${decision === latest && html`<div>${consideredIn(kase, decision, history, zone)}</div>`}`,
  }));
}

const reasonList = (reasons: readonly string[]): Html =>
  html`<ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`;

/** What else was considered for an action: all of it for one, and a link for the others, since each takes its room. */
function compared({ id }: ShownAction, decision: DecisionRecord | undefined, history: History, zone: string): Part {
  if (!decision || !hasConsidered(decision)) return null;
  if (id !== history.shown) return html`<p><a href="?decision=${id}#considered">What else was considered</a></p>`;
  const kase = casesOf(history.explained).find((each) => each.id === decision.caseId)!;
  return html`<div id="considered">${consideredIn(kase, decision, history, zone)}</div>`;
}

/** The latest decision is what the answers are about, so nothing is said of it here. */
function consideredIn(kase: Case, decision: DecisionRecord, { explained }: History, zone: string): Html {
  const said = decision === explained.decisions.at(-1) ? [] : decisionWords({ ...explained, case: kase }, decision);
  return considered(decision, kase.windowEndsAt, zone, said);
}

const EVENT_WORDS = {
  recovery_action: "Instruction to your endpoint",
  pause_collection: "Your own retries are to pause",
  complete_dunning: "Dunning is to be completed",
} as const;

const deliveryEntry = (delivery: ListedDelivery, zone: string): Entry => ({
  at: delivery.createdAt,
  kind: delivery.state === "exhausted" ? "bad" : "",
  rank: 4,
  title: html`${EVENT_WORDS[delivery.type]} ${deliveryState(delivery.state)}`,
  body: html`<p>${delivery.attempts} ${delivery.attempts === 1 ? "attempt" : "attempts"}${delivery.endedAt && html`, the last ${moment(delivery.endedAt, zone, "second")}`}. <a href="/deliveries/${delivery.eventId}">Event</a></p>`,
});
