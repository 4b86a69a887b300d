import { EVENT_TYPES } from "../../domain/event.ts";
import { auditReplay, type Replay, replay } from "../../recovery/replay.ts";
import { type Replayable, replayable, type Which } from "../../store/delivery-states.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html } from "../html.ts";
import { notFound, PageError } from "../page-error.ts";
import { isUuid, oneOf, readQuery, utcMoment } from "../query.ts";
import { choice, field, hiddenFields, notice } from "../show/fields.ts";
import { localField } from "../show/moments.ts";
import { count } from "../show/money.ts";
import type { Visit } from "../visit.ts";
import { inUtc } from "../zoned-query.ts";

const READERS = { type: oneOf(EVENT_TYPES), createdFrom: utcMoment, createdTo: utcMoment };

/** Sending exhausted events again: one, or all that a filter picks, with a look before. */
export function replayRoutes(console: Console) {
  const { ports } = console;
  console.page("/deliveries/replay", "replay", async (visit) => {
    const moved = inUtc(visit, ["createdFrom", "createdTo"]);
    if (moved) return moved;
    const filter = readQuery(visit.query, READERS);
    const found = await replayable(visit.db, visit.merchantId, filter, ports.now());
    return previewPage(found, visit, filter);
  });
  console.post("/deliveries/replay", "replay", async (visit) => {
    const filter = readQuery(visit.form, READERS);
    return donePage(await replayed(console, visit, filter, "exhausted events", JSON.parse(JSON.stringify(filter))));
  });
  console.post("/deliveries/:eventId/replay", "replay", async (visit) => {
    const eventId = visit.params.eventId!;
    if (!isUuid(eventId)) throw notFound("event");
    const { skipped } = await replayed(console, visit, { eventIds: [eventId] }, eventId, {});
    if (skipped[0]) throw new PageError(409, `It is not sent again: ${skipped[0].skip}.`);
    return goTo(visit.reply, `/deliveries/${eventId}`);
  });
}

async function replayed(
  { ports, onReplayed }: Console,
  { db, merchantId, actor }: Visit,
  which: Which,
  object: string,
  details: Record<string, unknown>,
): Promise<Replay> {
  const done = await replay(db, merchantId, which, ports, auditReplay(actor, ports, merchantId, object, details));
  if (done.replayed.length > 0) onReplayed(merchantId);
  return done;
}

function previewPage(
  found: readonly Replayable[],
  visit: Visit,
  filter: ReturnType<typeof readQuery<typeof READERS>>,
): Page {
  const fit = found.filter(({ skip }) => skip === null).length;
  const { zone } = visit.person;
  const { type = "", createdFrom, createdTo } = filter;
  return {
    title: "Send exhausted events again",
    body: html`
<p class="lead">${count(fit)} of ${count(found.length)} exhausted ${found.length === 1 ? "event" : "events"} would be sent again</p>
<p>Under their own ids and with the same bytes, as a new round of the whole schedule. What makes no sense any more is left out.</p>
${reasons(found)}
<form method="get" class="filters" data-search>
${choice("Type", "type", [["", "any"], ...EVENT_TYPES.map((each) => [each, each.replaceAll("_", " ")] as const)], type)}
${field({ label: "Created from", name: "createdFrom", type: "datetime-local", value: createdFrom ? localField(createdFrom, zone) : "" })}
${field({ label: "Created to", name: "createdTo", type: "datetime-local", value: createdTo ? localField(createdTo, zone) : "" })}
<button>Look</button></form>
${fit > 0 && html`<form method="post" action="/deliveries/replay">${hiddenFields({ type, createdFrom: createdFrom?.toISOString() ?? "", createdTo: createdTo?.toISOString() ?? "" })}<button class="main">Send ${count(fit)} again</button></form>`}`,
  };
}

function reasons(found: readonly Replayable[]): Html | null {
  const counts = new Map<string, number>();
  for (const { skip } of found) if (skip !== null) counts.set(skip, (counts.get(skip) ?? 0) + 1);
  return counts.size === 0
    ? null
    : html`<ul>${[...counts].map(([skip, n]) => html`<li>${count(n)} left out: ${skip}</li>`)}</ul>`;
}

const donePage = ({ replayed, skipped }: Replay): Page => ({
  title: "Sent again",
  body: html`${notice(replayed.length > 0 ? "good" : "warn", `${count(replayed.length)} sent again, ${count(skipped.length)} left out.`)}
${reasons(skipped)}<p><a class="button" href="/deliveries?state=waiting">See those that wait</a></p>`,
});
