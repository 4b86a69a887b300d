import type pg from "pg";
import type { Result, Statement, Tx } from "./database.ts";
import { type Answered, type Asked, runTogether } from "./together.ts";

/** A statement on this connection, in whatever transaction it is. One without a name and values may be several texts. */
export async function runOn<Row>(
  on: pg.ClientBase,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Result<Row>> {
  if (statement.name !== "" || values.length > 0)
    return (await runTogether(on, [{ statement, values }]))[0]! as unknown as Result<Row>;
  const { rows, rowCount } = await on.query(statement.text);
  return { rows: rows as Row[], rowCount: rowCount ?? 0 };
}

export const BEGIN: Asked = { statement: { name: "begin", text: "begin" } };
const COMMIT: Asked = { statement: { name: "commit", text: "commit" } };

/**
 * Statements that `work` asks for without waiting in between go out together and are answered in their order, the first of them behind what begins the transaction; behind
 * one that fails all fail, and its error is the one that is thrown. Once `work` has settled nothing more is asked: it would run outside.
 *
 * @param begins  what begins it
 * @param commits  called right before it is told to commit
 */
export async function inTransaction<T>(
  client: pg.ClientBase,
  begins: readonly Asked[],
  work: (tx: Tx) => Promise<T>,
  commits: () => void,
): Promise<T> {
  const failures: unknown[] = [];
  const queue = queueOn(client, begins);
  const tx: Tx = {
    async run<Row>(statement: Statement, values?: readonly unknown[]) {
      try {
        return (await queue.ask({ statement, values })) as unknown as Result<Row>;
      } catch (error) {
        failures.push(error);
        throw error;
      }
    },
  };
  let done: T;
  try {
    done = await work(tx);
  } catch (error) {
    queue.end();
    throw (error as { code?: unknown } | null)?.code === FAILED_BEFORE ? failures[0] : error;
  }
  commits();
  const committed = queue.ask(COMMIT);
  queue.send();
  queue.end();
  if ((await committed).command !== "COMMIT")
    throw new Error("rolled back: a statement had failed, and its failure was passed over");
  return done;
}

/** A statement of this transaction had failed. */
const FAILED_BEFORE = "25P02";

interface Waiting extends Asked {
  answered: PromiseWithResolvers<Answered>;
}

/** Collects what is asked until nobody has anything left to do but wait, and sends it, behind `first`. */
function queueOn(client: pg.ClientBase, first: readonly Asked[]) {
  let waiting: Waiting[] = [];
  let begins = first;
  let isOver = false;

  function send() {
    if (waiting.length === 0) return;
    const going = waiting;
    const ahead = begins;
    [waiting, begins] = [[], []];
    runTogether(client, [...ahead, ...going]).then(
      (answers) => {
        for (const [index, { answered }] of going.entries()) answered.resolve(answers[ahead.length + index]!);
      },
      (error) => {
        for (const { answered } of going) answered.reject(error);
      },
    );
  }

  return {
    async ask({ statement, values }: Asked): Promise<Answered> {
      if (isOver) throw new Error(`${statement.name} was asked for when its transaction was over`);
      const answered = Promise.withResolvers<Answered>();
      // Ticks come behind all promises that can go on.
      if (waiting.push({ statement, values, answered }) === 1) process.nextTick(send);
      return await answered.promise;
    },
    send,
    /** What was not sent yet never is. */
    end() {
      isOver = true;
      for (const { statement, answered } of waiting)
        answered.reject(new Error(`${statement.name} was asked for when its transaction was over`));
      waiting = [];
    },
  };
}
