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

function groupsByClass(from: number, to: number): WeightGroup[] {
  const width = (to - from) / CLASS_COUNT;
  return Array.from({ length: CLASS_COUNT }, (_, classIndex) => ({
    from: from + classIndex * width,
    width,
    rows: 1,
    varianceMax: CLASS_VARIANCE_MAX,
  }));
}

const singleGroup = (from: number, to: number): WeightGroup => ({
  from,
  width: to - from,
  rows: 1,
  varianceMax: CLASS_VARIANCE_MAX,
});

const groupsByColumn = ({ start, rows }: { start: number; rows: number }): WeightGroup[] =>
  Array.from({ length: COLUMN_GROUPS }, (_, n) => ({
    from: start + COLUMN_EDGES[n]!,
    width: COLUMN_EDGES[n + 1]! - COLUMN_EDGES[n]!,
    rows,
    varianceMax: ROW_VARIANCE_MAX,
  }));

export const WEIGHT_GROUPS: readonly WeightGroup[] = [
  ...groupsByClass(WEIGHT_STARTS.hour, WEIGHT_STARTS.weekday),
  ...groupsByClass(WEIGHT_STARTS.weekday, WEIGHT_STARTS.date),
  singleGroup(WEIGHT_STARTS.date, WEIGHT_STARTS.elapsed),
  ...groupsByClass(WEIGHT_STARTS.elapsed, WEIGHT_STARTS.tries),
  ...groupsByClass(WEIGHT_STARTS.tries, WEIGHT_STARTS.gap),
  ...groupsByClass(WEIGHT_STARTS.gap, WEIGHT_STARTS.weekTries),
  singleGroup(WEIGHT_STARTS.weekTries, WEIGHT_STARTS.since),
  ...groupsByClass(WEIGHT_STARTS.dateCell, WEIGHT_STARTS.before),
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
