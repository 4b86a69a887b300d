import type { Case } from "../../domain/case.ts";
import { type Invoice, isInRecovery } from "../../domain/invoice.ts";
import { loadExplainedCase } from "../../explain/load-explained-case.ts";
import { explainNotStoppable, stopRecovery } from "../../merchants/stop-recovery.ts";
import { explanatoryDecisions } from "../../tables/decisions.ts";
import { listDeliveries } from "../../tables/delivery-states.ts";
import { conflictsOf } from "../../tables/invoice-conflicts.ts";
import { actionsOfInvoice, transactionsOfInvoice } from "../../tables/invoice-history.ts";
import { listInvoices } from "../../tables/invoice-list.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery, uuidReader } from "../page-query.ts";
import { formField, formNotice, hiddenFields } from "../show/form-fields.ts";
import { formatMoney } from "../show/number-format.ts";
import { toSpacedWords } from "../show/state-labels.ts";
import { factList } from "../show/table.ts";
import { formatDuration, timeElement } from "../show/time-format.ts";
import { conflictNotice } from "./conflict-list.ts";
import { hasConsideredTimes } from "./considered-times.ts";
import { answerList } from "./explanation-answers.ts";
import { outcomeState } from "./invoice-list-page.ts";
import { renderTimeline } from "./invoice-timeline.ts";

/** Of each kind, so many are shown. */
const SHOWN_ENTRIES_MAX = 200;
const QUERY_READERS = { decision: uuidReader, done: enumReader(["stopped"]) };

/** One invoice: how it stands, and everything that happened with the reasons of each decision. */
export function invoiceRoutes(console: Console) {
  const { page, post, ports } = console;
  page("/invoices/*", null, async ({ db, params, query, merchantId, may, person: { zone } }): Promise<Page> => {
    const { decision, done } = parsePageQuery(query, QUERY_READERS);
    const id = params["*"]!;
    const [explained, listed, actions, deliveries, transactions, conflicts] = await Promise.all([
      loadExplainedCase(db, merchantId, id, ports.now(), explanatoryDecisions),
      listInvoices(db, merchantId, { invoiceId: id }, undefined, 1),
      actionsOfInvoice(db, merchantId, id, SHOWN_ENTRIES_MAX),
      listDeliveries(db, merchantId, { invoiceId: id, limit: SHOWN_ENTRIES_MAX }),
      transactionsOfInvoice(db, merchantId, id, SHOWN_ENTRIES_MAX),
      conflictsOf(db, merchantId, [id]),
    ]);
    if (!explained) throw notFoundError("invoice with this id");
    const { invoice, case: kase, earlierCases } = explained;
    const earlier = await explanatoryDecisions(
      db,
      merchantId,
      earlierCases.map((each) => each.id),
    );
    const decisions = [...earlier, ...explained.decisions];
    const shown = decision ?? decisions.findLast(hasConsideredTimes)?.actionId ?? null;
    const latest = listed[0];
    const isWaiting = deliveries.some(({ type, state }) => type === "recovery_action" && state === "waiting");
    const open = kase?.endedAt === null ? kase : null;
    const made = explained.decisions.at(-1)?.number ?? 0;
    const leftOut = kase?.arm === "shadow" ? made - explained.decisions.length : 0;
    const left = explained.balance?.left ?? invoice.amount;
    return {
      title: `Invoice ${id}`,
      tools:
        decisions.length > 0 &&
        html`<a class="button" href="/decisions.csv?invoiceId=${encodeURIComponent(id)}">Decisions as CSV</a>`,
      body: html`${done && formNotice("good", STOPPED_MESSAGE)}${conflictNotice(conflicts.get(id), zone)}
<p class="lead">${formatMoney(invoice.amount, invoice.currency)}, ${statusSentence(invoice, open?.unpaidAt ?? null, isWaiting ? "waiting" : (latest?.nextAt ?? null), ports.now(), zone)}</p>
<div class="columns"><section><h2>Invoice</h2>${factList([
        ["State", toSpacedWords(invoice.state)],
        left === invoice.amount ? null : ["Left to pay", formatMoney(left, invoice.currency)],
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
      ])}</section>
${
  latest &&
  kase &&
  html`<section><h2>Recovery</h2>${factList([
    ["Outcome", outcomeState(latest.outcome)],
    latest.endReason ? ["Ended because", `${toSpacedWords(latest.endReason)}`] : null,
    ["Since", timeElement(latest.openedAt, zone)],
    latest.endedAt
      ? ["Until", timeElement(latest.endedAt, zone)]
      : ["At the latest until", timeElement(open?.windowEndsAt ?? null, zone)],
    ["Retries asked for", `${latest.requestedRetries} of ${kase.budget}`],
    isWaiting || latest.nextAt
      ? ["Next action", isWaiting ? "waits for its delivery" : timeElement(latest.nextAt, zone)]
      : null,
  ])}</section>`
}</div>
${open && may("stop") && stopForm(open)}
<h2>Questions and answers</h2>
${answerList(explained)}
<h2>What happened</h2>
<p class="soft">On your clocks (${zone}), but for reasons: they name the customer's own clocks with each moment.${leftOut > 0 && html` Of ${made} decisions ${leftOut} are left out: the file of them has all.`}</p>
${renderTimeline({ explained, actions, deliveries, transactions, decisions, shown }, zone, ports.now())}`,
    };
  });
  post("/invoices/stop", "stop", async ({ db, merchantId, form, actor, reply }) => {
    const invoiceId = form.get("invoiceId") ?? "";
    const reason = (form.get("reason") ?? "").trim().slice(0, REASON_CHARS_MAX);
    const done = await stopRecovery({ ...console, db, log: reply.log }, merchantId, {
      invoiceId,
      caseId: form.get("caseId") ?? undefined,
      actor,
      reason,
    });
    if (done === null) throw notFoundError("invoice with this id");
    if (typeof done === "string") throw new PageError(409, done);
    return redirectTo(reply, `/invoices/${encodeURIComponent(invoiceId)}?done=stopped`);
  });
}

const REASON_CHARS_MAX = 200;
const STOPPED_MESSAGE =
  "Stopped. What was not delivered was taken back; what your endpoint took before may still come to something.";

/** In two steps: the first opens the form. Or why there is nothing to stop. */
function stopForm(open: Case): Html {
  const why = explainNotStoppable(open);
  if (why !== null) return html`<p class="text soft">${why}</p>`;
  return html`
<details class="more"><summary>Stop recovery</summary>
<form method="post" action="/invoices/stop" class="card">${hiddenFields({ invoiceId: open.invoiceId, caseId: open.id })}
<p>Dunlin asks for nothing more for this invoice, takes back what was not delivered, and tells your endpoint that dunning is over (<code>complete_dunning</code>). This can't be undone: recovery begins again only when the invoice is paid or otherwise settled, and fails anew.</p>
${formField({ label: "Reason", name: "reason", maxlength: REASON_CHARS_MAX, hint: "For the audit log." })}
<button class="danger">Stop recovery for this invoice</button></form></details>`;
}

/** @param next  when the next action is planned for; `waiting`: it was decided, and its event did not reach the endpoint yet */
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
  if (next === "waiting") return `${age}, an instruction waits for its delivery`;
  return next === null ? age : html`${age}, next action planned for ${timeElement(next, zone)}`;
}
