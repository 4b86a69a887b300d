import type pg from "pg";
import {
  type Address,
  ANSWER_TIMEOUT_MS,
  connect,
  createPool,
  type Database,
  type PoolFigures,
  poolFiguresOf,
  prepared,
  type Result,
  retryTransaction,
  withPooledClient,
} from "./database.ts";
import { BEGIN, runInTransaction } from "./in-transaction.ts";
import { runPipelined, type StatementCall } from "./pipelined-statements.ts";

/** The database for the work of one merchant. */
export interface TenantDatabase {
  /** Its statements and transactions see no row of another merchant's, whatever their texts say. */
  of(merchantId: string): Database;
  figures?(): PoolFigures;
  close(): Promise<void>;
}

/**
 * A pool whose transactions are of one merchant each. What says so goes out together with what follows it, so it takes no
 * round trip of its own. Parameters as of `openDatabase`.
 */
export function openTenantDatabase(
  address: Address,
  connections: number,
  onError: (error: Error) => void,
  answerMs = ANSWER_TIMEOUT_MS,
): TenantDatabase {
  const pool = createPool(address, connections, onError, answerMs);
  return {
    of(merchantId) {
      const names = { statement: SET_MERCHANT, values: [merchantId] };
      const begins = [BEGIN, names];
      return {
        run: (statement, values) =>
          retryTransaction((commits) =>
            withPooledClient(pool, (client) => runSingleStatement(client, names, { statement, values }, commits)),
          ),
        transaction: (work) =>
          retryTransaction((commits) =>
            withPooledClient(pool, (client) => runInTransaction(client, begins, work, commits)),
          ),
        connect: (answerMs) => connect(address, answerMs),
        close: () => pool.end(),
      };
    },
    figures: () => poolFiguresOf(pool),
    close: () => pool.end(),
  };
}

const SET_MERCHANT = prepared("name_merchant", "select set_config('dunlin.merchant', $1, true)");
const GENERIC_PLAN = {
  statement: prepared("plan_once", "select set_config('plan_cache_mode', 'force_generic_plan', true)"),
};

/** A transaction of one statement, all of it on the way at once: what is asked together is one without saying so. */
async function runSingleStatement<Row>(
  client: pg.ClientBase,
  names: StatementCall,
  asked: StatementCall,
  commits: () => void,
): Promise<Result<Row>> {
  commits();
  const before = asked.statement.isPlannedOnce ? [names, GENERIC_PLAN] : [names];
  return (await runPipelined(client, [...before, asked])).at(-1)! as unknown as Result<Row>;
}
