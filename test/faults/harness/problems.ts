/** A broken invariant. */
export interface Problem {
  /** Its number in the list of invariants, or its name. */
  invariant: string;
  says: string;
}

/** How often an invariant was broken, with its first violation. */
export interface ProblemSummary extends Problem {
  times: number;
}

export type ReportProblem = (invariant: string, says: string) => void;

/** The most violations of one invariant that are printed. */
const SHOWN_MAX = 12;

/** Returns one line per broken invariant, because thousands of lines would not get through a pipe before their process ends. */
export const summarizeProblems = (problems: readonly Problem[]): ProblemSummary[] =>
  [...Map.groupBy(problems, ({ invariant }) => invariant)].map(([invariant, all]) => ({
    invariant,
    times: all.length,
    says: all[0]!.says,
  }));

/** Formats the problems of a campaign, with the seed that reproduces them. */
export function formatProblems(problems: readonly Problem[], seed: number): string[] {
  if (problems.length === 0) return ["No promise was broken."];
  const lines = [...Map.groupBy(problems, ({ invariant }) => invariant)].flatMap(([invariant, all]) => [
    `${invariant}: broken ${all.length} times`,
    ...all.slice(0, SHOWN_MAX).map(({ says }) => `  ${says}`),
  ]);
  return [...lines, "", `Broken with --seed ${seed}.`];
}
