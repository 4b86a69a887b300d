/** Ends a campaign's program because of its arguments. */
export function failUsage(says: string): never {
  console.error(says);
  process.exit(64);
}

/** Parses an option that is a whole number of at least `least`. */
export function parseCount(name: string, given: string | undefined, fallback: number, least = 0): number {
  const value = given === undefined ? fallback : Number(given);
  return Number.isInteger(value) && value >= least ? value : failUsage(`--${name} takes a whole number`);
}

export const parseSeed = (given: string | undefined): number =>
  parseCount("seed", given, 1 + Math.floor(Math.random() * 1_000_000), 1);

/** Parses a number of faults, or a list of them in order, such as `kill,cut`. */
export function parseFaults<Fault extends string>(
  given: string,
  kinds: readonly Fault[],
  draw: (count: number) => Fault[],
): Fault[] {
  if (/^\d+$/.test(given)) return draw(Number(given));
  return given
    .split(",")
    .map(
      (name) => kinds.find((kind) => kind === name) ?? failUsage(`there is no fault "${name}": ${kinds.join(", ")}`),
    );
}

/** Prints the result of a campaign, and ends the program. */
export function endWith({ problems, lines }: { problems: readonly unknown[]; lines: readonly string[] }): never {
  for (const line of lines) console.log(line);
  process.exit(problems.length > 0 ? 1 : 0);
}
