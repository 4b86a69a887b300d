import { axisTicks, createAxisScale } from "./axis-scale.ts";
import { escapeHtml, scrollableHtml } from "./html-page.ts";

const PLOT_WIDTH = 720;

const plotSvg = (title: string, height: number, parts: readonly string[]) =>
  `<figure><figcaption>${escapeHtml(title)}</figcaption>${scrollableHtml("Plot", title, `<svg viewBox="0 0 ${PLOT_WIDTH} ${height}" role="img" aria-label="${escapeHtml(title)}">${parts.join("")}</svg>`)}</figure>`;

/** A drawing between two texts. Positions in `parts` are percentages. */
export interface PlotRow {
  label: string;
  note: string;
  parts: string;
}

export const drawRowPlot = (title: string, rowHeight: number, rows: readonly PlotRow[]) =>
  `<figure><figcaption>${escapeHtml(title)}</figcaption><ol class="rows">${rows
    .map(
      ({ label, note, parts }) =>
        `<li><span class="name">${escapeHtml(label)}</span><svg height="${rowHeight}" aria-hidden="true">${parts}</svg><span class="note">${escapeHtml(note)}</span></li>`,
    )
    .join("")}</ol></figure>`;

export interface Bar {
  label: string;
  size: number;
  note: string;
  /** The bar's dark part. */
  innerSize: number;
}

const BAR_ROW_HEIGHT = 26;

export function drawBarPlot(title: string, bars: readonly Bar[]): string {
  const maxSize = Math.max(...bars.map(({ size }) => size), 0.01);
  const bar = (color: string, size: number) =>
    `<rect class="${color}" y="4" width="${((100 * size) / maxSize).toFixed(1)}%" height="18"/>`;
  const rows = bars.map(({ label, size, note, innerSize }) => ({
    label,
    note,
    parts: bar("all", size) + bar("part", innerSize),
  }));
  return drawRowPlot(title, BAR_ROW_HEIGHT, rows);
}

/** `other` is in the background. */
export type SeriesColor = "first" | "second" | "third" | "other";

interface Series<P> {
  name: string;
  color: SeriesColor;
  points: readonly P[];
}

interface Axes {
  xLabel: string;
  formatX(value: number): string;
  yLabel: string;
  formatY(value: number): string;
}

const PLOT_HEIGHT = 320;
const LEFT_MARGIN = 64;
const TOP_MARGIN = 26;
const BOTTOM_MARGIN = 44;
/** Names at the ends of lines. */
const RIGHT_MARGIN = 96;
const NAME_HEIGHT = 15;

export function drawLinePlot(title: string, lines: readonly Series<{ x: number; y: number }>[], axes: Axes): string {
  const all = lines.flatMap(({ points }) => points);
  const { x, y, parts } = drawAxes(
    Math.max(...all.map((point) => point.x)),
    axisTicks(Math.min(0, ...all.map((point) => point.y)), Math.max(0, ...all.map((point) => point.y))),
    axes,
    PLOT_WIDTH - RIGHT_MARGIN,
  );
  const ends = spreadLabels(lines.map(({ points }) => y(points.at(-1)!.y)));
  const elements = lines.map(({ name, color, points }, n) => {
    const course = points.map((point) => `${x(point.x)},${y(point.y)}`).join(" ");
    return `<polyline class="course ${color}" points="${course}"/><text class="name ${color}" x="${PLOT_WIDTH - RIGHT_MARGIN + 6}" y="${ends[n]! + 4}">${escapeHtml(name)}</text>`;
  });
  return plotSvg(title, PLOT_HEIGHT, [...parts, ...elements]);
}

function spreadLabels(heights: readonly number[]): number[] {
  const order = heights.map((_, n) => n).sort((a, b) => heights[a]! - heights[b]!);
  const placed = [...heights];
  let min = TOP_MARGIN;
  for (const n of order) {
    placed[n] = Math.max(placed[n]!, min);
    min = placed[n] + NAME_HEIGHT;
  }
  let max = PLOT_HEIGHT - BOTTOM_MARGIN;
  for (const n of order.toReversed()) {
    placed[n] = Math.min(placed[n]!, max);
    max = placed[n] - NAME_HEIGHT;
  }
  return placed;
}

/** Shares between 0 and 1. */
export interface CalibrationDot {
  predicted: number;
  observed: number;
  /** By chance alone. */
  margin: number;
  /** Of the series. */
  share: number;
}

/** Calibrated predictions are on the diagonal. */
export function drawDotPlot(title: string, series: readonly Series<CalibrationDot>[], axes: Axes): string {
  const { x, y, parts } = drawAxes(
    1,
    [0, 0.25, 0.5, 0.75, 1],
    axes,
    LEFT_MARGIN + PLOT_HEIGHT - TOP_MARGIN - BOTTOM_MARGIN + 120,
  );
  const clampedY = (value: number) => y(Math.min(1, Math.max(0, value)));
  const dots = series.flatMap(({ color, points }) =>
    points.map(
      ({ predicted, observed, margin, share }) =>
        `<line class="luck ${color}" x1="${x(predicted)}" x2="${x(predicted)}" y1="${clampedY(predicted - margin)}" y2="${clampedY(predicted + margin)}"/><circle class="dot ${color}" cx="${x(predicted)}" cy="${y(observed)}" r="${(2.5 + 9 * Math.sqrt(share)).toFixed(1)}"/>`,
    ),
  );
  const names = series.map(
    ({ name, color }, n) =>
      `<circle class="dot ${color}" cx="${x(1) + 26}" cy="${TOP_MARGIN + 10 + n * 22}" r="5"/><text class="name ${color}" x="${x(1) + 38}" y="${TOP_MARGIN + 14 + n * 22}">${escapeHtml(name)}</text>`,
  );
  const diagonal = `<line class="zero" x1="${x(0)}" y1="${y(0)}" x2="${x(1)}" y2="${y(1)}" stroke-dasharray="4 4"/>`;
  return plotSvg(title, PLOT_HEIGHT, [...parts, diagonal, ...dots, ...names]);
}

function drawAxes(maxX: number, levels: readonly number[], { xLabel, formatX, yLabel, formatY }: Axes, right: number) {
  const x = createAxisScale(0, Math.max(maxX, 1e-9), LEFT_MARGIN, right);
  const y = createAxisScale(levels[0]!, levels.at(-1)!, PLOT_HEIGHT - BOTTOM_MARGIN, TOP_MARGIN);
  const numbers = axisTicks(0, maxX).filter((value) => value <= maxX);
  const parts = [
    ...levels.map(
      (value) =>
        `<line class="${value === 0 ? "zero" : "tick"}" x1="${LEFT_MARGIN}" x2="${right}" y1="${y(value)}" y2="${y(value)}"/><text class="axis" x="${LEFT_MARGIN - 8}" y="${y(value) + 4}" text-anchor="end">${escapeHtml(formatY(value))}</text>`,
    ),
    ...numbers.map(
      (value) =>
        `<text class="axis" x="${x(value)}" y="${PLOT_HEIGHT - BOTTOM_MARGIN + 18}" text-anchor="middle">${escapeHtml(formatX(value))}</text>`,
    ),
    `<text class="axis" x="${(LEFT_MARGIN + right) / 2}" y="${PLOT_HEIGHT - 6}" text-anchor="middle">${escapeHtml(xLabel)}</text>`,
    `<text class="axis" x="4" y="14">${escapeHtml(yLabel)}</text>`,
  ];
  return { x, y, parts };
}
