import { axisTicks } from "../../report/axis-scale.ts";
import { type Html, html } from "../html.ts";

export interface CoursePoint {
  at: Date;
  middle: number;
  low: number;
  high: number;
}

const HEIGHT = 180;
const TOP = 8;
const PLOT_HEIGHT = 146;
/** More points cannot be told apart. */
const POINTS_MAX = 90;
const TICKS_MAX = 5;
/** Of the words at the right end, in pixels. */
const LINE_HEIGHT = 14;
/** Where the dates stand, as shares of the width. */
const DATE_PLACES = [0, 1 / 3, 2 / 3, 1];

/** Returns the marks of one scale for charts side by side. The wide intervals of the first days would flatten the rest. */
export function courseScale(courses: readonly (readonly CoursePoint[])[]): readonly number[] {
  const late = courses.flatMap((points) => points.slice(Math.floor(points.length / 4)));
  return axisTicks(Math.min(0, ...late.map(({ low }) => low)), Math.max(0, ...late.map(({ high }) => high)));
}

/** A value with its interval over time. @param label  all values in words */
export function coursePlot(
  label: string,
  points: readonly CoursePoint[],
  tone: string,
  ticks: readonly number[],
  textOf: { point(value: number): string; tick(value: number): string; day(at: Date): string },
): Html {
  const [bottom, top] = [ticks[0]!, ticks.at(-1)!];
  const shown = thinOut(points);
  const [first, last] = [shown[0]!, shown.at(-1)!];
  const span = Math.max(1, last.at.getTime() - first.at.getTime());
  const share = (value: number) => (top - Math.max(bottom, Math.min(top, value))) / (top - bottom);
  const y = (value: number) => round(TOP + share(value) * PLOT_HEIGHT);
  const place = (point: CoursePoint, value: number) =>
    `${round((100 * (point.at.getTime() - first.at.getTime())) / span)} ${round(100 * share(value))}`;
  const line = shown.map((point) => place(point, point.middle)).join("L");
  const roof = shown.map((point) => place(point, point.high)).join("L");
  const floor = shown
    .toReversed()
    .map((point) => place(point, point.low))
    .join("L");
  const zero = ticks.indexOf(0);
  const labeled = ticks.filter((_, index) => ticks.length <= TICKS_MAX || (index - zero) % 2 === 0);
  const scale = labeled.map(
    (value) =>
      html`<line class="${value === 0 ? "c-zero" : "c-grid"}" x1="0" x2="100%" y1="${y(value)}" y2="${y(value)}"/><text x="0" y="${round(y(value) - 4)}">${value === 0 ? "0" : textOf.tick(value)}</text>`,
  );
  const dates = DATE_PLACES.map(
    (at, index) =>
      html`<text class="${index === 1 ? "alt" : ""}" x="${round(100 * at)}%" y="${HEIGHT - 6}" text-anchor="middle">${textOf.day(new Date(first.at.getTime() + at * span))}</text>`,
  );
  const middle = y(last.middle);
  const ends = [
    [last.high, Math.min(y(last.high), middle - LINE_HEIGHT)],
    [last.middle, middle],
    [last.low, Math.max(y(last.low), middle + LINE_HEIGHT)],
  ].map(
    ([value, at]) => html`<text class="strong" x="100%" dx="10" y="${round(at! + 4)}">${textOf.point(value!)}</text>`,
  );
  return html`<div class="plot both" role="img" aria-label="${label}"><svg class="chart" height="${HEIGHT}" aria-hidden="true">${scale}</svg><svg class="chart front" height="${HEIGHT}"><svg y="${TOP}" width="100%" height="${PLOT_HEIGHT}" viewBox="0 0 100 100" preserveAspectRatio="none" overflow="visible"><path class="c-band ${tone}" d="M${roof}L${floor}Z"/><path class="c-line ${tone}" d="M${line}"/></svg><circle class="c-point ${tone}" cx="100%" cy="${middle}" r="4.5"/>${dates}${ends}</svg></div>`;
}

/** The last point always stays. */
function thinOut(points: readonly CoursePoint[]): readonly CoursePoint[] {
  const every = Math.ceil(points.length / POINTS_MAX);
  return points.filter((_, index) => (points.length - 1 - index) % every === 0);
}

const round = (value: number) => Number(value.toFixed(2));
