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
  type Statement,
  withPooledClient,
} from "./database.ts";
import { BEGIN, runInTransaction } from "./in-transaction.ts";
import { runPipelined, type StatementCall } from "./pipelined-statements.ts";

export interface TenantDatabase {
  /** Sees only this merchant's rows, whatever the statements say. */
  of(merchantId: string): Database;
  figures?(): PoolFigures;
  close(): Promise<void>;
}

/**
 * Each transaction belongs to one merchant, which is set together with the first statements, without a round trip. Parameters as
 * for `openDatabase`.
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
      const setMerchant = address.isDistributed ? setMerchantEverywhere(merchantId) : setMerchantHere(merchantId);
      const opening = [BEGIN, setMerchant];
      return {
        run: <Row>(statement: Statement, values?: readonly unknown[]) =>
          retryTransaction((onCommit) =>
            withPooledClient(pool, (client) =>
              address.isDistributed
                ? runInTransaction<Result<Row>>(client, opening, (tx) => tx.run<Row>(statement, values), onCommit)
                : runSingleStatement<Row>(client, setMerchant, { statement, values }, onCommit),
            ),
          ),
        transaction: (work) =>
          retryTransaction((onCommit) =>
            withPooledClient(pool, (client) => runInTransaction(client, opening, work, onCommit)),
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
const setMerchantHere = (merchantId: string): StatementCall => ({ statement: SET_MERCHANT, values: [merchantId] });

/** Citus passes SET LOCAL on to the servers that hold the rows, but not a function's effect. SET takes no parameters. */
function setMerchantEverywhere(merchantId: string): StatementCall {
  if (!UUID.test(merchantId)) throw new Error(`${merchantId} is not the id of a merchant`);
  return { statement: prepared("", `set local dunlin.merchant = '${merchantId}'`) };
}
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const GENERIC_PLAN = {
  statement: prepared("plan_once", "select set_config('plan_cache_mode', 'force_generic_plan', true)"),
};

/** Pipelined statements are one transaction, without BEGIN and COMMIT. */
async function runSingleStatement<Row>(
  client: pg.ClientBase,
  setMerchant: StatementCall,
  call: StatementCall,
  onCommit: () => void,
): Promise<Result<Row>> {
  onCommit();
  const opening = call.statement.isPlannedOnce ? [setMerchant, GENERIC_PLAN] : [setMerchant];
  return (await runPipelined(client, [...opening, call])).at(-1)! as unknown as Result<Row>;
}
