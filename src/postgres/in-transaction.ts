import type pg from "pg";
import type { LastStatements, Result, Statement, Tx } from "./database.ts";
import { runPipelined, type StatementCall, type StatementResult } from "./pipelined-statements.ts";

/** Inside the connection's current transaction, if any. Without a name and values, the text can contain several statements. */
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
 * Statements that `work` runs without waiting in between are sent together and answered in order; the first ones are sent with
 * `opening`.
 *
 * If one fails, all later ones fail with its error, so each must be awaited. After `work` has settled, further statements are
 * rejected. Statements that it did not await are sent before COMMIT, or dropped if it failed.
 *
 * @param opening  statements that begin the transaction
 * @param onCommit  called right before COMMIT is sent
 */
export async function runInTransaction<T>(
  client: pg.ClientBase,
  opening: readonly StatementCall[],
  work: (tx: Tx) => Promise<T | LastStatements<T>>,
  onCommit: () => void,
): Promise<T> {
  const queue = createStatementQueue(client, opening);
  const tx: Tx = {
    async run<Row>(statement: Statement, values?: readonly unknown[]) {
      return (await queue.add({ statement, values })) as unknown as Result<Row>;
    },
  };
  let result: Promise<T>;
  try {
    result = finishTransaction(await work(tx));
    // If the last statements cannot even be sent, COMMIT must not be sent.
    result.catch(queue.end);
  } catch (error) {
    queue.end();
    throw error;
  }
  onCommit();
  const [value, { command }] = await Promise.all([result, queue.commit()]);
  if (command !== "COMMIT") throw new Error(`COMMIT was answered with ${command}`);
  return value;
}

export const finishTransaction = async <T>(worked: T | LastStatements<T>): Promise<T> =>
  typeof worked === "function" ? await (worked as LastStatements<T>)() : worked;

interface PendingStatement extends StatementCall {
  answer: PromiseWithResolvers<StatementResult>;
}

/** Collects statements until all running code waits for results. */
function createStatementQueue(client: pg.ClientBase, first: readonly StatementCall[]) {
  let waiting: PendingStatement[] = [];
  let opening = first;
  let isClosed = false;
  /** No statement follows the opening ones before they succeed, or it could run outside a transaction. */
  let isBeginning = false;
  /** Shared by all later statements. */
  let failure: { reason: unknown } | undefined;

  function send() {
    if (waiting.length === 0 || isBeginning) return;
    if (failure) return drop(failure.reason);
    const batch = waiting;
    const first = opening;
    [waiting, opening] = [[], []];
    isBeginning = first.length > 0;
    runPipelined(client, [...first, ...batch]).then(
      (results) => {
        isBeginning = false;
        send();
        for (const [index, { answer }] of batch.entries()) answer.resolve(results[first.length + index]!);
      },
      (reason) => {
        isBeginning = false;
        failure ??= { reason };
        send();
        for (const { answer } of batch) answer.reject(failure.reason);
      },
    );
  }

  function drop(reason: unknown) {
    for (const { answer } of waiting) answer.reject(reason);
    waiting = [];
  }

  return {
    async add({ statement, values }: StatementCall): Promise<StatementResult> {
      if (isClosed) throw new Error(`${statement.name} was run after its transaction had ended`);
      if (failure) throw failure.reason;
      const answer = Promise.withResolvers<StatementResult>();
      // After all promises that can continue.
      if (waiting.push({ statement, values, answer }) === 1) process.nextTick(send);
      return await answer.promise;
    },
    /** Rejects later statements. Sends pending ones before COMMIT. */
    commit() {
      const committed = this.add(COMMIT);
      isClosed = true;
      return committed;
    },
    /** Rejects pending and later statements. */
    end() {
      isClosed = true;
      for (const { statement, answer } of waiting)
        answer.reject(new Error(`${statement.name} was run after its transaction had ended`));
      waiting = [];
    },
  };
}
