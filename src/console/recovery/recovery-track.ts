import type { Case } from "../../domain/case.ts";
import { DAY_MS } from "../../domain/durations.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { type Html, html } from "../html.ts";
import { card } from "../show/parts.ts";
import { clockTime, longTime, type PageClock, shortDay } from "./page-clock.ts";
import { chooseLabels, type Label, type Placed, type PlacedLabel, placeMarks, placeNow } from "./place-marks.ts";
import { listTrackMarks, type MarkKind, type TrackMark } from "./track-marks.ts";

/** In percent of the width. */
const LEFT = 3;
const RIGHT = 97;
const LINE_Y = 44;
/**
 * Drawings for a wide and for a narrow window. `gap`: the smallest distance of two marks, 20 px wide, in percent. `width`: the
 * narrowest one at which the drawing is shown, in px. A narrow window shows no names.
 */
const WIDE = { gap: 2.2, width: 740, height: 98, hasNames: true, kind: "only-wide" } as const;
const NARROW = { gap: 7, width: 250, height: 82, hasNames: false, kind: "only-narrow" } as const;
/** At most, at the size of the labels, and between two labels. In px. */
const CHARACTER_WIDTH = 7;
const LABEL_GAP = 8;

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
    html`<div class="in"><div role="img" aria-label="${trackWords(track)}">${[WIDE, NARROW].map((size) => drawTrack(track, size))}</div>${cardLegend(track)}</div>`,
  );
}

/** A request for a card often has no room for a label, and on a phone no mark has a name. */
function cardLegend({ marks }: Track): Html | null {
  const cards = marks.filter(({ kind }) => kind === "card");
  return cards.length === 0
    ? null
    : html`<div class="legend chart-legend"><span><svg viewBox="-11 -8 22 16" aria-hidden="true">${SHAPES.card}</svg>${cards.at(-1)!.words}</span></div>`;
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

function drawTrack(track: Track, size: typeof WIDE | typeof NARROW): Html {
  const { gap, height, kind } = size;
  const { reached, end, clock } = track;
  const placed = placeMarks(track.marks, gap, track.now, [LEFT, RIGHT]);
  const hasPast = track.marks.some(({ x }) => track.now !== null && x <= track.now);
  const now = track.now === null ? null : placeNow(track.now, hasPast, gap, LEFT);
  const last = now === null ? placed.at(-1) : placed.findLast(({ x }) => x <= now);
  const planned = placed.filter(({ marks }) => marks.some((mark) => mark.kind === "planned"));
  const labelsOf = (those: readonly Placed<PlacedTrackMark>[]) => those.map((each) => placedLabel(each, clock, size));
  const windowEnd = sizeLabel(end, shortDay(clock, track.recoveryCase.windowEndsAt), "window ends", false, size);
  const labels = chooseLabels([
    ...labelsOf([...planned, ...placed.slice(0, 1)]),
    windowEnd,
    ...labelsOf([...(last ? [last] : []), ...placed]),
  ]);
  return html`<svg class="chart track ${kind}" height="${height}" aria-hidden="true">
<line class="c-track" x1="${LEFT}%" x2="${RIGHT}%" y1="${LINE_Y}" y2="${LINE_Y}"/><line class="c-run" x1="${LEFT}%" x2="${percent(now ?? reached)}" y1="${LINE_Y}" y2="${LINE_Y}"/>
<line class="c-end" x1="${percent(end)}" x2="${percent(end)}" y1="34" y2="54"/>
${placed.map((each) => drawPlaced(each, clock))}${labels.map(drawLabel)}
${now !== null && html`<line class="c-now" x1="${percent(now)}" x2="${percent(now)}" y1="22" y2="58"/><text class="now" x="${percent(now)}" y="15" text-anchor="middle">now</text>`}</svg>`;
}

function drawPlaced({ x, marks }: Placed<PlacedTrackMark>, clock: PageClock): Html {
  const words = marks.map((mark) => markWords(mark, clock)).join("; ");
  return html`<svg x="${percent(x)}" y="${LINE_Y}" overflow="visible"><title>${words}</title>${SHAPES[marks.at(-1)!.kind]}${marks.length > 1 && html`<text y="-14" text-anchor="middle">×${marks.length}</text>`}</svg>\n`;
}

const ATTEMPT_KINDS: ReadonlySet<MarkKind> = new Set(["failed", "paid", "open"]);

interface TrackLabel extends Label {
  date: string;
  name: string;
  isChosen: boolean;
}

function placedLabel({ x, marks }: Placed<PlacedTrackMark>, clock: PageClock, size: typeof WIDE | typeof NARROW) {
  const shown = marks.at(-1)!;
  const [first, last] = [marks[0]!.at, shown.at].map((at) => shortDay(clock, at)) as [string, string];
  const name =
    marks.length === 1
      ? shown.name
      : `${marks.length} ${marks.every(({ kind }) => ATTEMPT_KINDS.has(kind)) ? "attempts" : "events"}`;
  return sizeLabel(x, first === last ? last : `${first} – ${last}`, name, shown.kind === "planned", size);
}

function sizeLabel(
  x: number,
  date: string,
  name: string,
  isChosen: boolean,
  { width, hasNames }: typeof WIDE | typeof NARROW,
): TrackLabel {
  const characters = hasNames ? Math.max(date.length, name.length) : date.length;
  return { x, date, name, isChosen, width: (100 * (characters * CHARACTER_WIDTH + LABEL_GAP)) / width };
}

/** At an edge it begins or ends there. */
function drawLabel({ x, left, width, date, name, isChosen }: PlacedLabel<TrackLabel>): Html {
  const isMoved = Math.abs(left + width / 2 - x) > 0.01;
  const [anchor, at] = !isMoved ? ["middle", x] : left === 0 ? ["start", 0] : ["end", 100];
  return html`<text class="${isChosen && "chosen"}" x="${percent(at as number)}" y="74" text-anchor="${anchor}">${date}</text><text class="alt" x="${percent(at as number)}" y="90" text-anchor="${anchor}">${name}</text>`;
}

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
