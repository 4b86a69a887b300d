import { EVENT_TYPES } from "../../domain/event.ts";
import { MAX_REPLAYED_EVENTS, type ReplayJob, requestReplay } from "../../jobs/replay-job.ts";
import { auditReplay, replayExhausted } from "../../merchants/replay.ts";
import { findReplayable, type ReplayVerdict } from "../../tables/delivery-states.ts";
import { findJob, listJobs } from "../../tables/job-queue.ts";
import { redirectToCanonicalQuery } from "../canonical-query.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, html } from "../html.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, isUuid, parsePageQuery, utcTimeReader } from "../page-query.ts";
import { formField, formNotice, hiddenFields, selectField } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { toSpacedWords } from "../show/state-labels.ts";
import { emptyNotice, factList, table } from "../show/table.ts";
import { timeElement, toDatetimeLocal } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const SHOWN_JOBS_MAX = 10;
const QUERY_READERS = { type: enumReader(EVENT_TYPES), createdFrom: utcTimeReader, createdTo: utcTimeReader };

export function replayRoutes(console: Console) {
  const { ports } = console;
  console.page("/deliveries/replay", "replay", async (visit) => {
    const redirect = redirectToCanonicalQuery(visit, { times: ["createdFrom", "createdTo"] });
    if (redirect) return redirect;
    const filter = parsePageQuery(visit.query, QUERY_READERS);
    const { db, merchantId } = visit;
    const [found, jobs] = await Promise.all([
      findReplayable(db, merchantId, { ...filter, limit: MAX_REPLAYED_EVENTS + 1 }, ports.now()),
      listJobs(db, merchantId, "replay", SHOWN_JOBS_MAX),
    ]);
    return previewPage(found, visit, filter, jobs as ReplayJob[]);
  });
  console.post("/deliveries/replay", "replay", async ({ db, merchantId, form, actor, reply }) => {
    const id = await requestReplay(db, merchantId, parsePageQuery(form, QUERY_READERS), actor, ports);
    if (id === null) throw new PageError(409, "Another replay is in progress. Wait until it ends, then check again.");
    console.onJob("replay");
    return redirectTo(reply, `/deliveries/replay/${id}`);
  });
  console.page("/deliveries/replay/:id", "replay", async ({ db, merchantId, params, query, person }) => {
    parsePageQuery(query, {});
    const job = isUuid(params.id!) ? await findJob(db, merchantId, params.id!, "replay") : null;
    if (!job) throw notFoundError("replay");
    return replayPage(job as ReplayJob, person.zone);
  });
  console.post("/deliveries/:eventId/replay", "replay", async (visit) => {
    const eventId = visit.params.eventId!;
    if (!isUuid(eventId)) throw notFoundError("event");
    const { skipped } = await replayEvent(console, visit, eventId);
    if (skipped[0]) throw new PageError(409, `This event cannot be sent again: ${skipped[0].skip}.`);
    return redirectTo(visit.reply, `/deliveries/${eventId}`);
  });
}

async function replayEvent({ ports, onEvents }: Console, { db, merchantId, actor }: Visit, eventId: string) {
  const audit = auditReplay(actor, ports, merchantId, eventId);
  const result = await replayExhausted(db, merchantId, { eventIds: [eventId] }, ports, audit);
  if (result.replayed.length > 0) onEvents(merchantId);
  return result;
}

