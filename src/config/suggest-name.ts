/** Names that differ more are similar only by chance. */
const MAX_EDIT_DISTANCE = 2;

function findNearestName(typed: string, names: readonly string[]): string | null {
  const ranked = names.map((name) => ({ name, distance: editDistance(typed, name) }));
  const [best] = ranked.sort((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.min(MAX_EDIT_DISTANCE, typed.length / 2) ? best.name : null;
}

/** Returns text such as ` Did you mean merchant list?`, or nothing if no name is similar. */
export function suggestName(typed: string, names: readonly string[]): string {
  const name = findNearestName(typed, names);
  return name === null ? "" : ` Did you mean ${name}?`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
