import type { WebhookEvent } from "./webhook-event.ts";

/** Remembers which events were taken, because the same event may arrive more than once. */
export interface SeenEvents {
  /**
   * Keeps the event's id; called before the event is acknowledged.
   *
   * A store in a database can keep the whole event by the same insert and handle it from there, so that a crash loses nothing.
   *
   * @returns true when the id is new; a rejection is answered with 500 and Dunlin sends the event again
   */
  add(event: WebhookEvent): boolean | Promise<boolean>;
}

/** Ids in memory, the oldest forgotten first. For programs whose restarts may handle an event twice. */
export function createSeenEvents({ capacity = 100_000 } = {}): SeenEvents {
  const ids = new Set<string>();
  return {
    add({ id }) {
      if (ids.has(id)) return false;
      ids.add(id);
      if (ids.size > capacity) ids.delete(ids.values().next().value!);
      return true;
    },
  };
}
