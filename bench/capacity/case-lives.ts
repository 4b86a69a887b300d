import { openWorld, readPretrainedModel } from "../../lab/trial/open-world.ts";
import { openDatabase, prepared } from "../../src/postgres/database.ts";
import { runWorldThroughService, withWholeDayWindows } from "../../test/lived/world-through-service.ts";
import { runOnServer, startTestServer, TEMPLATE_DATABASE, withDatabaseName } from "../../test/test-server.ts";

/** For each failed payment, over its whole life. */
export interface CaseLives {
  cases: number;
  /** Among all payments in the world. */
  failedShare: number;
  steps: number;
  decisions: number;
  actions: number;
  events: number;
  /** With the first one. */
  attempts: number;
  openDays: number;
  /** In tables and indexes, for everything that an ended case leaves. */
  bytes: number;
}

const SEED = 1;
const WORLD = "issuers";
const CASE_TABLES = "case|due_cases|decision|recovery_|action_|executed|events|deliver";

// An open case is inserted into due_cases once; each step updates or deletes its row there, if it changes.
const COUNT = prepared(
  "capacity_lives",
  `select (select count(*) from cases)::float8 as cases, (select count(*) from invoices)::float8 as invoices,
     (select count(*) from decisions)::float8 as decisions, (select count(*) from recovery_actions)::float8 as actions,
     (select count(*) from events)::float8 as events,
     (select count(*) from transactions t where exists
       (select from cases c where c.merchant_id = t.merchant_id and c.invoice_id = t.invoice_id))::float8 as attempts,
     (select sum(extract(epoch from ended_at - opened_at)) / 86400 from cases)::float8 as days,
     (select sum(n_tup_upd) from pg_stat_user_tables where relname = 'due_cases')::float8 as moves,
     (select sum(pg_total_relation_size(oid)) from pg_class
      where relkind = 'r' and relnamespace = 'public'::regnamespace and relname ~ $1)::float8 as bytes`,
);
const FLUSH = prepared("capacity_flush", "select pg_stat_force_next_flush()");

/** Runs a world's simulated year through the service's own loops. */
export async function measureCaseLives(customers: number): Promise<CaseLives> {
  const server = await startTestServer();
  const database = "capacity_lives";
  try {
    await runOnServer(server.address, `create database ${database} template ${TEMPLATE_DATABASE}`);
    const db = openDatabase(withDatabaseName(server.address, database), 1, () => {});
    const read = async () => (await db.run<Record<string, number>>(COUNT, [`^(${CASE_TABLES})`])).rows[0]!;
    const before = await read();
    const world = withWholeDayWindows(await openWorld(WORLD));
    await runWorldThroughService(db, world, { seed: SEED, customers, prior: readPretrainedModel() });
    await db.run(FLUSH);
    const after = await read();
    await db.close();
    const per = (name: string) => after[name]! / after.cases!;
    return {
      cases: after.cases!,
      failedShare: after.cases! / after.invoices!,
      steps: per("moves") + 1,
      decisions: per("decisions"),
      actions: per("actions"),
      events: per("events"),
      attempts: per("attempts"),
      openDays: per("days"),
      bytes: (after.bytes! - before.bytes!) / after.cases!,
    };
  } finally {
    await server.stop();
  }
}
