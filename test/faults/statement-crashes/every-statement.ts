import { keyedRandom } from "../../../simulator/world/keyed-random.ts";
import type { Database } from "../../../src/postgres/database.ts";
import { CRASH_POINTS, type CrashPoint } from "./crashing-database.ts";
import { runEvents } from "./run-events.ts";
import { verifyEventStory } from "./verify-event-story.ts";

export interface StatementCrashResult {
  stories: number;
  /** How often each statement was hit. */
  hits: Map<string, number>;
  problems: string[];
}

interface Options {
  db: Database;
  seed: number;
  /** Share of all statements and faults that are tried, sampled by the seed; 1: every one. */
  share: number;
}

/** Runs the life of a few events once for every statement that their sender runs, and for every possible fault. */
export async function crashAtEveryStatement({ db, seed, share }: Options): Promise<StatementCrashResult> {
  const outcome: StatementCrashResult = { stories: 0, hits: new Map(), problems: [] };
  const undisturbed = await tell(Number.POSITIVE_INFINITY, "dies before");
  // A fault makes a run longer, but its later statements have occurred in the undisturbed run.
  for (let at = 1; at <= undisturbed; at++)
    for (const mishap of CRASH_POINTS) if (keyedRandom(seed, "tried", at, mishap) < share) await tell(at, mishap);
  return outcome;

  async function tell(at: number, mishap: CrashPoint): Promise<number> {
    const story = await runEvents(db, seed, at, mishap);
    const problems = await verifyEventStory(db, story);
    outcome.stories++;
    if (story.hit !== null) outcome.hits.set(story.hit, (outcome.hits.get(story.hit) ?? 0) + 1);
    for (const { invariant, says } of problems)
      outcome.problems.push(`seed ${seed}, ${mishap} statement ${at} (${story.hit}): ${invariant}: ${says}`);
    return story.statements;
  }
}
