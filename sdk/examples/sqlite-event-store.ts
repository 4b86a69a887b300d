import type { DatabaseSync } from "node:sqlite";
import type { EventStore } from "../src/index.ts";

/**
 * Stores events in a SQLite file, for Node 22.13 and later.
 *
 * The handler must be synchronous and write through the database that it receives: its writes and the event's end are one
 * transaction, which all other statements of the single connection would join.
 */
export function sqliteEventStore(db: DatabaseSync): EventStore<DatabaseSync> {
  db.exec(`pragma journal_mode = wal;
    create table if not exists dunlin_events (
      id text primary key, event text not null, tries integer not null default 0, due_at integer
    ) strict;
    create index if not exists dunlin_events_due on dunlin_events (due_at) where due_at is not null`);
  const keep = db.prepare("insert into dunlin_events (id, event, due_at) values (?, ?, ?) on conflict (id) do nothing");
  const claim = db.prepare(
    `update dunlin_events set due_at = ?, tries = tries + 1
     where id in (select id from dunlin_events where due_at <= ? order by due_at limit ?) returning event, tries`,
  );
  const setDue = db.prepare("update dunlin_events set due_at = ? where id = ? and tries = ? and due_at is not null");

  return {
    keep: (event, now) => keep.run(event.id, JSON.stringify(event), now.getTime()).changes === 1,
    claim: (limit, now, until) =>
      claim
        .all(until.getTime(), now.getTime(), limit)
        .map(({ event, tries }) => ({ event: JSON.parse(String(event)), tries: Number(tries) })),
    async finish({ event, tries }, work) {
      db.exec("begin immediate");
      try {
        if (setDue.run(null, event.id, tries).changes !== 1)
          throw new Error("the event was claimed by another process");
        if (work(db) instanceof Promise) throw new TypeError("with SQLite the handler must not be async");
        db.exec("commit");
      } catch (error) {
        db.exec("rollback");
        throw error;
      }
    },
    postpone: ({ event, tries }, dueAt) => {
      setDue.run(dueAt?.getTime() ?? null, event.id, tries);
    },
  };
}
