import type { Database } from "../../../src/postgres/database.ts";
import type { Problem } from "../harness/problems.ts";
import { readStoredRows } from "../harness/stored-rows.ts";
import { verifyFinalState, verifyOnWire } from "../harness/verify-events.ts";
import type { EventStory } from "./run-events.ts";

/** Checks I3 to I7 and I10 of a run: compares the endpoint's requests with the final database. */
export async function verifyEventStory(db: Database, story: EventStory): Promise<Problem[]> {
  const problems: Problem[] = [];
  const broken = (invariant: string, says: string) => void problems.push({ invariant, says });
  if (story.stuck !== null) broken("I3", story.stuck);
  const seenOf = Map.groupBy(story.seen, ({ eventId }) => eventId);
  const cutShortMax = story.died ? 1 : 0;
  let found = 0;
  for (const { id: merchantId } of story.merchants) {
    const rows = await readStoredRows(db, merchantId);
    const logged = Map.groupBy(rows.attempts, ({ eventId }) => eventId);
    for (const event of rows.events) {
      found++;
      const seen = seenOf.get(event.id) ?? [];
      const log = logged.get(event.id) ?? [];
      const name = `event ${story.events.findIndex(({ id }) => id === event.id)}`;
      if (verifyFinalState(event, log, broken) === "waiting") broken("I3", `${name} is not final`);
      if (seen.some(({ body }) => body !== event.body)) broken("I6", `${name}: sent another body`);
      const extra = seen.length - log.length;
      if (extra < 0 || extra > cutShortMax) broken("I4", `${name}: ${seen.length} requests, ${log.length} logged`);
      if (extra === 0) verifyOnWire(event, seen, 1, broken);
      const statuses = seen.map(({ status }) => status);
      if (!log.every(({ status }) => consumeThrough(statuses, status)))
        broken("I4", `${name}: other answers logged than given`);
      if (seen.filter(({ status }) => status === 200).length > 1 + cutShortMax)
        broken("I4", `${name}: sent again after a 2xx`);
      const withdrawnAt = story.withdrawnAt.get(event.id) ?? Number.POSITIVE_INFINITY;
      if (seen.some(({ at }) => at > withdrawnAt)) broken("I7", `${name}: sent after it was withdrawn`);
    }
  }
  if (found !== story.events.length) broken("I3", `${found} of ${story.events.length} events are there`);
  return problems;
}

/** Whether `wanted` is in the rest; removes everything through it. */
function consumeThrough(rest: (number | null)[], wanted: number | null): boolean {
  const index = rest.indexOf(wanted);
  if (index >= 0) rest.splice(0, index + 1);
  return index >= 0;
}
