import {
  CLASS_COUNT,
  COLUMN_EDGES,
  COLUMN_GROUPS,
  ROW_WIDTH,
  ROWS_BY_KIND,
  WEIGHT_COUNT,
  WEIGHT_STARTS,
} from "./model-layout.ts";

/** Similar meanings: `width` weights from `from` on, and the same columns in the next rows. */
interface WeightGroup {
  from: number;
  width: number;
  rows: number;
  varianceMax: number;
}

const ROW_VARIANCE_MAX = 0.03;
const CLASS_VARIANCE_MAX = 0.06;

function equalGroups(from: number, to: number, count: number): WeightGroup[] {
  const width = (to - from) / count;
  return Array.from({ length: count }, (_, n) => ({
    from: from + n * width,
    width,
    rows: 1,
    varianceMax: CLASS_VARIANCE_MAX,
  }));
}

const groupsByColumn = ({ start, rows }: { start: number; rows: number }): WeightGroup[] =>
  Array.from({ length: COLUMN_GROUPS }, (_, n) => ({
    from: start + COLUMN_EDGES[n]!,
    width: COLUMN_EDGES[n + 1]! - COLUMN_EDGES[n]!,
    rows,
    varianceMax: ROW_VARIANCE_MAX,
  }));

export const WEIGHT_GROUPS: readonly WeightGroup[] = [
  ...equalGroups(WEIGHT_STARTS.hour, WEIGHT_STARTS.weekday, CLASS_COUNT),
  ...equalGroups(WEIGHT_STARTS.weekday, WEIGHT_STARTS.date, CLASS_COUNT),
  ...equalGroups(WEIGHT_STARTS.date, WEIGHT_STARTS.elapsed, 1),
  ...equalGroups(WEIGHT_STARTS.elapsed, WEIGHT_STARTS.tries, CLASS_COUNT),
  ...equalGroups(WEIGHT_STARTS.tries, WEIGHT_STARTS.gap, CLASS_COUNT),
  ...equalGroups(WEIGHT_STARTS.gap, WEIGHT_STARTS.weekTries, CLASS_COUNT),
  ...equalGroups(WEIGHT_STARTS.weekTries, WEIGHT_STARTS.since, 1),
  ...equalGroups(WEIGHT_STARTS.dateCell, WEIGHT_STARTS.before, CLASS_COUNT),
  ...Object.values(ROWS_BY_KIND).flatMap(groupsByColumn),
];

export const NO_GROUP = 255;
export const GROUP_BY_WEIGHT = new Uint8Array(WEIGHT_COUNT).fill(NO_GROUP);
WEIGHT_GROUPS.forEach(({ from, width, rows }, group) => {
  for (let row = 0; row < rows; row++) {
    const start = from + row * ROW_WIDTH;
    GROUP_BY_WEIGHT.fill(group, start, start + width);
  }
});
