import {
  type Connection,
  type Database,
  prepared,
  type Result,
  type Statement,
  type Tx,
} from "../../../src/postgres/database.ts";
import { finishTransaction } from "../../../src/postgres/in-transaction.ts";

/**
 * A fault at one statement. The process dies before it is sent, while the server executes it (and rolls it back), or after it is
 * done but before the reply. Or the process lives, and only the connection breaks before or after.
 */
export const CRASH_POINTS = ["dies before", "dies during", "dies after", "breaks before", "breaks after"] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

/** The process is gone: nothing it does from now on has an effect. */
class ProcessDeath extends Error {}

export interface CrashingDatabase {
  db: Database;
  /** Resolves when the process dies. */
  died: Promise<void>;
  isDead(): boolean;
  /** Counts statements so far, including `begin`, `commit` and the opening of a connection. */
  count(): number;
  /** Returns the statement with the fault. */
  hit(): string | null;
  /** Ends the connections of the process, as its death does. */
  bury(): Promise<void>;
}

const nothing = async () => {};
const ABORT_TRANSACTION = prepared("crash_abort", "select 1 / 0");

/** Creates a database for one process, whose statement number `at` (from 1) has the fault. */
export function createCrashingDatabase(db: Database, at: number, mishap: CrashPoint): CrashingDatabase {
  const { promise: died, resolve } = Promise.withResolvers<void>();
  const open = new Set<Connection>();
  let dead = false;
  let count = 0;
  let hit: string | null = null;

  function die(name: string): never {
    dead = true;
    resolve();
    throw new ProcessDeath(`died at ${name}`);
  }

  const broken = (name: string) => Object.assign(new Error(`connection lost at ${name}`), { code: "08006" });

  /** @param spoil  executes the statement and rolls it back */
  async function step<T>(name: string, perform: () => Promise<T>, spoil: () => Promise<unknown>): Promise<T> {
    if (dead) throw new ProcessDeath(`dead before ${name}`);
    if (++count !== at) {
      const result = await perform();
      if (dead) throw new ProcessDeath(`dead after ${name}`);
      return result;
    }
    hit = name;
    if (mishap === "dies before") die(name);
    if (mishap === "breaks before") throw broken(name);
    if (mishap === "dies during") {
      await spoil().catch(() => {});
      die(name);
    }
    await perform();
    if (mishap === "dies after") die(name);
    // Within a transaction the broken connection rolls it back; a single statement is done, but its reply is lost.
    throw broken(name);
  }

  const alone = <Row>(on: Tx, statement: Statement, values?: readonly unknown[]) =>
    step<Result<Row>>(
      statement.name,
      () => on.run<Row>(statement, values),
      () =>
        db.transaction(async (tx) => {
          await tx.run(statement, values);
          await tx.run(ABORT_TRANSACTION);
        }),
    );

  return {
    died,
    isDead: () => dead,
    count: () => count,
    hit: () => hit,
    async bury() {
      dead = true;
      resolve();
      await Promise.all([...open].map((connection) => connection.close()));
    },
    db: {
      run: (statement, values) => alone(db, statement, values),
      async transaction(work) {
        const result = await db.transaction(async (tx) => {
          await step("begin", nothing, nothing);
          const run = <Row>(statement: Statement, values?: readonly unknown[]) => {
            const perform = () => tx.run<Row>(statement, values);
            return step(statement.name, perform, perform);
          };
          const done = await finishTransaction(await work({ run }));
          // A fault before the end of a commit rolls the transaction back; after it, the transaction is stored.
          if (count + 1 === at && !mishap.endsWith("after")) await step("commit", nothing, nothing);
          return done;
        });
        await step("commit", nothing, nothing);
        return result;
      },
      async connect() {
        const perform = async () => {
          const fresh = await db.connect();
          open.add(fresh);
          return fresh;
        };
        const connection = await step("connect", perform, nothing);
        return {
          run: (statement, values) => alone(connection, statement, values),
          onLost: connection.onLost,
          onNotified: connection.onNotified,
          async close() {
            open.delete(connection);
            await connection.close();
          },
        };
      },
      close: async () => {},
    },
  };
}
