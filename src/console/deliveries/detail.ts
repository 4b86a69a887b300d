import { nextDueAt } from "../../delivery/schedule.ts";
import { plainText } from "../../delivery/test-event.ts";
import { attemptsMax } from "../../domain/event.ts";
import type { Ports } from "../../domain/ports.ts";
import { attemptsOf, type LoggedAttempt } from "../../store/delivery-attempts.ts";
import { findDelivery, type ListedDelivery, replayable } from "../../store/delivery-states.ts";
import { findEvent } from "../../store/events.ts";
import type { Console } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html, type Part } from "../html.ts";
import { notFound } from "../page-error.ts";
import { isUuid } from "../query.ts";
import { button } from "../show/fields.ts";
import { countdown, lengthText, moment } from "../show/moments.ts";
import { copyable, facts, table } from "../show/table.ts";
import { deliveryState, spaced, state } from "../show/words.ts";
import type { Visit } from "../visit.ts";
import { invoiceLink } from "./list.ts";

/** One event: what was sent, when each attempt was planned and made, and what came back. */
export function deliveryDetailRoutes({ page, ports }: Console) {
  page("/deliveries/:eventId", null, async (visit): Promise<Page> => {
    const { db, merchantId, params } = visit;
    const eventId = params.eventId!;
    const delivery = isUuid(eventId) ? await findDelivery(db, merchantId, eventId) : null;
    const event = delivery && (await findEvent(db, merchantId, eventId));
    if (!delivery || !event) throw notFound("event");
    const attempts = await attemptsOf(db, merchantId, eventId);
    const [judged] = await replayable(db, merchantId, { eventIds: [eventId] }, ports.now());
    return {
      title: `${spaced(event.type).replace(/^./, (first) => first.toUpperCase())} for ${event.invoiceId}`,
      tools:
        visit.may("replay") &&
        judged?.skip === null &&
        button(`/deliveries/${eventId}/replay`, "Send again", {}, "main"),
      body: html`<div data-live="5">
${facts([
  [
    "State",
    html`${deliveryState(delivery.state)}${delivery.state === "exhausted" && judged?.skip && html` <small>not sent again: ${judged.skip}</small>`}`,
  ],
  ["Event", html`<code>${eventId}</code>`],
  ["Invoice", invoiceLink(event.invoiceId)],
  ["Created", moment(event.createdAt, visit.person.zone, "second")],
  delivery.withdrawnAt ? ["Withdrawn", moment(delivery.withdrawnAt, visit.person.zone, "second")] : null,
])}
<h2>Attempts</h2>
${attemptTable(delivery, attempts, visit, ports)}
<h2>What is sent</h2>
<p class="soft">The same bytes under the same id at every attempt.</p>
${copyable("Body", pretty(event.body))}
${attempts.length > 0 && html`<h2>What came back</h2>${attempts.map((attempt) => exchange(attempt))}`}
</div>`,
    };
  });
}

function pretty(body: string): string {
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
  const most = attemptsMax(delivery.type);
  const made = attempts.map((attempt, index): Row => {
    const { round, number, startedAt, durationMs } = attempt;
    const planned = plannedAt(delivery, attempts, index);
    return {
      attempt: html`${round > 1 && html`<small>round ${round}</small> `}${number} of ${most}`,
      planned: planned ? moment(planned, zone, "millisecond") : html`<span class="soft">when it was sent again</span>`,
      began: html`${moment(startedAt, zone, "millisecond")}${planned && late(startedAt.getTime() - planned.getTime())}`,
      took: `${durationMs} ms`,
      answer: answerOf(attempt),
    };
  });
  const rows = [...made, ...plannedRows(delivery, most, zone, ports)];
  if (rows.length === 0) return html`<p>No attempt is in the log.</p>`;
  return table(
    "Attempts",
    [
      { head: "Attempt", cell: ({ attempt }) => attempt },
      { head: "Planned", cell: ({ planned }) => planned },
      { head: "Began", cell: ({ began }) => began },
      { head: "Took", cell: ({ took }) => took, numeric: true },
      { head: "Answer", cell: ({ answer }) => answer },
    ],
    rows,
  );
}

/** An attempt that was made, or one that is still to come. */
interface Row {
  attempt: Part;
  planned: Part;
  began: Part;
  took: Part;
  answer: Part;
}

/** Attempts that are still to come: the next one, and those that follow as long as each fails. */
function plannedRows({ dueAt, attempts }: ListedDelivery, most: number, zone: string, ports: Ports): Row[] {
  if (dueAt === null) return [];
  const rows: Row[] = [];
  for (let [number, at] = [attempts + 1, dueAt]; ; number++) {
    const began =
      number === attempts + 1
        ? state(countdown(dueAt, ports.now(), ports.clockRate), "warn")
        : html`<span class="soft">if the one before fails at once</span>`;
    const planned = moment(at, zone, "millisecond");
    rows.push({ attempt: `${number} of ${most}`, planned, began, took: null, answer: null });
    if (number >= most) return rows;
    at = nextDueAt(number, at);
  }
}

/** The schedule runs from the end of the attempt before. When a replay was asked for is not in the log. */
function plannedAt(delivery: ListedDelivery, attempts: readonly LoggedAttempt[], index: number): Date | null {
  const { round, number } = attempts[index]!;
  if (round === 1 && number === 1) return delivery.createdAt;
  const before = attempts[index - 1];
  return before?.round === round ? nextDueAt(before.number, before.endedAt) : null;
}

const late = (ms: number): Part => ms >= 1_000 && html` <small>${lengthText(ms)} after plan</small>`;

function answerOf({ success, status, error }: LoggedAttempt): Html {
  if (success) return state(String(status ?? "taken"), "good");
  return html`${state(status === null ? "no answer" : String(status), "bad")}${error && html` <small>${error}</small>`}`;
}

function exchange({ round, number, head, response, lookUpMs, connectMs, tlsMs, firstByteMs }: LoggedAttempt): Html {
  const steps = [
    ["name looked up", lookUpMs],
    ["connected", connectMs],
    ["TLS up", tlsMs],
    ["first byte", firstByteMs],
  ].filter(([, ms]) => ms !== null);
  return html`<details class="more"><summary>Attempt ${number}${round > 1 && ` of round ${round}`}</summary>
${steps.length > 0 && html`<p class="soft">${steps.map(([name, ms]) => `${name} after ${ms} ms`).join(", ")}</p>`}
${head && html`<p>Sent beside the body, secrets masked:</p><pre class="exchange" tabindex="0">${plainText(head)}</pre>`}
<p>Answered:</p><pre class="exchange" tabindex="0">${response === null || response === "" ? "nothing" : plainText(response)}</pre></details>`;
}
