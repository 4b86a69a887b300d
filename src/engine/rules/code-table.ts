import type { DeclineGroup } from "./decline-groups.ts";
import type { Source } from "./sources.ts";

export interface CodeTable {
  source: Source;
  groups: ReadonlyMap<string, DeclineGroup>;
}

/** Codes are separated by blanks, and prefixed with a gateway's name if they mean something only there. */
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

/** Both ends included, each with its prefix: `2109 2110 …`. */
export const codeRange = (before: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => `${before}${from + n}`).join(" ");
