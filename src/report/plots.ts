import { escaped, scrolled } from "./page.ts";
import { scale, ticks } from "./scale.ts";

const PLOT_WIDTH = 720;

/** A plot with its title, of that height, made of parts of SVG. */
const figure = (title: string, height: number, parts: readonly string[]) =>
  `<figure><figcaption>${escaped(title)}</figcaption>${scrolled("Plot", title, `<svg viewBox="0 0 ${PLOT_WIDTH} ${height}" role="img" aria-label="${escaped(title)}">${parts.join("")}</svg>`)}</figure>`;

/** What stands in a line of a plot: words before and after a drawing whose parts lie at percents of its width. */
export interface Row {
  words: string;
  note: string;
  parts: string;
}

/** A plot with its title, line by line. It is as wide as the page; on a phone the words stand above the drawings. */
export const rowsPlot = (title: string, rowHeight: number, rows: readonly Row[]) =>
  `<figure><figcaption>${escaped(title)}</figcaption><ol class="rows">${rows
    .map(
      ({ words, note, parts }) =>
        `<li><span class="name">${escaped(words)}</span><svg height="${rowHeight}" aria-hidden="true">${parts}</svg><span class="note">${escaped(note)}</span></li>`,
    )
    .join("")}</ol></figure>`;

/** A bar with words before and after it. */
export interface Bar {
  words: string;
  size: number;
  note: string;
  /** The dark part of `size`. */
  inner: number;
}

const BAR_ROW = 26;

/** Bars, each with a dark part. */
export function barPlot(title: string, bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ size }) => size), 0.01);
  const bar = (ink: string, size: number) =>
    `<rect class="${ink}" y="4" width="${((100 * size) / most).toFixed(1)}%" height="18"/>`;
  const rows = bars.map(({ words, size, note, inner }) => ({
    words,
    note,
    parts: bar("all", size) + bar("part", inner),
  }));
  return rowsPlot(title, BAR_ROW, rows);
}

/** In which colour a series is drawn: `other` for those that only stand beside the rest. */
export type Ink = "first" | "second" | "third" | "other";

interface Series<P> {
  name: string;
  ink: Ink;
  points: readonly P[];
}

/** How axes are written. */
interface Axes {
  /** What runs to the right, and how its values are written. */
  across: string;
  acrossOf(value: number): string;
  /** And upwards. */
  up: string;
  upOf(value: number): string;
}

const HEIGHT = 320;
const LEFT = 64;
const ABOVE = 26;
const BELOW = 44;
/** What the names at the ends of lines have. */
const RIGHT = 96;
const NAME_HEIGHT = 15;

/** Lines from left to right, each named at its end. */
export function linePlot(title: string, lines: readonly Series<{ x: number; y: number }>[], axes: Axes): string {
  const all = lines.flatMap(({ points }) => points);
  const { x, y, parts } = frame(
    Math.max(...all.map((point) => point.x)),
    ticks(Math.min(0, ...all.map((point) => point.y)), Math.max(0, ...all.map((point) => point.y))),
    axes,
    PLOT_WIDTH - RIGHT,
  );
  const ends = apart(lines.map(({ points }) => y(points.at(-1)!.y)));
  const drawn = lines.map(({ name, ink, points }, n) => {
    const course = points.map((point) => `${x(point.x)},${y(point.y)}`).join(" ");
    return `<polyline class="course ${ink}" points="${course}"/><text class="name ${ink}" x="${PLOT_WIDTH - RIGHT + 6}" y="${ends[n]! + 4}">${escaped(name)}</text>`;
  });
  return figure(title, HEIGHT, [...parts, ...drawn]);
}

/** Where names can stand that belong at these heights: one below the other. */
function apart(heights: readonly number[]): number[] {
  const order = heights.map((_, n) => n).sort((a, b) => heights[a]! - heights[b]!);
  const placed = [...heights];
  let least = ABOVE;
  for (const n of order) {
    placed[n] = Math.max(placed[n]!, least);
    least = placed[n] + NAME_HEIGHT;
  }
  let most = HEIGHT - BELOW;
  for (const n of order.toReversed()) {
    placed[n] = Math.min(placed[n]!, most);
    most = placed[n] - NAME_HEIGHT;
  }
  return placed;
}

/** What was said and what came of it, between 0 and 1, with what luck may have done. */
export interface Dot {
  said: number;
  came: number;
  /** How far from `said` luck alone may put `came`. */
  luck: number;
  /** Share of its series that it stands for. */
  share: number;
}

/** Shares that came beside those that were said: true ones lie on the line from corner to corner. */
export function dotPlot(title: string, series: readonly Series<Dot>[], axes: Axes): string {
  const { x, y, parts } = frame(1, [0, 0.25, 0.5, 0.75, 1], axes, LEFT + HEIGHT - ABOVE - BELOW + 120);
  const within = (value: number) => y(Math.min(1, Math.max(0, value)));
  const drawn = series.flatMap(({ ink, points }) =>
    points.map(
      ({ said, came, luck, share }) =>
        `<line class="luck ${ink}" x1="${x(said)}" x2="${x(said)}" y1="${within(said - luck)}" y2="${within(said + luck)}"/><circle class="dot ${ink}" cx="${x(said)}" cy="${y(came)}" r="${(2.5 + 9 * Math.sqrt(share)).toFixed(1)}"/>`,
    ),
  );
  const names = series.map(
    ({ name, ink }, n) =>
      `<circle class="dot ${ink}" cx="${x(1) + 26}" cy="${ABOVE + 10 + n * 22}" r="5"/><text class="name ${ink}" x="${x(1) + 38}" y="${ABOVE + 14 + n * 22}">${escaped(name)}</text>`,
  );
  const ideal = `<line class="zero" x1="${x(0)}" y1="${y(0)}" x2="${x(1)}" y2="${y(1)}" stroke-dasharray="4 4"/>`;
  return figure(title, HEIGHT, [...parts, ideal, ...drawn, ...names]);
}

/** Axes and their numbers, and where values stand in them. */
function frame(most: number, levels: readonly number[], { across, acrossOf, up, upOf }: Axes, right: number) {
  const x = scale(0, Math.max(most, 1e-9), LEFT, right);
  const y = scale(levels[0]!, levels.at(-1)!, HEIGHT - BELOW, ABOVE);
  const numbers = ticks(0, most).filter((value) => value <= most);
  const parts = [
    ...levels.map(
      (value) =>
        `<line class="${value === 0 ? "zero" : "tick"}" x1="${LEFT}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/><text class="axis" x="${LEFT - 8}" y="${y(value) + 4}" text-anchor="end">${escaped(upOf(value))}</text>`,
    ),
    ...numbers.map(
      (value) =>
        `<text class="axis" x="${x(value)}" y="${HEIGHT - BELOW + 18}" text-anchor="middle">${escaped(acrossOf(value))}</text>`,
    ),
    `<text class="axis" x="${(LEFT + right) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${escaped(across)}</text>`,
    `<text class="axis" x="4" y="14">${escaped(up)}</text>`,
  ];
  return { x, y, parts };
}
