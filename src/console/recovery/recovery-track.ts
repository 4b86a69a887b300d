import type { Case } from "../../domain/case.ts";
import { DAY_MS } from "../../domain/durations.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { type Html, html } from "../html.ts";
import { card } from "../show/parts.ts";
import { clockTime, longTime, type PageClock, shortDay } from "./page-clock.ts";
import { chooseLabels, type Placed, placeMarks, placeNow } from "./place-marks.ts";
import { listTrackMarks, type MarkKind, type TrackMark } from "./track-marks.ts";

/** In percent of the width. */
const LEFT = 3;
const RIGHT = 97;
const LINE_Y = 44;
/** Smallest distances on a wide and on a narrow window, in percent: of marks 20 px wide, and of labels. */
const WIDE = { gap: 2.2, labels: 7, height: 98, kind: "only-wide" } as const;
const NARROW = { gap: 7, labels: 14, height: 82, kind: "only-narrow" } as const;

type PlacedTrackMark = TrackMark & { x: number };

interface Track {
  recoveryCase: Case;
  marks: readonly PlacedTrackMark[];
  from: Date;
  /** Null once the case has ended. */
  now: number | null;
  /** How far the case has come. */
  reached: number;
  end: number;
  clock: PageClock;
}

/** The whole window to scale, from the first attempt to its end. */
export function recoveryTrack(
  explained: ExplainedCase,
  recoveryCase: Case,
  requestedRetries: number,
  clock: PageClock,
): Html {
  const track = layTrack(explained, recoveryCase, clock);
  return card(
    {
      title: "Recovery so far",
      side: `${recoveryCase.arm === "dunlin" ? `${requestedRetries} of ${recoveryCase.budget} retries used` : "only observed"} · ${remainingWords(recoveryCase, explained.now)}`,
      kind: "mb",
      foot: numbersOf(track),
    },
    html`<div class="in"><div role="img" aria-label="${trackWords(track)}">${[WIDE, NARROW].map((size) => drawTrack(track, size))}</div></div>`,
  );
}

function layTrack(explained: ExplainedCase, recoveryCase: Case, clock: PageClock): Track {
  const listed = listTrackMarks(explained);
  const from = Math.min(+recoveryCase.unpaidAt, ...listed.map(({ at }) => +at));
  const to = Math.max(+recoveryCase.windowEndsAt, ...listed.map(({ at }) => +at));
  const x = (at: Date) => LEFT + ((RIGHT - LEFT) * (Math.min(Math.max(+at, from), to) - from)) / Math.max(1, to - from);
  const isOpen = recoveryCase.endedAt === null;
  return {
    ...{ recoveryCase, clock, from: new Date(from), end: x(recoveryCase.windowEndsAt) },
    marks: listed.map((mark) => ({ ...mark, x: x(mark.at) })),
    now: isOpen ? x(explained.now) : null,
    reached: x(recoveryCase.endedAt ?? explained.now),
  };
}

function remainingWords({ endedAt, windowEndsAt }: Case, now: Date): string {
  if (endedAt !== null) return "ended";
  const days = Math.floor((+windowEndsAt - +now) / DAY_MS);
  return days < 1 ? "less than a day left" : days === 1 ? "1 day left" : `${days} days left`;
}

const percent = (value: number) => `${Number(value.toFixed(2))}%`;

