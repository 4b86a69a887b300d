import type { Writable } from "node:stream";
import type pg from "pg";
import type { Result, Statement, Tx } from "./database.ts";

/** A statement on this connection, in whatever transaction it is. */
export async function runOn<Row>(
  on: pg.ClientBase,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<Result<Row>> {
  const { rows, rowCount } = await on.query({
    name: statement.name,
    text: statement.text,
    values: values as unknown[],
  });
  return { rows: rows as Row[], rowCount: rowCount ?? 0 };
}

/** How a transaction begins. */
export interface Beginning {
  text: string;
  /**
   * Whether the first statements may go out together with it. Should it fail, they run by themselves: only where such a statement is refused, as
   * behind the wall, for which the beginning names the merchant.
   */
  isGuarded: boolean;
}

/**
 * Statements that `work` asks for without waiting in between go out at once and are answered in their order; behind one that fails all fail, and its
 * error is the one that is thrown. Once `work` has settled nothing more is asked: it would run outside.
 */
export async function inTransaction<T>(
  client: pg.ClientBase,
  { text, isGuarded }: Beginning,
  work: (tx: Tx) => Promise<T>,
  commits: () => void,
): Promise<T> {
  const failures: unknown[] = [];
  let isOver = false;
  const tx: Tx = {
    async run<Row>(statement: Statement, values?: readonly unknown[]) {
      if (isOver) throw new Error(`${statement.name} was asked for when its transaction was over`);
      return await runOn<Row>(client, statement, values).catch((error: unknown) => {
        failures.push(error);
        throw error;
      });
    },
  };
  const works = async () => {
    try {
      return await work(tx);
    } finally {
      isOver = true;
    }
  };
  if (!isGuarded) await client.query(text);
  const [began, done] = await inOnePiece(client, () => Promise.allSettled([isGuarded && client.query(text), works()]));
  if (began.status === "rejected") throw began.reason;
  if (done.status === "rejected")
    throw (done.reason as { code?: unknown } | null)?.code === FAILED_BEFORE ? failures[0] : done.reason;
  commits();
  const { command } = await client.query("commit");
  if (command !== "COMMIT") throw new Error("rolled back: a statement had failed, and its failure was passed over");
  return done.value;
}

/** A statement of this transaction had failed. */
const FAILED_BEFORE = "25P02";

/** All that `send` asks goes out in one write: each would wake the server. */
export function inOnePiece<T>(client: pg.ClientBase, send: () => T): T {
  // Not among the driver's types: its socket, which it corks itself for the messages of one statement.
  const { stream } = (client as unknown as { connection: { stream: Writable } }).connection;
  stream.cork();
  try {
    return send();
  } finally {
    stream.uncork();
  }
}
