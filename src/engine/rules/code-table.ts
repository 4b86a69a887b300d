import type { DeclineGroup } from "./decline-groups.ts";
import type { Source } from "./sources.ts";

/** The group of each code in a list, and the list's source. */
export interface CodeTable {
  source: Source;
  groups: ReadonlyMap<string, DeclineGroup>;
}

/**
 * Builds a table from codes separated by blanks. A code that means something at one gateway only is prefixed with the gateway's
 * name.
 */
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

/** Returns the codes of a range, both ends included, each with its prefix: `2109 2110 …`. */
export const codeRange = (before: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => `${before}${from + n}`).join(" ");
