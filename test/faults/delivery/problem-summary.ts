import type { Problem } from "../process/verify-records.ts";

/** How often an invariant was broken, with its first violation. */
export interface ProblemSummary extends Problem {
  times: number;
}

/** Returns one line per broken invariant, because thousands of lines would not get through a pipe before their process ends. */
export const summarizeProblems = (problems: readonly Problem[]): ProblemSummary[] =>
  [...Map.groupBy(problems, ({ invariant }) => invariant)].map(([invariant, all]) => ({
    invariant,
    times: all.length,
    says: all[0]!.says,
  }));
