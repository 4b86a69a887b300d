import type { Case } from "../../domain/case.ts";
import type { Invoice } from "../../domain/invoice.ts";
import type { ListedDelivery } from "../../store/delivery-states.ts";
import type { ShownAction, ShownTransaction } from "../../store/invoice-history.ts";
import { type Html, html, type Part } from "../html.ts";
import { moment } from "../show/moments.ts";
import { money } from "../show/money.ts";
import { deliveryState, spaced } from "../show/words.ts";
import { actionState } from "./actions.ts";

interface History {
  invoice: Invoice;
  cases: readonly Case[];
  actions: readonly ShownAction[];
  deliveries: readonly ListedDelivery[];
  transactions: readonly ShownTransaction[];
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
  const entries = [
    ...history.cases.flatMap(caseEntries),
    ...history.transactions.map(transactionEntry),
    ...history.actions.flatMap((action) => actionEntries(action, zone)),
    ...history.deliveries.map((delivery) => deliveryEntry(delivery, zone)),
    { at: history.invoice.createdAt, kind: "" as const, rank: 0, title: "Invoice created" },
  ]
    // Of one moment, in the order in which one thing follows from the other.
    .sort((a, b) => b.at.getTime() - a.at.getTime() || b.rank - a.rank);
  return html`<ol class="timeline">${entries.map(
    ({ at, kind, title, body }) =>
      html`<li class="${kind}"><h3>${title} <span class="when">${moment(at, zone)}</span>${at > now && html` <span class="soft">still to come</span>`}</h3>${body}</li>\n`,
  )}</ol>`;
}

function caseEntries({ openedAt, endedAt, endReason, windowEndsAt, budget }: Case): Entry[] {
  const until = windowEndsAt.toISOString().slice(0, 10);
  const opened: Entry = {
    at: openedAt,
    kind: "",
    rank: 2,
    title: "Recovery began",
    body: html`<p>At most ${budget} retries, until ${until}.</p>`,
  };
  if (endedAt === null || endReason === null) return [opened];
  return [
    opened,
    {
      at: endedAt,
      kind: endReason === "paid" ? "good" : "bad",
      rank: 6,
      title: `Recovery ended: ${spaced(endReason)}`,
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
  const means = [t.cardBrand ?? t.paymentMethodType, t.cardLast4 && `…${t.cardLast4}`].filter(Boolean).join(" ");
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
    title: `Payment attempt: ${spaced(t.state)}`,
    body: html`<p>${money(t.amount, t.currency)}${means !== "" && ` on ${means}`}${by && `, ${by}`}${why !== "" && html`. <span class="soft">${why}</span>`}</p>`,
  };
}

/** A decision with its reasons; its outcome is an entry of its own when one was recorded. */
function actionEntries(action: ShownAction, zone: string): Entry[] {
  const { decidedAt, createdAt, idealRetryTime, reasons, status, executedAt } = action;
  const what = action.type === "RETRY" ? "retry" : "ask for another card";
  const decision: Entry = {
    at: decidedAt ?? createdAt,
    kind: "plan",
    rank: 3,
    title: html`${decidedAt ? "Decided" : "Planned"}: ${what} at ${moment(idealRetryTime, zone)} ${actionState(status)}`,
    body: html`<ul>${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`,
  };
  if (executedAt === null) return [decision];
  const isGood = status === "SUCCEEDED";
  return [
    decision,
    {
      at: executedAt,
      kind: isGood ? "good" : "bad",
      rank: 5,
      title: `The ${what === "retry" ? "retry" : "request"} ${spaced(status)}`,
    },
  ];
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
