import { axisTicks, createAxisScale } from "./axis-scale.ts";
import { escapeHtml, scrollableHtml } from "./html-page.ts";

const PLOT_WIDTH = 720;

/** A plot with its title, of that height, made of parts of SVG. */
const plotSvg = (title: string, height: number, parts: readonly string[]) =>
  `<figure><figcaption>${escapeHtml(title)}</figcaption>${scrollableHtml("Plot", title, `<svg viewBox="0 0 ${PLOT_WIDTH} ${height}" role="img" aria-label="${escapeHtml(title)}">${parts.join("")}</svg>`)}</figure>`;

/** What stands in a line of a plot: words before and after a drawing whose parts lie at percents of its width. */
export interface PlotRow {
  words: string;
  note: string;
  parts: string;
}

/** A plot with its title, line by line. It is as wide as the page; on a phone the words stand above the drawings. */
export const drawRowPlot = (title: string, rowHeight: number, rows: readonly PlotRow[]) =>
  `<figure><figcaption>${escapeHtml(title)}</figcaption><ol class="rows">${rows
    .map(
      ({ words, note, parts }) =>
        `<li><span class="name">${escapeHtml(words)}</span><svg height="${rowHeight}" aria-hidden="true">${parts}</svg><span class="note">${escapeHtml(note)}</span></li>`,
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

const BAR_ROW_HEIGHT = 26;

/** Bars, each with a dark part. */
export function drawBarPlot(title: string, bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ size }) => size), 0.01);
  const bar = (ink: string, size: number) =>
    `<rect class="${ink}" y="4" width="${((100 * size) / most).toFixed(1)}%" height="18"/>`;
  const rows = bars.map(({ words, size, note, inner }) => ({
    words,
    note,
    parts: bar("all", size) + bar("part", inner),
  }));
  return drawRowPlot(title, BAR_ROW_HEIGHT, rows);
}

/** In which colour a series is drawn: `other` for those that only stand beside the rest. */
export type SeriesColor = "first" | "second" | "third" | "other";

interface Series<P> {
  name: string;
  ink: SeriesColor;
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

const PLOT_HEIGHT = 320;
const LEFT_MARGIN = 64;
const TOP_MARGIN = 26;
const BOTTOM_MARGIN = 44;
/** What the names at the ends of lines have. */
const RIGHT_MARGIN = 96;
const NAME_HEIGHT = 15;

/** Lines from left to right, each named at its end. */
export function drawLinePlot(title: string, lines: readonly Series<{ x: number; y: number }>[], axes: Axes): string {
  const all = lines.flatMap(({ points }) => points);
  const { x, y, parts } = drawAxes(
    Math.max(...all.map((point) => point.x)),
    axisTicks(Math.min(0, ...all.map((point) => point.y)), Math.max(0, ...all.map((point) => point.y))),
    axes,
    PLOT_WIDTH - RIGHT_MARGIN,
  );
  const ends = spreadLabels(lines.map(({ points }) => y(points.at(-1)!.y)));
  const drawn = lines.map(({ name, ink, points }, n) => {
    const course = points.map((point) => `${x(point.x)},${y(point.y)}`).join(" ");
    return `<polyline class="course ${ink}" points="${course}"/><text class="name ${ink}" x="${PLOT_WIDTH - RIGHT_MARGIN + 6}" y="${ends[n]! + 4}">${escapeHtml(name)}</text>`;
  });
  return plotSvg(title, PLOT_HEIGHT, [...parts, ...drawn]);
}

/** Where names can stand that belong at these heights: one below the other. */
function spreadLabels(heights: readonly number[]): number[] {
  const order = heights.map((_, n) => n).sort((a, b) => heights[a]! - heights[b]!);
  const placed = [...heights];
  let least = TOP_MARGIN;
  for (const n of order) {
    placed[n] = Math.max(placed[n]!, least);
    least = placed[n] + NAME_HEIGHT;
  }
  let most = PLOT_HEIGHT - BOTTOM_MARGIN;
  for (const n of order.toReversed()) {
    placed[n] = Math.min(placed[n]!, most);
    most = placed[n] - NAME_HEIGHT;
  }
  return placed;
}

/** What was said and what came of it, between 0 and 1, with what luck may have done. */
export interface CalibrationDot {
  said: number;
  came: number;
  /** How far from `said` luck alone may put `came`. */
  luck: number;
  /** Share of its series that it stands for. */
  share: number;
}

/** Shares that came beside those that were said: true ones lie on the line from corner to corner. */
export function drawDotPlot(title: string, series: readonly Series<CalibrationDot>[], axes: Axes): string {
  const { x, y, parts } = drawAxes(
    1,
    [0, 0.25, 0.5, 0.75, 1],
    axes,
    LEFT_MARGIN + PLOT_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN + 120,
  );
  const within = (value: number) => y(Math.min(1, Math.max(0, value)));
  const drawn = series.flatMap(({ ink, points }) =>
    points.map(
      ({ said, came, luck, share }) =>
        `<line class="luck ${ink}" x1="${x(said)}" x2="${x(said)}" y1="${within(said - luck)}" y2="${within(said + luck)}"/><circle class="dot ${ink}" cx="${x(said)}" cy="${y(came)}" r="${(2.5 + 9 * Math.sqrt(share)).toFixed(1)}"/>`,
    ),
  );
  const names = series.map(
    ({ name, ink }, n) =>
      `<circle class="dot ${ink}" cx="${x(1) + 26}" cy="${TOP_MARGIN + 10 + n * 22}" r="5"/><text class="name ${ink}" x="${x(1) + 38}" y="${TOP_MARGIN + 14 + n * 22}">${escapeHtml(name)}</text>`,
  );
  const ideal = `<line class="zero" x1="${x(0)}" y1="${y(0)}" x2="${x(1)}" y2="${y(1)}" stroke-dasharray="4 4"/>`;
  return plotSvg(title, PLOT_HEIGHT, [...parts, ideal, ...drawn, ...names]);
}

/** Axes and their numbers, and where values stand in them. */
function drawAxes(most: number, levels: readonly number[], { across, acrossOf, up, upOf }: Axes, right: number) {
  const x = createAxisScale(0, Math.max(most, 1e-9), LEFT_MARGIN, right);
  const y = createAxisScale(levels[0]!, levels.at(-1)!, PLOT_HEIGHT - BOTTOM_MARGIN, TOP_MARGIN);
  const numbers = axisTicks(0, most).filter((value) => value <= most);
  const parts = [
    ...levels.map(
      (value) =>
        `<line class="${value === 0 ? "zero" : "tick"}" x1="${LEFT_MARGIN}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/><text class="axis" x="${LEFT_MARGIN - 8}" y="${y(value) + 4}" text-anchor="end">${escapeHtml(upOf(value))}</text>`,
    ),
    ...numbers.map(
      (value) =>
        `<text class="axis" x="${x(value)}" y="${PLOT_HEIGHT - BOTTOM_MARGIN + 18}" text-anchor="middle">${escapeHtml(acrossOf(value))}</text>`,
    ),
    `<text class="axis" x="${(LEFT_MARGIN + right) / 2}" y="${PLOT_HEIGHT - 6}" text-anchor="middle">${escapeHtml(across)}</text>`,
    `<text class="axis" x="4" y="14">${escapeHtml(up)}</text>`,
  ];
  return { x, y, parts };
}
