import type { Case } from "../../domain/case.ts";
import { DAY_MS, MINUTE_MS } from "../../domain/durations.ts";
import { findZone } from "../../engine/local-time.ts";
import { removeZoneNames } from "../../explain/answers.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import {
  explainNotStoppable,
  postponeRecovery,
  type RecoveryRequest,
  type RequestObstacles,
  requestRetryNow,
  stopRecovery,
} from "../../merchants/recovery-requests.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import { hiddenFields } from "../show/form-fields.ts";
import { formatMoney } from "../show/number-format.ts";
import { drop } from "../show/parts.ts";
import { parseDatetimeLocal, toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { clockTime, longTime, type PageClock, zoneWords } from "./page-clock.ts";

const REASON_CHARS_MAX = 200;

export const REQUESTS_DONE = ["stopped", "retried", "postponed"] as const;
export const DONE_MESSAGES: Readonly<Record<(typeof REQUESTS_DONE)[number], string>> = {
  stopped:
    "Recovery stopped. Undelivered instructions were withdrawn. An instruction that your endpoint already accepted may still be carried out.",
  retried: "A retry was requested. The instruction is on its way to your endpoint.",
  postponed: "Retries were postponed. None is requested before the time that you chose.",
};

/** Lets a person do what a merchant's program can ask for by the API. */
export function invoiceRequestRoutes(console: Console) {
  console.post("/invoices/stop", "stop", (visit) =>
    answer(visit, "stopped", stopRecovery(serviceOf(console, visit), visit.merchantId, readRequest(visit))),
  );
  console.post("/invoices/retry_now", "stop", (visit) => {
    if (visit.form.get("confirmed") !== "yes") throw new PageError(400, UNCONFIRMED);
    return answer(visit, "retried", requestRetryNow(serviceOf(console, visit), visit.merchantId, readRequest(visit)));
  });
  console.post("/invoices/postpone", "stop", async (visit) => {
    const until = readUntil(visit.form);
    const clock = { zone: findZone(visit.form.get("zone") ?? "")!, readerZone: visit.person.zone };
    const formatTime = (at: Date) => `${longTime(clock, at)}, ${zoneWords(clock)}`;
    const service = serviceOf(console, visit);
    const reply = await answer(
      visit,
      "postponed",
      postponeRecovery(service, visit.merchantId, { ...readRequest(visit), formatTime }, until),
    );
    console.onCases();
    return reply;
  });
}

const UNCONFIRMED = "Tick the box that confirms the retry.";

/** Later than any window. */
const FAR_FUTURE = new Date("2200-12-31T00:00:00Z");

const serviceOf = (console: Console, { db, reply }: Visit) => ({ ...console, db, log: reply.log });

const readRequest = ({ form, actor }: Visit): RecoveryRequest => ({
  invoiceId: form.get("invoiceId") ?? "",
  caseId: form.get("caseId") ?? undefined,
  actor,
  reason: (form.get("reason") ?? "").trim().slice(0, REASON_CHARS_MAX),
});

/** The zone comes with the form, because the customer's may have changed since. */
function readUntil(form: URLSearchParams): Date {
  const zone = form.get("zone") ?? "";
  const text = form.get("until") ?? "";
  const until = findZone(zone) && parseDatetimeLocal(text, zone);
  if (until) return until;
  // A browser lets people type years that no timestamp has. The window ends before them.
  const [, year] = /^(\d{4,6})-\d\d-\d\dT\d\d:\d\d/.exec(text) ?? [];
  if (findZone(zone) && Number(year) > FAR_FUTURE.getUTCFullYear()) return FAR_FUTURE;
  throw new PageError(400, "Give a date and a time until which to postpone.");
}

async function answer(visit: Visit, done: (typeof REQUESTS_DONE)[number], request: Promise<object | string | null>) {
  const result = await request;
  if (result === null) throw notFoundError("invoice with this id");
  if (typeof result === "string") throw new PageError(409, result);
  return redirectTo(visit.reply, `/invoices/${encodeURIComponent(visit.form.get("invoiceId") ?? "")}?done=${done}`);
}

interface RequestForms {
  explained: ExplainedCase;
  open: Case;
  obstacles: RequestObstacles | null;
  retriesLeft: number;
  clock: PageClock;
}

/** Menus with forms. Where Dunlin requests nothing, the only one says why. */
export function requestForms({ explained, open, obstacles, retriesLeft, clock }: RequestForms): Html {
  const refusal = explainNotStoppable(open);
  if (refusal !== null || obstacles === null)
    return html`<div class="tools requests">${drop("Stop", html`<p>${refusal}</p>`, "end", "danger")}</div>`;
  return html`<div class="tools requests">${drop("Postpone", postponeForm(explained, open, obstacles, clock), "end")}${drop("Retry now", retryForm(explained, open, obstacles, retriesLeft, clock), "end")}${drop("Stop", stopForm(open), "end", "danger")}</div>`;
}

const requestForm = (action: string, open: Case, body: HtmlPart, hidden: Record<string, string> = {}): Html =>
  html`<form method="post" action="${action}" class="field">${hiddenFields({ invoiceId: open.invoiceId, caseId: open.id, ...hidden })}${body}</form>`;

/** Ids are unique on the page. */
const reasonField = (form: string): Html =>
  html`<label for="${form}-reason">Reason</label><input id="${form}-reason" name="reason" autocomplete="off" maxlength="${REASON_CHARS_MAX}" aria-describedby="${form}-reason-hint"><small id="${form}-reason-hint">For the audit log.</small>`;

function postponeForm(explained: ExplainedCase, open: Case, { postpone }: RequestObstacles, clock: PageClock): Html {
  if (postpone !== null) return html`<p>Retries cannot be postponed now. ${postpone}</p>`;
  const { name } = clock.zone;
  const last = new Date(+open.windowEndsAt - MINUTE_MS);
  const proposed = new Date(Math.min(+explained.now + DAY_MS, +last));
  const local = (at: Date) => toDatetimeLocal(at, name);
  return requestForm(
    "/invoices/postpone",
    open,
    html`<label for="until">Not before</label><input id="until" name="until" type="datetime-local" required value="${local(proposed)}" min="${local(explained.now)}" max="${local(last)}" aria-describedby="until-hint"><small id="until-hint">${zoneWords(clock)}, and at the latest ${longTime(clock, last)}. The rules of networks and banks still hold.</small>${reasonField("postpone")}<button class="main">Postpone</button>`,
    { zone: name },
  );
}

/** A retry that a rule forbids has no button: the network could fine it, or the customer could dispute it again. */
function retryForm(
  { balance }: ExplainedCase,
  open: Case,
  { retryNow }: RequestObstacles,
  retriesLeft: number,
  clock: PageClock,
): Html {
  if (retryNow !== null)
    return html`<p><b>No retry can be requested now.</b></p><p>${removeZoneNames([retryNow], clock.zone)}</p>`;
  const amount = formatMoney(balance?.unpaidAmount ?? open.amount, open.currency);
  const postponed =
    open.postponedUntil !== null &&
    html`<p>Retries are postponed until ${clockTime(clock, open.postponedUntil)}. A retry now ends that.</p>`;
  return requestForm(
    "/invoices/retry_now",
    open,
    html`${postponed}<p>Your endpoint gets the instruction at once. If it fails, ${retriesLeft <= 1 ? "no retry of the budget is" : retriesLeft === 2 ? "1 retry of the budget is" : `${retriesLeft - 1} retries of the budget are`} left.</p><label class="check"><input type="checkbox" name="confirmed" value="yes" required> Use one retry for it</label>${reasonField("retry")}<button class="main">Retry ${amount} now</button>`,
  );
}

const stopForm = (open: Case): Html =>
  requestForm(
    "/invoices/stop",
    open,
    html`<p>Dunlin sends no more instructions for this invoice, withdraws undelivered ones, and sends <code>complete_dunning</code> to your endpoint. You cannot undo this. Recovery restarts only if the invoice is settled and then becomes unpaid again.</p>${reasonField("stop")}<button class="danger">Stop recovery for this invoice</button>`,
  );
