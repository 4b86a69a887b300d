import { EVENT_TYPES } from "../../domain/event.ts";
import { auditReplay, replay } from "../../recovery/replay.ts";
import { askReplay, REPLAY_MAX, type ReplayJob } from "../../recovery/replay-job.ts";
import { type Replayable, replayable } from "../../store/delivery-states.ts";
import { findJob, listJobs } from "../../store/jobs.ts";
import { canonicalQuery } from "../canonical-query.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html } from "../html.ts";
import { notFound, PageError } from "../page-error.ts";
import { isUuid, oneOf, readQuery, utcMoment } from "../query.ts";
import { choice, field, hiddenFields, notice } from "../show/fields.ts";
import { localField, moment } from "../show/moments.ts";
import { count } from "../show/money.ts";
import { empty, facts, table } from "../show/table.ts";
import { spaced } from "../show/words.ts";
import type { Visit } from "../visit.ts";

/** Earlier ones that are shown. */
const JOBS = 10;
const READERS = { type: oneOf(EVENT_TYPES), createdFrom: utcMoment, createdTo: utcMoment };

/** Sending exhausted events again: one, or all that a filter picks, with a look before. */
export function replayRoutes(console: Console) {
  const { ports } = console;
  console.page("/deliveries/replay", "replay", async (visit) => {
    const moved = canonicalQuery(visit, { moments: ["createdFrom", "createdTo"] });
    if (moved) return moved;
    const filter = readQuery(visit.query, READERS);
    const { db, merchantId } = visit;
    const [found, jobs] = await Promise.all([
      replayable(db, merchantId, { ...filter, limit: REPLAY_MAX + 1 }, ports.now()),
      listJobs(db, merchantId, "replay", JOBS),
    ]);
    return previewPage(found, visit, filter, jobs as ReplayJob[]);
  });
  console.post("/deliveries/replay", "replay", async ({ db, merchantId, form, actor, reply }) => {
    const id = await askReplay(db, merchantId, readQuery(form, READERS), actor, ports);
    if (id === null) throw new PageError(409, "A replay is under way already. Wait for its end, then look again.");
    console.onJob("replay");
    return goTo(reply, `/deliveries/replay/${id}`);
  });
  console.page("/deliveries/replay/:id", "replay", async ({ db, merchantId, params, query, person }) => {
    readQuery(query, {});
    const job = isUuid(params.id!) ? await findJob(db, merchantId, params.id!, "replay") : null;
    if (!job) throw notFound("replay");
    return replayPage(job as ReplayJob, person.zone);
  });
  console.post("/deliveries/:eventId/replay", "replay", async (visit) => {
    const eventId = visit.params.eventId!;
    if (!isUuid(eventId)) throw notFound("event");
    const { skipped } = await replayed(console, visit, eventId);
    if (skipped[0]) throw new PageError(409, `It is not sent again: ${skipped[0].skip}.`);
    return goTo(visit.reply, `/deliveries/${eventId}`);
  });
}

async function replayed({ ports, onEvents }: Console, { db, merchantId, actor }: Visit, eventId: string) {
  const writes = auditReplay(actor, ports, merchantId, eventId);
  const done = await replay(db, merchantId, { eventIds: [eventId] }, ports, writes);
  if (done.replayed.length > 0) onEvents(merchantId);
  return done;
}

