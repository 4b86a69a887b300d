import type { WebhookEvent } from "./webhook-event.ts";

/** An event that was taken from the store to be handled. */
export interface ClaimedEvent {
  event: WebhookEvent;
  /** Which try this is, from 1. A store recognizes the claim by it: who was too slow must not end the try of another. */
  tries: number;
}

/**
 * Keeps events between their acknowledgement and their handling, and their ids for good: the same event may come again.
 *
 * A row for each event is enough: its id as the key, the event, `tries`, and when it is due, which is null once it is handled or given up.
 * `examples/` has one for PostgreSQL, Redis and SQLite. Several processes may share a store.
 *
 * @template Context  what a handler gets to write in the transaction that ends its event
 */
export interface EventStore<Context = undefined> {
  /**
   * Keeps an event, due at once; durable when it resolves, because then Dunlin is told that it was taken.
   *
   * @returns false when its id is known already; a rejection is answered with 500, and Dunlin sends the event again
   */
  keep(event: WebhookEvent, now: Date): boolean | Promise<boolean>;
  /** Takes up to `limit` due events and counts the try. They are due again at `until`: whoever has not ended them by then has crashed. */
  claim(limit: number, now: Date, until: Date): readonly ClaimedEvent[] | Promise<readonly ClaimedEvent[]>;
  /** Does the work and notes the event as handled, both or neither. Rejects as the work does. */
  finish(claimed: ClaimedEvent, work: (context: Context) => unknown): Promise<void>;
  /** Notes that the try failed: due again at `dueAt`, or given up when it is null. */
  postpone(claimed: ClaimedEvent, dueAt: Date | null): void | Promise<void>;
  /** Whether there is no room for the moment: then events are answered with 429, and Dunlin sends them again. */
  full?(): boolean | Promise<boolean>;
}

interface OpenEvent extends ClaimedEvent {
  dueAt: Date;
}

/**
 * Events in memory, for development and for programs that may lose what they have acknowledged when they end.
 *
 * @param options.capacity  ids remembered of events that are handled or given up; the oldest are forgotten first
 * @param options.openMax  events that wait to be handled; with more of them the store is full
 */
export function memoryEventStore({ capacity = 100_000, openMax = 10_000 } = {}): EventStore {
  const open = new Map<string, OpenEvent>();
  const ended = new Set<string>();

  /** Null when another claim has followed. */
  const ownOf = ({ event, tries }: ClaimedEvent) => {
    const own = open.get(event.id);
    return own?.tries === tries ? own : null;
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
      if (ownOf(claimed)) end(claimed.event.id);
    },
    postpone(claimed, dueAt) {
      const own = ownOf(claimed);
      if (own && dueAt === null) end(claimed.event.id);
      else if (own && dueAt) own.dueAt = dueAt;
    },
  };
}
