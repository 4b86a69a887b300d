import assert from "node:assert/strict";
import type pg from "pg";
import {
  type Address,
  ANSWER_MS,
  borrowing,
  connect,
  type Database,
  poolOf,
  type Result,
  retrying,
  type Statement,
} from "./database.ts";
import { inOnePiece, inTransaction, runOn } from "./in-transaction.ts";

/** The database for the work of one merchant. */
export interface Walled {
  /** Its statements and transactions see no row of another merchant's, whatever their texts say. */
  of(merchantId: string): Database;
  close(): Promise<void>;
}

/**
 * A pool whose transactions are of one merchant each. What says so goes out together with what follows it, so it takes no
 * round trip of its own. Parameters as of `openDatabase`.
 */
export function openWalled(
  address: Address,
  connections: number,
  onError: (error: Error) => void,
  answerMs = ANSWER_MS,
): Walled {
  const pool = poolOf(address, connections, onError, answerMs);
  return {
    of(merchantId) {
      const begin = beginOf(merchantId);
      return {
        run: (statement, values) =>
          retrying((commits) => borrowing(pool, (client) => runAlone(client, begin, statement, values, commits))),
        transaction: (work) =>
          retrying((commits) =>
            borrowing(pool, (client) => inTransaction(client, { text: begin, isGuarded: true }, work, commits)),
          ),
        connect: (answerMs) => connect(address, answerMs),
        close: () => pool.end(),
      };
    },
    close: () => pool.end(),
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
function beginOf(merchantId: string) {
  assert.match(merchantId, UUID); // it goes into the text of a statement
  return `begin; set local dunlin.merchant = '${merchantId}'`;
}

/** A transaction of one statement, all of it on the way at once. */
async function runAlone<Row>(
  client: pg.ClientBase,
  begin: string,
  statement: Statement,
  values: readonly unknown[] | undefined,
  commits: () => void,
): Promise<Result<Row>> {
  commits();
  const begins = statement.isPlannedOnce ? `${begin}; set local plan_cache_mode = force_generic_plan` : begin;
  const [began, done, ended] = await inOnePiece(client, () =>
    Promise.allSettled([client.query(begins), runOn<Row>(client, statement, values), client.query("commit")]),
  );
  for (const each of [began, done, ended]) if (each.status === "rejected") throw each.reason;
  return (done as PromiseFulfilledResult<Result<Row>>).value;
}
