import { axisTicks, createAxisScale } from "../../report/axis-scale.ts";
import { type Html, html } from "../html.ts";

/** A value at a moment, and between what the truth lies. */
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
/** More than these can't be told apart. */
const POINTS_MAX = 90;

/** A line in its band over time, beside a line at nothing. `textOf` writes a value, `dayOf` a moment, on the axes. */
export function bandChart(
  name: string,
  summary: string,
  points: readonly BandPoint[],
  textOf: (value: number) => string,
  dayOf: (at: Date) => string,
): Html {
  const every = Math.ceil(points.length / POINTS_MAX);
  // The last one is always among them.
  const shown = points.filter((_, index) => (points.length - 1 - index) % every === 0);
  const [first, last] = [shown[0]!, shown.at(-1)!];
  // The first days know nothing: they would leave no room for those that do.
  const reach = shown.slice(Math.floor(shown.length / 4));
  const steps = axisTicks(Math.min(0, ...reach.map(({ low }) => low)), Math.max(0, ...reach.map(({ high }) => high)));
  const [bottom, top] = [steps[0]!, steps.at(-1)!];
  const x = createAxisScale(
    first.at.getTime(),
    Math.max(last.at.getTime(), first.at.getTime() + 1),
    PADDING_LEFT,
    WIDTH - PADDING_RIGHT,
  );
  const y = createAxisScale(bottom, top, HEIGHT - PADDING_BOTTOM, PADDING_TOP);
  const inside = (value: number) => y(Math.min(top, Math.max(bottom, value)));
  const path = (value: (point: BandPoint) => number, some = shown) =>
    some.map((point) => `${x(point.at.getTime())},${inside(value(point))}`).join(" ");
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
