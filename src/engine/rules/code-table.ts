import type { DeclineGroup } from "./decline-groups.ts";
import type { Source } from "./sources.ts";

/** The groups of a list of codes, and where the list was read. */
export interface CodeTable {
  source: Source;
  groups: ReadonlyMap<string, DeclineGroup>;
}

/** Returns the table of these codes, which blanks separate. A gateway's name goes before each code that means something there alone. */
export const buildCodeTable = (
  source: Source,
  rows: Partial<Record<DeclineGroup, string>>,
  gateway?: string,
): CodeTable => ({
  source,
  groups: new Map(
    Object.entries(rows).flatMap(([group, codes]) =>
      codes.split(/\s+/).map((code) => [gateway ? `${gateway}_${code}` : code, group as DeclineGroup]),
    ),
  ),
});

/** `2109 2110 …`, both ends included, each with what goes before it. */
export const codeRange = (before: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => `${before}${from + n}`).join(" ");
