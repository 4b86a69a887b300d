export interface TruePlace {
  /** In percent of the width. */
  x: number;
}

/** Marks that share a place, oldest first: apart they would overlap. */
export interface Placed<Mark> {
  x: number;
  marks: readonly Mark[];
}

/** Further from its true place a mark would mislead, so it joins its neighbor. In parts of the smallest distance. */
const NUDGE_MAX = 1;
/** Left of it a mark would leave the sheet. */
const EDGE = 1;
/** In percent. */
const NOW_NUDGE_MAX = 4;

/**
 * Spreads marks so that none overlaps another and past ones stay left of `now`. Marks that would move too far are joined.
 *
 * @param marks  oldest first
 * @param gap  smallest distance, in percent
 * @param now  in percent; null: all marks are past
 */
export function placeMarks<Mark extends TruePlace>(
  marks: readonly Mark[],
  gap: number,
  now: number | null,
  [low, high]: readonly [number, number],
): Placed<Mark>[] {
  const least = Math.max(low - gap * NUDGE_MAX, EDGE);
  if (now === null) return spread(marks, gap, least, high);
  const past = marks.filter(({ x }) => x <= now);
  const ahead = marks.filter(({ x }) => x > now);
  const room = gap / 2;
  const line = placeNow(now, past.length > 0, gap, low);
  return [...spread(past, gap, least, line - room), ...spread(ahead, gap, line + room, high)];
}

/** On the first day it leaves room for the marks before it. */
export const placeNow = (now: number, hasPast: boolean, gap: number, low: number): number =>
  hasPast ? Math.max(now, low + Math.min(gap, NOW_NUDGE_MAX)) : now;

function spread<Mark extends TruePlace>(marks: readonly Mark[], gap: number, low: number, high: number) {
  const groups = marks.map((mark) => [mark]);
  for (;;) {
    const places = separate(
      groups.map((group) => group.at(-1)!.x),
      gap,
      high,
    );
    const isFar = (x: number, index: number) => x < low || Math.abs(x - groups[index]!.at(-1)!.x) > gap * NUDGE_MAX;
    if (groups.length < 2 || !places.some(isFar))
      return groups.map((group, index) => ({ x: Math.max(low, places[index]!), marks: group }));
    const closest = findClosest(groups.map((group) => group.at(-1)!.x));
    groups.splice(closest, 2, [...groups[closest]!, ...groups[closest + 1]!]);
  }
}

/** Moves places to the right where they are too close, and back to the left where there is no room. */
function separate(own: readonly number[], gap: number, high: number): number[] {
  const places = [...own];
  for (let index = 1; index < places.length; index++)
    places[index] = Math.max(places[index]!, places[index - 1]! + gap);
  for (let index = places.length - 1; index >= 0; index--)
    places[index] = Math.min(places[index]!, (places[index + 1] ?? high + gap) - gap);
  return places;
}

/** The first of the two neighbors with the smallest distance. */
function findClosest(own: readonly number[]): number {
  let closest = 0;
  for (let index = 1; index + 1 < own.length; index++)
    if (own[index + 1]! - own[index]! < own[closest + 1]! - own[closest]!) closest = index;
  return closest;
}

/** In percent of the width. */
export interface Label extends TruePlace {
  /** With the room to the next label. */
  width: number;
}

/** `left`: where the label begins. Centered on its place, unless it would leave the sheet. */
export type PlacedLabel<Each extends Label> = Each & { left: number };

/**
 * Chooses the labels that have room: none touches another, and none leaves the sheet.
 *
 * @param wanted  the most important ones first; one that is wanted twice is chosen once
 */
export function chooseLabels<Each extends Label>(wanted: readonly Each[]): PlacedLabel<Each>[] {
  const chosen: PlacedLabel<Each>[] = [];
  for (const label of wanted) {
    const left = Math.max(0, Math.min(100 - label.width, label.x - label.width / 2));
    if (chosen.every((other) => left >= other.left + other.width || left + label.width <= other.left))
      chosen.push({ ...label, left });
  }
  return chosen;
}
