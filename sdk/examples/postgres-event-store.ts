import type pg from "pg";
import type { ClaimedEvent, EventStore } from "../src/index.ts";

export const CREATE_TABLE = `create table if not exists dunlin_events (
    id text primary key,
    event jsonb not null,
    tries int not null default 0,
    due_at timestamptz
  );
  create index if not exists dunlin_events_due on dunlin_events (due_at) where due_at is not null`;

/**
 * Stores events in a PostgreSQL table.
 *
 * The handler's writes through its client, and the event's end, are one transaction.
 */
export function postgresEventStore(pool: pg.Pool): EventStore<pg.PoolClient> {
  return {
    async keep(event, now) {
      const text = "insert into dunlin_events (id, event, due_at) values ($1, $2, $3) on conflict (id) do nothing";
      return (await pool.query(text, [event.id, event, now])).rowCount === 1;
    },
    async claim(limit, now, until) {
      const { rows } = await pool.query<ClaimedEvent>(
        `update dunlin_events set due_at = $3, tries = tries + 1
         where id in (select id from dunlin_events where due_at <= $2 order by due_at limit $1 for update skip locked)
         returning event, tries`,
        [limit, now, until],
      );
      return rows;
    },
    async finish({ event, tries }, work) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        // Locks the row first, so that no other process can claim the event meanwhile.
        const update = await client.query(
          "update dunlin_events set due_at = null where id = $1 and tries = $2 and due_at is not null",
          [event.id, tries],
        );
        if (update.rowCount !== 1) throw new Error("the event was claimed by another process");
        await work(client);
        await client.query("commit");
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    async postpone({ event, tries }, dueAt) {
      await pool.query("update dunlin_events set due_at = $3 where id = $1 and tries = $2 and due_at is not null", [
        event.id,
        tries,
        dueAt,
      ]);
    },
  };
}
