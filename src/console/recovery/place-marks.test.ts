import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseLabels, placeMarks, placeNow } from "./place-marks.ts";

const BOUNDS = [3, 97] as const;
const place = (places: readonly number[], now: number | null = null, gap = 2) =>
  placeMarks(
    places.map((x) => ({ x })),
    gap,
    now,
    BOUNDS,
  );
const counts = (placed: ReturnType<typeof place>) => placed.map(({ marks }) => marks.length);

test("marks with enough room stay at their true places", () => {
  assert.deepEqual(
    place([3, 20, 60, 97]).map(({ x }) => x),
    [3, 20, 60, 97],
  );
});

test("two marks that would overlap are nudged apart and not joined", () => {
  const placed = place([40, 40.5]);
  assert.deepEqual(counts(placed), [1, 1]);
  assert.ok(placed[1]!.x - placed[0]!.x >= 2);
});

test("marks of one hour are joined into one place that keeps all of them in order", () => {
  const placed = place([40, 40.1, 40.2, 40.3, 40.4, 40.5]);
  assert.ok(placed.length <= 3, `${placed.length}`);
  assert.deepEqual(
    placed.flatMap(({ marks }) => marks.map(({ x }) => x)),
    [40, 40.1, 40.2, 40.3, 40.4, 40.5],
  );
});

test("no two places are closer than the gap, past ones stay left of now, and none is far from its mark", () => {
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  for (let round = 0; round < 2_000; round++) {
    const gap = round % 2 === 0 ? 2.2 : 7;
    const places = Array.from({ length: 1 + Math.floor(random() * 14) }, () => 3 + random() ** 2 * 94).sort(
      (a, b) => a - b,
    );
    const now = round % 3 === 0 ? null : 3 + random() * 94;
    const placed = place(places, now, gap);
    const words = `${places} now ${now} gap ${gap}`;
    assert.deepEqual(
      placed.flatMap(({ marks }) => marks.map(({ x }) => x)),
      places,
      words,
    );
    for (const [index, { x, marks }] of placed.entries()) {
      if (index > 0) assert.ok(x - placed[index - 1]!.x > gap - 1e-9, words);
      if (now !== null && marks[0]!.x <= now) assert.ok(x < placeNow(now, true, gap, 3), words);
      if (now !== null && marks[0]!.x > now) assert.ok(x > now, words);
      if (placed.length > 2 && index > 0) assert.ok(Math.abs(x - marks.at(-1)!.x) <= 2 * gap, words);
    }
  }
});

const labels = (places: readonly number[], width: number) =>
  chooseLabels(places.map((x, index) => ({ x, width, index }))).map(({ index, left }) => [index, left]);

test("the more important of two labels that would touch is kept, also at one place", () => {
  assert.deepEqual(labels([50, 48, 60, 50], 8), [
    [0, 46],
    [2, 56],
  ]);
});

test("a label at the edge begins or ends there, and is kept apart from its neighbor as it is placed", () => {
  assert.deepEqual(labels([97, 3, 80], 16), [
    [0, 84],
    [1, 0],
  ]);
});
