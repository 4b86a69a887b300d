import type { Connection, Database, LastStatements, Result, Statement, Tx } from "../../../src/postgres/database.ts";
import { finishTransaction } from "../../../src/postgres/in-transaction.ts";
import { type Fault, type FaultPlan, ProcessDeath, type ProcessLife } from "./fault-plan.ts";
import type { StatementGate } from "./statement-gate.ts";

interface Options {
  db: Database;
  gate: StatementGate;
  plan: FaultPlan;
  life: ProcessLife;
  /** The actor that runs these statements. */
  actor: string;
  /** Resolves when the server has noticed closed connections. The seed does not control when it does. */
  connectionsEnded(): Promise<void>;
}

const CONFLICT = "40001";

/**
 * Creates the database as one actor of a process sees it: statements queue at the gate, fail as planned, and stop with the
 * process.
 */
export function createCrashingActorDatabase({ db, gate, plan, life, actor, connectionsEnded }: Options): Database {
  function suffer(fault: Fault, statement: string) {
    if (life.dead) throw new ProcessDeath(`dead before ${statement}`);
    if (fault === "none") return;
    if (fault === "crash") {
      life.die();
      throw new ProcessDeath(`crash at ${statement}`);
    }
    if (fault === "conflict") throw Object.assign(new Error("could not serialize access"), { code: CONFLICT });
    throw Object.assign(new Error(`connection lost at ${statement}`), { code: "08006" });
  }

  async function run<Row>(on: Tx, statement: Statement, values?: readonly unknown[]): Promise<Result<Row>> {
    await gate.enter(actor);
    let result: Result<Row>;
    try {
      suffer(plan.before(statement.name), statement.name);
      result = await on.run<Row>(statement, values);
    } finally {
      gate.leave();
    }
    suffer(plan.after(statement.name), statement.name);
    return result;
  }

  async function transaction<T>(work: (tx: Tx) => Promise<T | LastStatements<T>>): Promise<T> {
    await gate.enter(actor);
    let isInside = true;
    const enter = async () => {
      if (!isInside) await gate.enter(actor);
      isInside = true;
    };
    const leave = () => {
      if (isInside) gate.leave();
      isInside = false;
    };
    try {
      if (life.dead) throw new ProcessDeath("dead before begin");
      const result = await db.transaction(async (tx) => {
        leave();
        try {
          const done = await finishTransaction(await work({ run: (statement, values) => run(tx, statement, values) }));
          await enter();
          suffer(plan.before("commit"), "commit");
          return done;
        } catch (error) {
          // The rollback passes the gate like every statement.
          await enter();
          throw error;
        }
      });
      leave();
      // The commit succeeded, but its reply is lost.
      suffer(plan.after("commit"), "commit");
      return result;
    } finally {
      leave();
    }
  }

  let lastClosed: Promise<void> = Promise.resolve();

  async function connect(): Promise<Connection> {
    await gate.enter(actor);
    try {
      suffer("none", "connect");
      await lastClosed;
      await connectionsEnded();
      const connection = await db.connect();
      const close = () => {
        isOpen = false;
        lastClosed = connection.close();
        return lastClosed;
      };
      let isOpen = true;
      life.onDeath.push(async () => {
        if (isOpen) await close();
      });
      return {
        run: (statement, values) => run(connection, statement, values),
        onLost: connection.onLost,
        onNotified: connection.onNotified,
        close,
      };
    } finally {
      gate.leave();
    }
  }

  /** The real database repeats a statement after a conflict, as it does a whole transaction. */
  async function runAlone<Row>(statement: Statement, values?: readonly unknown[]): Promise<Result<Row>> {
    for (;;) {
      try {
        return await run<Row>(db, statement, values);
      } catch (error) {
        if ((error as { code?: unknown }).code !== CONFLICT) throw error;
      }
    }
  }

  return {
    run: runAlone,
    transaction,
    connect,
    close: () => Promise.resolve(),
  };
}
