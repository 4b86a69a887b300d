import { chmodSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keyedRandom } from "../../../simulator/world/keyed-random.ts";
import { formatProblems, type Problem, type ReportProblem } from "./problems.ts";

export interface CampaignOptions {
  seed: number;
  print(line: string): void;
}

export interface CampaignResult {
  problems: Problem[];
  /** The table and the problems. */
  lines: string[];
}

/** The temporary folder of a campaign, and the places for its problems and its cleanups. */
export interface CampaignStage {
  root: string;
  /** Run in reverse order at the end of the campaign, however it ends. */
  ends: (() => unknown)[];
  problems: Problem[];
  broken: ReportProblem;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs a campaign in a temporary folder. Removes it and ends all processes afterwards. An error of the campaign counts as a
 * problem.
 *
 * @param run  returns the table of what happened
 */
export async function runCampaign(
  { seed, print }: CampaignOptions,
  run: (stage: CampaignStage) => Promise<string[]>,
): Promise<CampaignResult> {
  const root = await mkdtemp(join(tmpdir(), "dunlin-torture-"));
  // PostgreSQL runs as another user if this process runs as root.
  chmodSync(root, 0o755);
  const ends: CampaignStage["ends"] = [];
  const problems: Problem[] = [];
  const broken: ReportProblem = (invariant, says) => {
    problems.push({ invariant, says });
    print(`          BROKEN ${invariant}: ${says}`);
  };
  const removeRoot = () => rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  const clean = async () => {
    for (const end of ends.splice(0).reverse()) await end();
    removeRoot();
  };
  // An exiting process cannot wait, but it must leave no other process behind.
  const exited = () => {
    for (const end of ends.splice(0).reverse()) void end();
    removeRoot();
  };
  const interrupted = () => void clean().finally(() => process.exit(130));
  for (const signal of SIGNALS) process.once(signal, interrupted);
  process.once("exit", exited);
  let table: string[] = [];
  try {
    table = await run({ root, ends, problems, broken });
  } catch (error) {
    broken("the run", (error as Error).stack!);
  } finally {
    await clean();
    process.removeListener("exit", exited);
    for (const signal of SIGNALS) process.removeListener(signal, interrupted);
  }
  return { problems, lines: [...table, "", ...formatProblems(problems, seed)] };
}

/**
 * Returns `count` faults, each kind by its share, in an order that the seed decides.
 *
 * @param filler  the kind that fills up the rest lost by rounding
 */
export function drawFaults<Fault extends string>(
  seed: number,
  count: number,
  shares: Readonly<Record<Fault, number>>,
  filler: NoInfer<Fault>,
): Fault[] {
  const kinds = Object.keys(shares) as Fault[];
  const total = kinds.reduce((sum, kind) => sum + shares[kind], 0);
  const all = kinds.flatMap((kind) => Array<Fault>(Math.round((shares[kind] * count) / total)).fill(kind));
  while (all.length < count) all.push(filler);
  return shuffleFaults(seed, all).slice(0, count);
}

/** Returns the faults in an order that the seed decides. */
export const shuffleFaults = <Fault>(seed: number, faults: readonly Fault[]): Fault[] =>
  faults
    .map((fault, index) => ({ fault, at: keyedRandom(seed, "order", index) }))
    .sort((a, b) => a.at - b.at)
    .map(({ fault }) => fault);
