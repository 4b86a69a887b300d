import type { WebhookExchange } from "#sdk";

/** As the merchant saw it, to compare with Dunlin's delivery log. */
export interface JournalEntry extends WebhookExchange {
  /** Counts requests with this event's id, from 1; 0 if no event could be read. */
  attempt: number;
  /** In service time. */
  at: Date;
}

/** In the order of answers. */
export interface Journal {
  record(exchange: WebhookExchange, at: Date): void;
  entries: readonly JournalEntry[];
}

export function createJournal(): Journal {
  const entries: JournalEntry[] = [];
  const attempts = new Map<string, number>();
  return {
    record(exchange, at) {
      const { eventId } = exchange;
      const attempt = eventId === null ? 0 : (attempts.get(eventId) ?? 0) + 1;
      if (eventId !== null) attempts.set(eventId, attempt);
      entries.push({ ...exchange, attempt, at });
    },
    entries,
  };
}
