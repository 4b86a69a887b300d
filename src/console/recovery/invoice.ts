import type { Case } from "../../domain/case.ts";
import { type Invoice, inRecovery } from "../../domain/invoice.ts";
import { explain } from "../../recovery/explain.ts";
import { nothingToStop, stopRecovery } from "../../recovery/stop-recovery.ts";
import { tellingDecisions } from "../../store/decisions.ts";
import { listDeliveries } from "../../store/delivery-states.ts";
import { conflictsOf } from "../../store/invoice-conflicts.ts";
import { actionsOfInvoice, transactionsOfInvoice } from "../../store/invoice-history.ts";
import { listInvoices } from "../../store/invoice-list.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html, type Part } from "../html.ts";
import { notFound, PageError } from "../page-error.ts";
import { oneOf, readQuery, uuid } from "../query.ts";
import { field, hiddenFields, notice } from "../show/fields.ts";
import { lengthText, moment } from "../show/moments.ts";
import { money } from "../show/money.ts";
import { facts } from "../show/table.ts";
import { spaced } from "../show/words.ts";
import { answers } from "./answers.ts";
import { conflictNotice } from "./conflicts.ts";
import { hasConsidered } from "./considered.ts";
import { outcomeState } from "./invoices.ts";
import { timeline } from "./timeline.ts";

/** Of each kind, so many are shown. */
const LATEST = 200;
const READERS = { decision: uuid, done: oneOf(["stopped"]) };

/** One invoice: how it stands, and everything that happened with the reasons of each decision. */
export function invoiceRoutes(console: Console) {
  const { page, post, ports } = console;
  page("/invoices/*", null, async ({ db, params, query, merchantId, may, person: { zone } }): Promise<Page> => {
    const { decision, done } = readQuery(query, READERS);
    const id = params["*"]!;
    const [explained, listed, actions, deliveries, transactions, conflicts] = await Promise.all([
      explain(db, merchantId, id, ports.now(), tellingDecisions),
      listInvoices(db, merchantId, { invoiceId: id }, undefined, 1),
      actionsOfInvoice(db, merchantId, id, LATEST),
      listDeliveries(db, merchantId, { invoiceId: id, limit: LATEST }),
      transactionsOfInvoice(db, merchantId, id, LATEST),
      conflictsOf(db, merchantId, [id]),
    ]);
    if (!explained) throw notFound("invoice with this id");
    const { invoice, case: kase, earlierCases } = explained;
    const earlier = await tellingDecisions(
      db,
      merchantId,
      earlierCases.map((each) => each.id),
    );
    const decisions = [...earlier, ...explained.decisions];
    const shown = decision ?? decisions.findLast(hasConsidered)?.actionId ?? null;
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
      body: html`${done && notice("good", STOPPED)}${conflictNotice(conflicts.get(id), zone)}
<p class="lead">${money(invoice.amount, invoice.currency)}, ${sentence(invoice, open?.unpaidAt ?? null, isWaiting ? "waiting" : (latest?.nextAt ?? null), ports.now(), zone)}</p>
<div class="columns"><section><h2>Invoice</h2>${facts([
        ["State", spaced(invoice.state)],
        left === invoice.amount ? null : ["Left to pay", money(left, invoice.currency)],
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
        ["Created", moment(invoice.createdAt, zone)],
        ["Last updated", moment(invoice.updatedAt, zone)],
      ])}</section>
${
  latest &&
  kase &&
  html`<section><h2>Recovery</h2>${facts([
    ["Outcome", outcomeState(latest.outcome)],
    latest.endReason ? ["Ended because", `${spaced(latest.endReason)}`] : null,
    ["Since", moment(latest.openedAt, zone)],
    latest.endedAt
      ? ["Until", moment(latest.endedAt, zone)]
      : ["At the latest until", moment(open?.windowEndsAt ?? null, zone)],
    ["Retries asked for", `${latest.asked} of ${kase.budget}`],
    isWaiting || latest.nextAt
      ? ["Next action", isWaiting ? "waits for its delivery" : moment(latest.nextAt, zone)]
      : null,
  ])}</section>`
}</div>
${open && may("stop") && stopForm(open)}
<h2>Questions and answers</h2>
${answers(explained)}
<h2>What happened</h2>
<p class="soft">On your clocks (${zone}), but for reasons: they name the customer's own clocks with each moment.${leftOut > 0 && html` Of ${made} decisions ${leftOut} are left out: the file of them has all.`}</p>
${timeline({ explained, actions, deliveries, transactions, decisions, shown }, zone, ports.now())}`,
    };
  });
  post("/invoices/stop", "stop", async ({ db, merchantId, form, actor, reply }) => {
    const invoiceId = form.get("invoiceId") ?? "";
    const reason = (form.get("reason") ?? "").trim().slice(0, REASON_MAX);
    const done = await stopRecovery({ ...console, db, log: reply.log }, merchantId, {
      invoiceId,
      caseId: form.get("caseId") ?? undefined,
      actor,
      reason,
    });
    if (done === null) throw notFound("invoice with this id");
    if (typeof done === "string") throw new PageError(409, done);
    return goTo(reply, `/invoices/${encodeURIComponent(invoiceId)}?done=stopped`);
  });
}

const REASON_MAX = 200;
const STOPPED =
  "Stopped. What was not delivered was taken back; what your endpoint took before may still come to something.";

/** In two steps: the first opens the form. Or why there is nothing to stop. */
function stopForm(open: Case): Html {
  const why = nothingToStop(open);
  if (why !== null) return html`<p class="text soft">${why}</p>`;
  return html`
<details class="more"><summary>Stop recovery</summary>
<form method="post" action="/invoices/stop" class="card">${hiddenFields({ invoiceId: open.invoiceId, caseId: open.id })}
<p>Dunlin asks for nothing more for this invoice, takes back what was not delivered, and tells your endpoint that dunning is over (<code>complete_dunning</code>). This can't be undone: recovery begins again only when the invoice is paid or otherwise settled, and fails anew.</p>
${field({ label: "Reason", name: "reason", maxlength: REASON_MAX, hint: "For the audit log." })}
<button class="danger">Stop recovery for this invoice</button></form></details>`;
}

/** @param next  when the next action is planned for; `waiting`: it was decided, and its event did not reach the endpoint yet */
function sentence(
  invoice: Invoice,
  unpaidAt: Date | null,
  next: Date | "waiting" | null,
  now: Date,
  zone: string,
): Part {
  if (!inRecovery(invoice.state)) return spaced(invoice.state);
  if (unpaidAt === null) return `${spaced(invoice.state)}, not in recovery`;
  const age = `unpaid for ${lengthText(now.getTime() - unpaidAt.getTime())}`;
  if (next === "waiting") return `${age}, an instruction waits for its delivery`;
  return next === null ? age : html`${age}, next action planned for ${moment(next, zone)}`;
}
