import { AT, CLASS_COUNT, COLUMN_EDGES, COLUMN_GROUPS, ROW_WIDTH, ROWS_OF, WEIGHTS } from "./layout.ts";

/** Weights that say the same kind of thing, of times for the most part: so many in a row from `from` on, and the same ones in each of the next rows. */
interface Group {
  from: number;
  width: number;
  rows: number;
  /** None of them is held to vary by more than this. */
  varianceMax: number;
}

const ROW_VARIANCE_MAX = 0.03;
const CLASS_VARIANCE_MAX = 0.06;

/** What holds for a class of reasons, one group for each. */
function byClass(from: number, to: number): Group[] {
  const width = (to - from) / CLASS_COUNT;
  return Array.from({ length: CLASS_COUNT }, (_, of) => ({
    from: from + of * width,
    width,
    rows: 1,
    varianceMax: CLASS_VARIANCE_MAX,
  }));
}

const one = (from: number, to: number): Group => ({ from, width: to - from, rows: 1, varianceMax: CLASS_VARIANCE_MAX });

/** The rows of one kind, one group for each of what a moment is. */
const byColumns = ({ start, rows }: { start: number; rows: number }): Group[] =>
  Array.from({ length: COLUMN_GROUPS }, (_, n) => ({
    from: start + COLUMN_EDGES[n]!,
    width: COLUMN_EDGES[n + 1]! - COLUMN_EDGES[n]!,
    rows,
    varianceMax: ROW_VARIANCE_MAX,
  }));

/** The groups of weights that may be loosened. */
export const GROUPS: readonly Group[] = [
  ...byClass(AT.hour, AT.weekday),
  ...byClass(AT.weekday, AT.date),
  one(AT.date, AT.elapsed),
  ...byClass(AT.elapsed, AT.tries),
  ...byClass(AT.tries, AT.gap),
  ...byClass(AT.gap, AT.weekTries),
  one(AT.weekTries, AT.since),
  ...byClass(AT.dateCell, AT.before),
  ...Object.values(ROWS_OF).flatMap(byColumns),
];

export const NO_GROUP = 255;
/** The group of each weight. */
export const GROUP_OF = new Uint8Array(WEIGHTS).fill(NO_GROUP);
GROUPS.forEach(({ from, width, rows }, group) => {
  for (let row = 0; row < rows; row++) {
    const start = from + row * ROW_WIDTH;
    GROUP_OF.fill(group, start, start + width);
  }
});
