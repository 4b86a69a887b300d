import type pg from "pg";
import type { LastStatements, Result, Statement, Tx } from "./database.ts";
import { runPipelined, type StatementCall, type StatementResult } from "./pipelined-statements.ts";

/** A statement on this connection, in whatever transaction it is. One without a name and values may be several texts. */
export async function runOnClient<Row>(
  on: pg.ClientBase,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Result<Row>> {
  if (statement.name !== "" || values.length > 0)
    return (await runPipelined(on, [{ statement, values }]))[0]! as unknown as Result<Row>;
  const { rows, rowCount } = await on.query(statement.text);
  return { rows: rows as Row[], rowCount: rowCount ?? 0 };
}

export const BEGIN: StatementCall = { statement: { name: "begin", text: "begin" } };
const COMMIT: StatementCall = { statement: { name: "commit", text: "commit" } };

/**
 * Statements that `work` asks for without waiting in between go out together and are answered in their order, the first of them behind what begins the transaction. Where one
 * fails all of them fail, and whatever is asked later, with its error. So each has to be waited for. Once `work` has settled nothing more is asked: it would run
 * outside. What it asked and did not wait for goes out ahead of the commit, or, if it failed, never.
 *
 * @param begins  what begins it
 * @param commits  called right before it is told to commit
 */
export async function runInTransaction<T>(
  client: pg.ClientBase,
  begins: readonly StatementCall[],
  work: (tx: Tx) => Promise<T | LastStatements<T>>,
  commits: () => void,
): Promise<T> {
  const queue = createStatementQueue(client, begins);
  const tx: Tx = {
    async run<Row>(statement: Statement, values?: readonly unknown[]) {
      return (await queue.ask({ statement, values })) as unknown as Result<Row>;
    },
  };
  let done: Promise<T>;
  try {
    done = finishTransaction(await work(tx));
    // What it can't even ask for is known before the commit goes out, which then never does.
    done.catch(queue.end);
  } catch (error) {
    queue.end();
    throw error;
  }
  commits();
  const [result, { command }] = await Promise.all([done, queue.commit()]);
  if (command !== "COMMIT") throw new Error(`the answer to commit was ${command}`);
  return result;
}

/** What a transaction did whose work has ended, once its last statements are asked for and answered. */
export const finishTransaction = async <T>(worked: T | LastStatements<T>): Promise<T> =>
  typeof worked === "function" ? await (worked as LastStatements<T>)() : worked;

interface PendingStatement extends StatementCall {
  answered: PromiseWithResolvers<StatementResult>;
}

/** Collects what is asked until nobody has anything left to do but wait, and sends it, behind `first`. */
function createStatementQueue(client: pg.ClientBase, first: readonly StatementCall[]) {
  let waiting: PendingStatement[] = [];
  let begins = first;
  let isOver = false;
  /** Until the beginning is answered nothing follows it: where nothing began it would run outside. */
  let isBeginning = false;
  /** What failed first, which is the answer to all that is asked from then on. */
  let failure: { reason: unknown } | undefined;

  function send() {
    if (waiting.length === 0 || isBeginning) return;
    if (failure) return drop(failure.reason);
    const going = waiting;
    const ahead = begins;
    [waiting, begins] = [[], []];
    isBeginning = ahead.length > 0;
    runPipelined(client, [...ahead, ...going]).then(
      (answers) => {
        isBeginning = false;
        send();
        for (const [index, { answered }] of going.entries()) answered.resolve(answers[ahead.length + index]!);
      },
      (reason) => {
        isBeginning = false;
        failure ??= { reason };
        send();
        for (const { answered } of going) answered.reject(failure.reason);
      },
    );
  }

  function drop(reason: unknown) {
    for (const { answered } of waiting) answered.reject(reason);
    waiting = [];
  }

  return {
    async ask({ statement, values }: StatementCall): Promise<StatementResult> {
      if (isOver) throw new Error(`${statement.name} was asked for when its transaction was over`);
      if (failure) throw failure.reason;
      const answered = Promise.withResolvers<StatementResult>();
      // Ticks come behind all promises that can go on.
      if (waiting.push({ statement, values, answered }) === 1) process.nextTick(send);
      return await answered.promise;
    },
    /** Nothing more is asked. What was not sent yet goes first. */
    commit() {
      const committed = this.ask(COMMIT);
      isOver = true;
      return committed;
    },
    /** Nothing more is asked, and what was not sent yet never is. */
    end() {
      isOver = true;
      for (const { statement, answered } of waiting)
        answered.reject(new Error(`${statement.name} was asked for when its transaction was over`));
      waiting = [];
    },
  };
}