function previewPage(
  found: readonly ReplayVerdict[],
  visit: Visit,
  filter: ReturnType<typeof parsePageQuery<typeof QUERY_READERS>>,
  jobs: readonly ReplayJob[],
): Page {
  const checked = found.slice(0, MAX_REPLAYED_EVENTS);
  const replayable = checked.filter(({ skip }) => skip === null).length;
  const { zone } = visit.person;
  const { type = "", createdFrom, createdTo } = filter;
  const isFiltered = visit.query.size > 0;
  return {
    title: "Send exhausted events again",
    body: html`
${
  checked.length === 0
    ? emptyNotice(
        isFiltered
          ? "No exhausted event matches these filters."
          : "There are no exhausted events, so there is nothing to send again.",
      )
    : html`<p class="lead">${formatCount(replayable)} of ${formatCount(checked.length)} exhausted ${checked.length === 1 ? "event" : "events"} can be sent again</p>
<p>Events are sent again with the same id and body, on the full retry schedule. Outdated events are skipped.${found.length > MAX_REPLAYED_EVENTS && ` These are the oldest ${formatCount(MAX_REPLAYED_EVENTS)}. Repeat the replay for the rest.`}</p>`
}
${skipReasonList(skipCounts(checked))}
${
  (checked.length > 0 || isFiltered) &&
  html`<form method="get" class="filters" data-search>
${selectField("Type", "type", [["", "any"], ...EVENT_TYPES.map((each) => [each, each.replaceAll("_", " ")] as const)], type)}
${formField({ label: "Created from", name: "createdFrom", type: "datetime-local", value: createdFrom ? toDatetimeLocal(createdFrom, zone) : "" })}
${formField({ label: "Created to", name: "createdTo", type: "datetime-local", value: createdTo ? toDatetimeLocal(createdTo, zone) : "" })}
<button>Filter</button></form>`
}
${replayable > 0 && html`<form method="post" action="/deliveries/replay">${hiddenFields({ type, createdFrom: createdFrom?.toISOString() ?? "", createdTo: createdTo?.toISOString() ?? "" })}<button class="main">Send ${formatCount(replayable)} again</button></form>`}
${jobs.length > 0 && html`<h2>Earlier replays</h2>${jobTable(jobs, zone)}`}`,
  };
}

function skipCounts(found: readonly ReplayVerdict[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { skip } of found) if (skip !== null) counts[skip] = (counts[skip] ?? 0) + 1;
  return counts;
}

const skipReasonList = (counts: Readonly<Record<string, number>>): Html | false =>
  Object.keys(counts).length > 0 &&
  html`<ul>${Object.entries(counts).map(([skip, n]) => html`<li>${formatCount(n)} skipped: ${skip}</li>`)}</ul>`;

const describeProgress = ({ endedAt, failure, progress }: ReplayJob) =>
  failure ??
  `${formatCount(progress.replayed)} sent again, ${formatCount(progress.looked - progress.replayed)} skipped${endedAt ? "" : `, ${formatCount(Math.max(0, progress.total - progress.looked))} left`}`;

const jobTable = (jobs: readonly ReplayJob[], zone: string) =>
  table(
    "Earlier replays",
    [
      {
        head: "Started",
        cell: ({ id, askedAt }) => html`<a href="/deliveries/replay/${id}">${timeElement(askedAt, zone)}</a>`,
      },
      { head: "By", cell: ({ actor }) => actor.name },
      { head: "Type", cell: ({ input }) => (input.type ? toSpacedWords(input.type) : "any") },
      { head: "Result", cell: describeProgress },
    ],
    jobs,
  );

function replayPage(job: ReplayJob, zone: string): Page {
  const { progress, endedAt, failure, input, actor, askedAt } = job;
  const isOver = endedAt !== null;
  return {
    title: isOver ? "Replay finished" : "Replay in progress",
    body: html`<div${isOver ? "" : html` data-live="1"`}>
${failure ? formNotice("bad", failure) : isOver ? formNotice(progress.replayed > 0 ? "good" : "warn", `${describeProgress(job)}.`) : html`<p class="lead">${describeProgress(job)}</p>`}
${!isOver && html`<p><progress max="${Math.max(1, progress.total)}" value="${progress.looked}" aria-label="Checked events">${progress.looked}</progress></p><p class="soft">The replay continues if you leave this page.</p>`}
${skipReasonList(progress.skipped)}
${factList([
  ["Started", html`${timeElement(askedAt, zone, "second")} by ${actor.name}`],
  isOver ? ["Ended", timeElement(endedAt, zone, "second")] : null,
  ["Type", input.type ? toSpacedWords(input.type) : "any"],
  input.createdFrom ? ["Created from", timeElement(new Date(input.createdFrom), zone)] : null,
  ["Created to", timeElement(new Date(input.createdTo!), zone)],
])}</div>
<p><a class="button" href="/deliveries?state=waiting">Waiting events</a> <a class="button" href="/deliveries/replay">Send more events again</a></p>`,
  };
}
