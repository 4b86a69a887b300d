import type pg from "pg";
import {
  type Address,
  ANSWER_MS,
  borrowing,
  connect,
  type Database,
  figuresOf,
  type PoolFigures,
  poolOf,
  prepared,
  type Result,
  retrying,
} from "./database.ts";
import { BEGIN, inTransaction } from "./in-transaction.ts";
import { type Asked, runTogether } from "./together.ts";

/** The database for the work of one merchant. */
export interface Walled {
  /** Its statements and transactions see no row of another merchant's, whatever their texts say. */
  of(merchantId: string): Database;
  figures?(): PoolFigures;
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
      const names = { statement: NAME_MERCHANT, values: [merchantId] };
      const begins = [BEGIN, names];
      return {
        run: (statement, values) =>
          retrying((commits) => borrowing(pool, (client) => runAlone(client, names, { statement, values }, commits))),
        transaction: (work) =>
          retrying((commits) => borrowing(pool, (client) => inTransaction(client, begins, work, commits))),
        connect: (answerMs) => connect(address, answerMs),
        close: () => pool.end(),
      };
    },
    figures: () => figuresOf(pool),
    close: () => pool.end(),
  };
}

const NAME_MERCHANT = prepared("name_merchant", "select set_config('dunlin.merchant', $1, true)");
const PLAN_ONCE = {
  statement: prepared("plan_once", "select set_config('plan_cache_mode', 'force_generic_plan', true)"),
};

/** A transaction of one statement, all of it on the way at once: what is asked together is one without saying so. */
async function runAlone<Row>(
  client: pg.ClientBase,
  names: Asked,
  asked: Asked,
  commits: () => void,
): Promise<Result<Row>> {
  commits();
  const before = asked.statement.isPlannedOnce ? [names, PLAN_ONCE] : [names];
  return (await runTogether(client, [...before, asked])).at(-1)! as unknown as Result<Row>;
}
