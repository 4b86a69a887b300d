import { chance } from "../../simulator/world/chance.ts";
import type { Database } from "../../src/store/database.ts";
import { MISHAPS, type Mishap } from "./crashing-database.ts";
import { lifeOfEvents } from "./life-of-events.ts";
import { verifyStory } from "./verify.ts";

export interface Outcome {
  stories: number;
  /** How often each statement was hit. */
  hits: Map<string, number>;
  problems: string[];
}

interface Options {
  db: Database;
  seed: number;
  /** Share of all statements and mishaps that are tried, drawn by the seed; 1: every one. */
  share: number;
}

/** The life of a few events once for every statement that their sender runs, and for everything that may happen to it. */
export async function everyStatement({ db, seed, share }: Options): Promise<Outcome> {
  const outcome: Outcome = { stories: 0, hits: new Map(), problems: [] };
  const undisturbed = await tell(Number.POSITIVE_INFINITY, "dies before");
  // A mishap makes a story longer: what comes after the last statement of the undisturbed one has been before.
  for (let at = 1; at <= undisturbed; at++)
    for (const mishap of MISHAPS) if (chance(seed, "tried", at, mishap) < share) await tell(at, mishap);
  return outcome;

  async function tell(at: number, mishap: Mishap): Promise<number> {
    const story = await lifeOfEvents(db, seed, at, mishap);
    const problems = await verifyStory(db, story);
    outcome.stories++;
    if (story.hit !== null) outcome.hits.set(story.hit, (outcome.hits.get(story.hit) ?? 0) + 1);
    for (const { invariant, says } of problems)
      outcome.problems.push(`seed ${seed}, ${mishap} statement ${at} (${story.hit}): ${invariant}: ${says}`);
    return story.statements;
  }
}