function previewPage(
  found: readonly Replayable[],
  visit: Visit,
  filter: ReturnType<typeof readQuery<typeof READERS>>,
  jobs: readonly ReplayJob[],
): Page {
  const looked = found.slice(0, REPLAY_MAX);
  const fit = looked.filter(({ skip }) => skip === null).length;
  const { zone } = visit.person;
  const { type = "", createdFrom, createdTo } = filter;
  const isFiltered = visit.query.size > 0;
  return {
    title: "Send exhausted events again",
    body: html`
${
  looked.length === 0
    ? empty(
        isFiltered
          ? "No exhausted event fits these filters."
          : "No event is exhausted: there is nothing to send again.",
      )
    : html`<p class="lead">${count(fit)} of ${count(looked.length)} exhausted ${looked.length === 1 ? "event" : "events"} would be sent again</p>
<p>Under their own ids and with the same bytes, as a new round of the whole schedule. What makes no sense any more is left out.${found.length > REPLAY_MAX && ` These are the oldest ${count(REPLAY_MAX)}; for the rest ask again afterwards.`}</p>`
}
${reasons(skipCounts(looked))}
${
  (looked.length > 0 || isFiltered) &&
  html`<form method="get" class="filters" data-search>
${choice("Type", "type", [["", "any"], ...EVENT_TYPES.map((each) => [each, each.replaceAll("_", " ")] as const)], type)}
${field({ label: "Created from", name: "createdFrom", type: "datetime-local", value: createdFrom ? localField(createdFrom, zone) : "" })}
${field({ label: "Created to", name: "createdTo", type: "datetime-local", value: createdTo ? localField(createdTo, zone) : "" })}
<button>Look</button></form>`
}
${fit > 0 && html`<form method="post" action="/deliveries/replay">${hiddenFields({ type, createdFrom: createdFrom?.toISOString() ?? "", createdTo: createdTo?.toISOString() ?? "" })}<button class="main">Send ${count(fit)} again</button></form>`}
${jobs.length > 0 && html`<h2>Earlier ones</h2>${jobTable(jobs, zone)}`}`,
  };
}

/** Of those that are left out, how many for which reason. */
function skipCounts(found: readonly Replayable[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { skip } of found) if (skip !== null) counts[skip] = (counts[skip] ?? 0) + 1;
  return counts;
}

const reasons = (counts: Readonly<Record<string, number>>): Html | false =>
  Object.keys(counts).length > 0 &&
  html`<ul>${Object.entries(counts).map(([skip, n]) => html`<li>${count(n)} left out: ${skip}</li>`)}</ul>`;

const progressWords = ({ endedAt, failure, progress }: ReplayJob) =>
  failure ??
  `${count(progress.replayed)} sent again, ${count(progress.looked - progress.replayed)} left out${endedAt ? "" : `, ${count(Math.max(0, progress.total - progress.looked))} to go`}`;

const jobTable = (jobs: readonly ReplayJob[], zone: string) =>
  table(
    "Earlier replays",
    [
      {
        head: "Asked for",
        cell: ({ id, askedAt }) => html`<a href="/deliveries/replay/${id}">${moment(askedAt, zone)}</a>`,
      },
      { head: "By", cell: ({ actor }) => actor.name },
      { head: "Type", cell: ({ input }) => (input.type ? spaced(input.type) : "any") },
      { head: "What became of it", cell: progressWords },
    ],
    jobs,
  );

/** One replay: how far it is, or what it did. It goes on whether somebody looks or not. */
function replayPage(job: ReplayJob, zone: string): Page {
  const { progress, endedAt, failure, input, actor, askedAt } = job;
  const isOver = endedAt !== null;
  return {
    title: isOver ? "Sent again" : "Sending again",
    body: html`<div${isOver ? "" : html` data-live="1"`}>
${failure ? notice("bad", failure) : isOver ? notice(progress.replayed > 0 ? "good" : "warn", `${progressWords(job)}.`) : html`<p class="lead">${progressWords(job)}</p>`}
${!isOver && html`<p><progress max="${Math.max(1, progress.total)}" value="${progress.looked}" aria-label="Events looked at">${progress.looked}</progress></p><p class="soft">It goes on when you leave this page, and on another process if this one ends.</p>`}
${reasons(progress.skipped)}
${facts([
  ["Asked for", html`${moment(askedAt, zone, "second")} by ${actor.name}`],
  isOver ? ["Ended", moment(endedAt, zone, "second")] : null,
  ["Type", input.type ? spaced(input.type) : "any"],
  input.createdFrom ? ["Created from", moment(new Date(input.createdFrom), zone)] : null,
  ["Created to", moment(new Date(input.createdTo!), zone)],
])}</div>
<p><a class="button" href="/deliveries?state=waiting">See those that wait</a> <a class="button" href="/deliveries/replay">Look for more</a></p>`,
  };
}
