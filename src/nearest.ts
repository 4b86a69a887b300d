/** The name that looks most like what was typed; `names` holds at least one. */
export function nearest(typed: string, names: readonly string[]): string {
  const ranked = names.map((name) => ({ name, distance: distance(typed, name) }));
  return ranked.sort((a, b) => a.distance - b.distance)[0]!.name;
}

/** How many letters must be added, taken away or changed (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
