import { axisTicks, createAxisScale } from "../../report/axis-scale.ts";
import { type Html, html } from "../html.ts";

export interface BandPoint {
  at: Date;
  middle: number;
  low: number;
  high: number;
}

const WIDTH = 720;
const HEIGHT = 230;
const PADDING_LEFT = 58;
const PADDING_RIGHT = 16;
const PADDING_TOP = 12;
const PADDING_BOTTOM = 28;
/** More points would overlap. */
const POINTS_MAX = 90;

export function bandChart(
  name: string,
  summary: string,
  points: readonly BandPoint[],
  textOf: (value: number) => string,
  dayOf: (at: Date) => string,
): Html {
  const every = Math.ceil(points.length / POINTS_MAX);
  // The last point always stays.
  const shown = points.filter((_, index) => (points.length - 1 - index) % every === 0);
  const [first, last] = [shown[0]!, shown.at(-1)!];
  // The wide intervals of the first days would flatten the rest.
  const scaledPoints = shown.slice(Math.floor(shown.length / 4));
  const steps = axisTicks(
    Math.min(0, ...scaledPoints.map(({ low }) => low)),
    Math.max(0, ...scaledPoints.map(({ high }) => high)),
  );
  const [bottom, top] = [steps[0]!, steps.at(-1)!];
  const x = createAxisScale(
    first.at.getTime(),
    Math.max(last.at.getTime(), first.at.getTime() + 1),
    PADDING_LEFT,
    WIDTH - PADDING_RIGHT,
  );
  const y = createAxisScale(bottom, top, HEIGHT - PADDING_BOTTOM, PADDING_TOP);
  const inside = (value: number) => y(Math.min(top, Math.max(bottom, value)));
  const path = (value: (point: BandPoint) => number, selected = shown) =>
    selected.map((point) => `${x(point.at.getTime())},${inside(value(point))}`).join(" ");
  const band = `${path(({ high }) => high)} ${path(({ low }) => low, shown.toReversed())}`;
  const days = [first, shown[Math.floor(shown.length / 2)]!, last];
  const anchors = ["start", "middle", "end"];
  return html`<figure class="chart"><div class="plot" tabindex="0" role="region" aria-label="Chart: ${name}"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${summary}">
<polygon class="band" points="${band}"/>
${steps.map((value) => html`<line${value === 0 ? html` class="zero"` : ""} x1="${PADDING_LEFT}" x2="${WIDTH - PADDING_RIGHT}" y1="${y(value)}" y2="${y(value)}"/><text x="${PADDING_LEFT - 8}" y="${y(value) + 4}" text-anchor="end">${value === 0 ? "0" : textOf(value)}</text>`)}
<polyline class="course" points="${path(({ middle }) => middle)}"/>
${shown.length > 2 ? days.map(({ at }, index) => html`<text x="${x(at.getTime())}" y="${HEIGHT - 8}" text-anchor="${anchors[index]!}">${dayOf(at)}</text>`) : html`<text x="${x(last.at.getTime())}" y="${HEIGHT - 8}" text-anchor="start">${dayOf(last.at)}</text>`}
</svg></div></figure>`;
}
