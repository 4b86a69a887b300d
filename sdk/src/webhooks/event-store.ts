import type { WebhookEvent } from "./webhook-event.ts";

export interface ClaimedEvent {
  event: WebhookEvent;
  /** This attempt, from 1. It identifies the claim: a slow worker must not end another worker's attempt. */
  tries: number;
}

/**
 * Stores events until they are handled, and their ids afterwards, because an event may arrive again.
 *
 * One row per event suffices: its id as the key, the event, `tries`, and a due time that is null once the event is handled or
 * given up. `examples/` has stores for PostgreSQL, Redis and SQLite. Processes can share a store.
 *
 * @template Context passed to handlers, to write in the transaction that ends the event
 */
export interface EventStore<Context = undefined> {
  /**
   * Stores an event that is due at once. Must be durable when it resolves, because Dunlin then gets an acknowledgement.
   *
   * @returns false if the id is known; a rejection is answered with 500, and Dunlin sends the event again
   */
  keep(event: WebhookEvent, now: Date): boolean | Promise<boolean>;
  /** Claims up to `limit` due events, and increments their `tries`. In case the worker crashes, they are due again at `until`. */
  claim(limit: number, now: Date, until: Date): readonly ClaimedEvent[] | Promise<readonly ClaimedEvent[]>;
  /** Runs the work and marks the event as handled, both or neither. Rejects if the work does. */
  finish(claimed: ClaimedEvent, work: (context: Context) => unknown): Promise<void>;
  /** Records a failed attempt: the event is due again at `dueAt`, or given up if null. */
  postpone(claimed: ClaimedEvent, dueAt: Date | null): void | Promise<void>;
  /** Whether the store has no room. Events are then answered with 429, and Dunlin sends them again. */
  full?(): boolean | Promise<boolean>;
}

interface OpenEvent extends ClaimedEvent {
  dueAt: Date;
}

/**
 * Creates a store in memory, for development and for programs that may lose acknowledged events when they end.
 *
 * @param options.capacity  how many ended events' ids to remember; the oldest are forgotten first
 * @param options.openMax  how many events may wait before the store is full
 */
export function memoryEventStore({ capacity = 100_000, openMax = 10_000 } = {}): EventStore {
  const open = new Map<string, OpenEvent>();
  const ended = new Set<string>();

  /** null if the event was claimed again. */
  const findOpen = ({ event, tries }: ClaimedEvent) => {
    const openEvent = open.get(event.id);
    return openEvent?.tries === tries ? openEvent : null;
  };
  const end = (id: string) => {
    open.delete(id);
    ended.add(id);
    if (ended.size > capacity) ended.delete(ended.values().next().value!);
  };

  return {
    full: () => open.size >= openMax,
    keep(event, now) {
      if (open.has(event.id) || ended.has(event.id)) return false;
      open.set(event.id, { event, tries: 0, dueAt: now });
      return true;
    },
    claim(limit, now, until) {
      const claimed: ClaimedEvent[] = [];
      for (const each of open.values()) {
        if (claimed.length >= limit) break;
        if (each.dueAt > now) continue;
        each.dueAt = until;
        claimed.push({ event: each.event, tries: ++each.tries });
      }
      return claimed;
    },
    async finish(claimed, work) {
      await work(undefined);
      if (findOpen(claimed)) end(claimed.event.id);
    },
    postpone(claimed, dueAt) {
      const openEvent = findOpen(claimed);
      if (openEvent && dueAt === null) end(claimed.event.id);
      else if (openEvent && dueAt) openEvent.dueAt = dueAt;
    },
  };
}