function drawTrack(track: Track, { gap, labels, height, kind }: typeof WIDE | typeof NARROW): Html {
  const { reached, end, clock } = track;
  const placed = placeMarks(track.marks, gap, track.now, [LEFT, RIGHT]);
  const hasPast = track.marks.some(({ x }) => track.now !== null && x <= track.now);
  const now = track.now === null ? null : placeNow(track.now, hasPast, gap, LEFT);
  const last = now === null ? placed.at(-1) : placed.findLast(({ x }) => x <= now);
  const planned = placed.filter(({ marks }) => marks.some((mark) => mark.kind === "planned"));
  const first = placed[0];
  const wanted = [...planned, ...(first ? [first] : []), { x: end }, ...(last ? [last] : []), ...placed];
  const labelled = chooseLabels(
    wanted.map(({ x }) => x),
    labels,
  );
  return html`<svg class="chart track ${kind}" height="${height}" aria-hidden="true">
<line class="c-track" x1="${LEFT}%" x2="${RIGHT}%" y1="${LINE_Y}" y2="${LINE_Y}"/><line class="c-run" x1="${LEFT}%" x2="${percent(now ?? reached)}" y1="${LINE_Y}" y2="${LINE_Y}"/>
<line class="c-end" x1="${percent(end)}" x2="${percent(end)}" y1="34" y2="54"/>${labelled.has(end) && label(end, shortDay(clock, track.recoveryCase.windowEndsAt), "window ends", "")}
${placed.map((each) => drawPlaced(each, clock, labelled))}
${now !== null && html`<line class="c-now" x1="${percent(now)}" x2="${percent(now)}" y1="22" y2="58"/><text class="now" x="${percent(now)}" y="15" text-anchor="middle">now</text>`}</svg>`;
}

function drawPlaced({ x, marks }: Placed<PlacedTrackMark>, clock: PageClock, labelled: ReadonlySet<number>): Html {
  const shown = marks.at(-1)!;
  const [first, last] = [marks[0]!.at, shown.at].map((at) => shortDay(clock, at)) as [string, string];
  const words = marks.map((mark) => markWords(mark, clock)).join("; ");
  const name =
    marks.length === 1
      ? shown.name
      : `${marks.length} ${marks.every(({ kind }) => ATTEMPT_KINDS.has(kind)) ? "attempts" : "events"}`;
  return html`<svg x="${percent(x)}" y="${LINE_Y}" overflow="visible"><title>${words}</title>${SHAPES[shown.kind]}${marks.length > 1 && html`<text y="-14" text-anchor="middle">×${marks.length}</text>`}</svg>
${labelled.has(x) && label(x, first === last ? last : `${first} – ${last}`, name, shown.kind === "planned" ? "chosen" : "")}`;
}

const ATTEMPT_KINDS: ReadonlySet<MarkKind> = new Set(["failed", "paid", "open"]);

const label = (x: number, date: string, name: string, kind: string): Html =>
  html`<text class="${kind}" x="${percent(x)}" y="74" text-anchor="middle">${date}</text><text class="alt" x="${percent(x)}" y="90" text-anchor="middle">${name}</text>`;

const SHAPES: Readonly<Record<MarkKind, Html>> = {
  failed: html`<circle class="c-fail" r="9"/><path class="c-x" d="M-3.5-3.5l7 7M3.5-3.5l-7 7"/>`,
  paid: html`<circle class="c-paid" r="9"/><path class="c-tick" d="m-4 .5 3 3 5-6"/>`,
  open: html`<circle class="c-open" r="9"/>`,
  card: html`<rect class="c-card" x="-10" y="-7" width="20" height="14" rx="3"/><path class="c-card" d="M-10-2.5h20"/>`,
  planned: html`<circle class="c-plan" r="9"/>`,
  end: html`<path class="c-end" d="M0-10v20"/>`,
};

const markWords = ({ at, words }: TrackMark, clock: PageClock) => `${longTime(clock, at)}: ${words}`;

function trackWords({ recoveryCase, marks, from, now, clock }: Track): string {
  const span = `Recovery from ${longTime(clock, from)} to the end of the window on ${longTime(clock, recoveryCase.windowEndsAt)}.`;
  const isOpen = now === null ? "It has ended." : "It is still open.";
  return `${span} ${isOpen} ${marks.map((mark) => `${markWords(mark, clock)}.`.replace("..", ".")).join(" ")}`;
}

const numbersOf = ({ recoveryCase, marks, clock }: Track): Html =>
  html`<details class="more"><summary>Show the numbers</summary><table class="small-table"><thead><tr><th scope="col">Time</th><th scope="col">What</th></tr></thead><tbody>${[
    ...marks,
    { at: recoveryCase.windowEndsAt, words: "end of the recovery window" },
  ].map(
    ({ at, words }) => html`<tr><td>${clockTime(clock, at)}</td><td>${words}</td></tr>\n`,
  )}</tbody></table></details>`;
