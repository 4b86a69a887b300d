import type { Problem } from "../process/verify-records.ts";

/** How often a promise was broken, and the first time in words. */
export interface ProblemSummary extends Problem {
  times: number;
}

/** One line for each promise that was broken: thousands would not pass a pipe before their process ends. */
export const summarizeProblems = (problems: readonly Problem[]): ProblemSummary[] =>
  [...Map.groupBy(problems, ({ invariant }) => invariant)].map(([invariant, all]) => ({
    invariant,
    times: all.length,
    says: all[0]!.says,
  }));
