import type { Case } from "../../domain/case.ts";
import { type Invoice, isInRecovery } from "../../domain/invoice.ts";
import { type ExplainedCase, loadExplainedCase } from "../../explain/load-explained-case.ts";
import { explainNotStoppable, stopRecovery } from "../../merchants/recovery-requests.ts";
import { type ConnectorMessage, messagesOfInvoice } from "../../tables/connections.ts";
import { explanatoryDecisions } from "../../tables/decisions.ts";
import { listDeliveries } from "../../tables/delivery-states.ts";
import { conflictsOf } from "../../tables/invoice-conflicts.ts";
import { actionsOfInvoice, transactionsOfInvoice } from "../../tables/invoice-history.ts";
import { type ListedInvoice, listInvoices } from "../../tables/invoice-list.ts";
import { CONNECTED, messageStateWords } from "../connection/connection-page.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery, uuidReader } from "../page-query.ts";
import { formField, formNotice, hiddenFields } from "../show/form-fields.ts";
import { formatMoney } from "../show/number-format.ts";
import { toSpacedWords } from "../show/state-labels.ts";
import { factList, table } from "../show/table.ts";
import { formatDuration, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { conflictNotice } from "./conflict-list.ts";
import { hasConsideredTimes } from "./considered-times.ts";
import { answerList } from "./explanation-answers.ts";
import { outcomeState } from "./invoice-list-page.ts";
import { renderTimeline } from "./invoice-timeline.ts";

const SHOWN_ENTRIES_MAX = 200;
const QUERY_READERS = { decision: uuidReader, done: enumReader(["stopped"]) };

export function invoiceRoutes(console: Console) {
  console.page("/invoices/*", null, (visit) => invoicePage(console, visit));
  console.post("/invoices/stop", "stop", async ({ db, merchantId, form, actor, reply }) => {
    const invoiceId = form.get("invoiceId") ?? "";
    const reason = (form.get("reason") ?? "").trim().slice(0, REASON_CHARS_MAX);
    const stopped = await stopRecovery({ ...console, db, log: reply.log }, merchantId, {
      invoiceId,
      caseId: form.get("caseId") ?? undefined,
      actor,
      reason,
    });
    if (stopped === null) throw notFoundError("invoice with this id");
    if (typeof stopped === "string") throw new PageError(409, stopped);
    return redirectTo(reply, `/invoices/${encodeURIComponent(invoiceId)}?done=stopped`);
  });
}

async function invoicePage({ ports }: Console, visit: Visit): Promise<Page> {
  const { db, params, query, merchantId, may } = visit;
  const { zone } = visit.person;
  const { decision, done } = parsePageQuery(query, QUERY_READERS);
  const id = params["*"]!;
  const [explained, listed, actions, deliveries, transactions, conflicts, messages] = await Promise.all([
    loadExplainedCase(db, merchantId, id, ports.now(), explanatoryDecisions),
    listInvoices(db, merchantId, { invoiceId: id }, undefined, 1),
    actionsOfInvoice(db, merchantId, id, SHOWN_ENTRIES_MAX),
    listDeliveries(db, merchantId, { invoiceId: id, limit: SHOWN_ENTRIES_MAX }),
    transactionsOfInvoice(db, merchantId, id, SHOWN_ENTRIES_MAX),
    conflictsOf(db, merchantId, [id]),
    messagesOfInvoice(db, merchantId, CONNECTED, id),
  ]);
  if (!explained) throw notFoundError("invoice with this id");
  const { invoice, case: recoveryCase, earlierCases } = explained;
  const earlier = await explanatoryDecisions(
    db,
    merchantId,
    earlierCases.map((each) => each.id),
  );
  const decisions = [...earlier, ...explained.decisions];
  const expandedActionId = decision ?? decisions.findLast(hasConsideredTimes)?.actionId ?? null;
  const latest = listed[0];
  const isWaiting = deliveries.some(({ type, state }) => type === "recovery_action" && state === "waiting");
  const open = recoveryCase?.endedAt === null ? recoveryCase : null;
  return {
    title: `Invoice ${id}`,
    tools:
      decisions.length > 0 &&
      html`<a class="button" href="/decisions.csv?invoiceId=${encodeURIComponent(id)}">Decisions as CSV</a>`,
    body: html`${done && formNotice("good", STOPPED_MESSAGE)}${conflictNotice(conflicts.get(id), zone)}
<p class="lead">${formatMoney(invoice.amount, invoice.currency)}, ${statusSentence(invoice, open?.unpaidAt ?? null, isWaiting ? "waiting" : (latest?.nextAt ?? null), ports.now(), zone)}</p>
<div class="columns"><section><h2>Invoice</h2>${invoiceFacts(explained, zone)}</section>
${latest && recoveryCase && html`<section><h2>Recovery</h2>${recoveryFacts(latest, recoveryCase, isWaiting, zone)}</section>`}</div>
${open && may("stop") && stopForm(open)}
${messages.length > 0 && messageSection(messages, zone)}
<h2>Questions and answers</h2>
${answerList(explained)}
<h2>Timeline</h2>
<p class="soft">Times are in your time zone (${zone}). Reasons name the customer's time zone with each time.${hiddenDecisions(explained)}</p>
${renderTimeline({ explained, actions, deliveries, transactions, decisions, expandedActionId }, zone, ports.now())}`,
  };
}

function invoiceFacts({ invoice, balance }: ExplainedCase, zone: string): Html {
  const amountDue = balance?.unpaidAmount ?? invoice.amount;
  return factList([
    ["State", toSpacedWords(invoice.state)],
    amountDue === invoice.amount ? null : ["Amount due", formatMoney(amountDue, invoice.currency)],
    [
      "Customer",
      html`<a href="/invoices?customerId=${encodeURIComponent(invoice.customerId)}">${invoice.customerId}</a>`,
    ],
    invoice.subscriptionId
      ? [
          "Subscription",
          html`<a href="/invoices?subscriptionId=${encodeURIComponent(invoice.subscriptionId)}">${invoice.subscriptionId}</a>`,
        ]
      : null,
    invoice.businessEntity ? ["Entity", invoice.businessEntity] : null,
    ["Created", timeElement(invoice.createdAt, zone)],
    ["Last updated", timeElement(invoice.updatedAt, zone)],
  ]);
}

function recoveryFacts(
  latest: ListedInvoice,
  { endedAt, windowEndsAt, budget }: Case,
  isWaiting: boolean,
  zone: string,
) {
  return factList([
    ["Outcome", outcomeState(latest.outcome)],
    latest.endReason ? ["End reason", toSpacedWords(latest.endReason)] : null,
    ["Began", timeElement(latest.openedAt, zone)],
    latest.endedAt
      ? ["Ended", timeElement(latest.endedAt, zone)]
      : ["Window ends", timeElement(endedAt === null ? windowEndsAt : null, zone)],
    ["Retries requested", `${latest.requestedRetries} of ${budget}`],
    isWaiting || latest.nextAt
      ? ["Next action", isWaiting ? "waiting for delivery" : timeElement(latest.nextAt, zone)]
      : null,
  ]);
}

const messageSection = (
  messages: readonly ConnectorMessage[],
  zone: string,
): Html => html`<h2>Mails to the customer</h2>
${table(
  "Mails to the customer",
  [
    { head: "Mail", cell: ({ number }: ConnectorMessage) => (number === 1 ? "First mail" : `Reminder ${number - 1}`) },
    { head: "State", cell: ({ state }) => messageStateWords(state) },
    { head: "Time", cell: ({ at }) => timeElement(at, zone) },
    { head: "Language", cell: ({ language }) => language },
    { head: "Note", cell: ({ problem }) => problem && html`<div class="long">${problem}</div>` },
  ],
  messages,
)}`;

function hiddenDecisions({ case: recoveryCase, decisions }: ExplainedCase): string | null {
  const total = decisions.at(-1)?.number ?? 0;
  const hidden = recoveryCase?.arm === "shadow" ? total - decisions.length : 0;
  return hidden > 0 ? ` ${hidden} of ${total} decisions are not shown; the CSV file has all of them.` : null;
}

const REASON_CHARS_MAX = 200;
const STOPPED_MESSAGE =
  "Recovery stopped. Undelivered instructions were withdrawn. An instruction that your endpoint already accepted may still be carried out.";

/** Must be opened first. Shows why recovery cannot be stopped. */
function stopForm(open: Case): Html {
  const obstacle = explainNotStoppable(open);
  if (obstacle !== null) return html`<p class="text soft">${obstacle}</p>`;
  return html`
<details class="more"><summary>Stop recovery</summary>
<form method="post" action="/invoices/stop" class="box">${hiddenFields({ invoiceId: open.invoiceId, caseId: open.id })}
<p>Dunlin sends no more instructions for this invoice, withdraws undelivered ones, and sends <code>complete_dunning</code> to your endpoint. You cannot undo this. Recovery restarts only if the invoice is settled and then becomes unpaid again.</p>
${formField({ label: "Reason", name: "reason", maxlength: REASON_CHARS_MAX, hint: "For the audit log." })}
<button class="danger">Stop recovery for this invoice</button></form></details>`;
}

/** @param next  the next action's planned time, or `waiting` if its event was not delivered yet */
function statusSentence(
  invoice: Invoice,
  unpaidAt: Date | null,
  next: Date | "waiting" | null,
  now: Date,
  zone: string,
): HtmlPart {
  if (!isInRecovery(invoice.state)) return toSpacedWords(invoice.state);
  if (unpaidAt === null) return `${toSpacedWords(invoice.state)}, not in recovery`;
  const age = `unpaid for ${formatDuration(now.getTime() - unpaidAt.getTime())}`;
  if (next === "waiting") return `${age}, an instruction is waiting for delivery`;
  return next === null ? age : html`${age}, next action planned for ${timeElement(next, zone)}`;
}
