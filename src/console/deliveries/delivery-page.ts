import { nextAttemptDueAt } from "../../delivery/attempt-schedule.ts";
import { withoutControlCharacters } from "../../delivery/test-event.ts";
import { maxAttempts } from "../../domain/event.ts";
import type { Ports } from "../../domain/ports.ts";
import { type LoggedAttempt, listAttemptsOfEvent } from "../../tables/delivery-attempts.ts";
import { findDelivery, findReplayable, type ListedDelivery } from "../../tables/delivery-states.ts";
import { findEvent } from "../../tables/events.ts";
import type { Console } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { notFoundError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { isUuid } from "../page-query.ts";
import { formButton } from "../show/form-fields.ts";
import { deliveryStateLabel, stateLabel, toSpacedWords } from "../show/state-labels.ts";
import { copyableText, factList, table } from "../show/table.ts";
import { countdown, formatDuration, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { invoiceLink } from "./delivery-list-page.ts";

export function deliveryDetailRoutes({ page, ports }: Console) {
  page("/deliveries/:eventId", null, async (visit): Promise<Page> => {
    const { db, merchantId, params } = visit;
    const eventId = params.eventId!;
    const delivery = isUuid(eventId) ? await findDelivery(db, merchantId, eventId) : null;
    const event = delivery && (await findEvent(db, merchantId, eventId));
    if (!delivery || !event) throw notFoundError("event");
    const attempts = await listAttemptsOfEvent(db, merchantId, eventId);
    const [verdict] = await findReplayable(db, merchantId, { eventIds: [eventId] }, ports.now());
    return {
      title: `${toSpacedWords(event.type).replace(/^./, (first) => first.toUpperCase())} for ${event.invoiceId}`,
      tools:
        visit.may("replay") &&
        verdict?.skip === null &&
        formButton(`/deliveries/${eventId}/replay`, "Send again", {}, "main"),
      body: html`<div data-live="5">
${factList([
  [
    "State",
    html`${deliveryStateLabel(delivery.state)}${delivery.state === "exhausted" && verdict?.skip && html` <small>cannot be sent again: ${verdict.skip}</small>`}`,
  ],
  ["Event", html`<code>${eventId}</code>`],
  ["Invoice", invoiceLink(event.invoiceId)],
  ["Created", timeElement(event.createdAt, visit.person.zone, "second")],
  delivery.withdrawnAt ? ["Withdrawn", timeElement(delivery.withdrawnAt, visit.person.zone, "second")] : null,
])}
<h2>Attempts</h2>
${attemptTable(delivery, attempts, visit, ports)}
<h2>Request</h2>
<p class="soft">Every attempt sends the same id and body.</p>
${copyableText("Body", formatJson(event.body))}
${attempts.length > 0 && html`<h2>Responses</h2>${attempts.map((attempt) => exchangeDetails(attempt))}`}
</div>`,
    };
  });
}

function formatJson(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function attemptTable(
  delivery: ListedDelivery,
  attempts: readonly LoggedAttempt[],
  { person: { zone } }: Visit,
  ports: Ports,
): Html {
  const attemptLimit = maxAttempts(delivery.type);
  const pastRows = attempts.map((attempt, index): AttemptRow => {
    const { round, number, startedAt, durationMs } = attempt;
    const planned = plannedAttemptTime(delivery, attempts, index);
    return {
      attempt: html`${round > 1 && html`<small>round ${round}</small> `}${number} of ${attemptLimit}`,
      planned: planned ? timeElement(planned, zone, "millisecond") : html`<span class="soft">at the replay</span>`,
      began: html`${timeElement(startedAt, zone, "millisecond")}${planned && describeDelay(startedAt.getTime() - planned.getTime())}`,
      took: `${durationMs} ms`,
      answer: answerOf(attempt),
    };
  });
  const rows = [...pastRows, ...plannedRows(delivery, attemptLimit, zone, ports)];
  if (rows.length === 0) return html`<p>The log has no attempt.</p>`;
  return table(
    "Attempts",
    [
      { head: "Attempt", cell: ({ attempt }) => attempt },
      { head: "Planned", cell: ({ planned }) => planned },
      { head: "Started", cell: ({ began }) => began },
      { head: "Duration", cell: ({ took }) => took, numeric: true },
      { head: "Response", cell: ({ answer }) => answer },
    ],
    rows,
  );
}

interface AttemptRow {
  attempt: HtmlPart;
  planned: HtmlPart;
  began: HtmlPart;
  took: HtmlPart;
  answer: HtmlPart;
}

function plannedRows(
  { dueAt, attempts }: ListedDelivery,
  attemptLimit: number,
  zone: string,
  ports: Ports,
): AttemptRow[] {
  if (dueAt === null) return [];
  const rows: AttemptRow[] = [];
  for (let [number, at] = [attempts + 1, dueAt]; ; number++) {
    const began =
      number === attempts + 1
        ? stateLabel(countdown(dueAt, ports.now(), ports.clockRate), "warn")
        : html`<span class="soft">if the previous one fails immediately</span>`;
    const planned = timeElement(at, zone, "millisecond");
    rows.push({ attempt: `${number} of ${attemptLimit}`, planned, began, took: null, answer: null });
    if (number >= attemptLimit) return rows;
    at = nextAttemptDueAt(number, at);
  }
}

/** From the previous attempt's end. The log does not contain a replay's time. */
function plannedAttemptTime(delivery: ListedDelivery, attempts: readonly LoggedAttempt[], index: number): Date | null {
  const { round, number } = attempts[index]!;
  if (round === 1 && number === 1) return delivery.createdAt;
  const previous = attempts[index - 1];
  return previous?.round === round ? nextAttemptDueAt(previous.number, previous.endedAt) : null;
}

const describeDelay = (ms: number): HtmlPart => ms >= 1_000 && html` <small>${formatDuration(ms)} late</small>`;

function answerOf({ success, status, error }: LoggedAttempt): Html {
  if (success) return stateLabel(String(status ?? "accepted"), "good");
  return html`${stateLabel(status === null ? "no answer" : String(status), "bad")}${error && html` <small>${error}</small>`}`;
}

function exchangeDetails({
  round,
  number,
  head,
  response,
  lookUpMs,
  connectMs,
  tlsMs,
  firstByteMs,
}: LoggedAttempt): Html {
  const steps = [
    ["DNS lookup", lookUpMs],
    ["connection", connectMs],
    ["TLS", tlsMs],
    ["first byte", firstByteMs],
  ].filter(([, ms]) => ms !== null);
  return html`<details class="more"><summary>Attempt ${number}${round > 1 && ` of round ${round}`}</summary>
${steps.length > 0 && html`<p class="soft">${steps.map(([name, ms]) => `${name} after ${ms} ms`).join(", ")}</p>`}
${head && html`<p>Request line and headers, secrets masked:</p><pre class="exchange" tabindex="0">${withoutControlCharacters(head)}</pre>`}
<p>Response:</p><pre class="exchange" tabindex="0">${response === null || response === "" ? "none" : withoutControlCharacters(response)}</pre></details>`;
}
