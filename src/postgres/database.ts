import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { setColumnReaders } from "./column-readers.ts";
import { isLockTimeout, isOutage, isSilentOutage, wasRolledBack } from "./database-errors.ts";
import { BEGIN, runInTransaction, runOnClient } from "./in-transaction.ts";

setColumnReaders();

/** `name` is unique in the process, and `text` never changes. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Planned once for all values, on a tenant database outside transactions. */
  readonly isPlannedOnce?: true;
}

/** @param name  empty: the text is parsed and planned each time */
export const prepared = (name: string, text: string): Statement => ({ name, text });

/** For a statement with one good plan for all values. */
export const preparedGeneric = (name: string, text: string): Statement => ({ name, text, isPlannedOnce: true });

/**
 * Inside a transaction, or each statement on its own. An unnamed statement can contain several, but only on a separate
 * connection.
 */
export interface Tx {
  run<Row = Record<string, unknown>>(statement: Statement, values?: readonly unknown[]): Promise<Result<Row>>;
}

export interface Result<Row> {
  rows: Row[];
  rowCount: number;
}

/**
 * Sends a transaction's last statements together with COMMIT, which does not wait for their results. Returns the transaction's
 * result. Later statements are rejected.
 */
export type LastStatements<T> = () => Promise<T>;

export interface Database extends Tx {
  /**
   * Runs a read-committed transaction. Repeats it up to five times after a conflict or a short outage.
   *
   * If COMMIT's outcome is unknown, it fails instead, and the caller must read the current state: repeating a committed decision
   * would violate its event's key.
   *
   * @param work  returns the result, or the last statements
   */
  transaction<T>(work: (tx: Tx) => Promise<T | LastStatements<T>>): Promise<T>;
  /**
   * Opens a separate connection for leases and notifications, which is not replaced if it breaks. It uses the login's role, which
   * alone sees the login's other sessions in pg_stat_activity; not for merchants' tables.
   *
   * @param answerMs  statement time limit; without it there is none
   */
  connect(answerMs?: number): Promise<Connection>;
  figures?(): PoolFigures;
  /** As in `Address`. */
  isDistributed?: boolean | undefined;
  close(): Promise<void>;
}

export interface PoolFigures {
  open: number;
  idle: number;
  waiting: number;
}

export interface Connection extends Tx {
  onLost(listener: () => void): void;
  onNotified(listener: (channel: string, payload: string) => void): void;
  close(): Promise<void>;
}

/**
 * A URL, or the embedded server's socket folder. `session`: PostgreSQL options for pooled connections, such as `-c
 * role=dunlin_worker`. `isDistributed`: the tables are spread over several servers by Citus.
 */
export type Address = ({ url: string } | { socketDir: string; user: string; database: string }) & {
  session?: string;
  isDistributed?: boolean;
};

/** Far longer than any statement, so it detects a network that lost the reply. */
export const ANSWER_TIMEOUT_MS = 60_000;

/**
 * @param onError  an idle connection broke; the pool replaces it
 * @param answerMs  statement time limit
 */
export function openDatabase(
  address: Address,
  connections: number,
  onError: (error: Error) => void,
  answerMs = ANSWER_TIMEOUT_MS,
): Database {
  const pool = createPool(address, connections, onError, answerMs);
  return {
    run: (statement, values) =>
      retryTransaction((onCommit) =>
        withPooledClient(pool, (client) => {
          onCommit();
          return runOnClient(client, statement, values);
        }),
      ),
    transaction: (work) =>
      retryTransaction((onCommit) =>
        withPooledClient(pool, (client) => runInTransaction(client, [BEGIN], work, onCommit)),
      ),
    connect: (answerMs) => connect(address, answerMs),
    figures: () => poolFiguresOf(pool),
    isDistributed: address.isDistributed,
    close: () => pool.end(),
  };
}

export const poolFiguresOf = ({ totalCount: open, idleCount: idle, waitingCount: waiting }: pg.Pool) => ({
  open,
  idle,
  waiting,
});

/** For `withPooledClient`. Ending it waits for borrowed connections. Parameters as for `openDatabase`. */
export function createPool(address: Address, connections: number, onError: (error: Error) => void, answerMs: number) {
  // The client gives up first, and the server does not continue needlessly.
  const session = [address.session ?? "", ...SESSION_TIMEOUTS, `-c statement_timeout=${answerMs + 1_000}`].join(" ");
  const limits = { max: connections, idleTimeoutMillis: 30_000, query_timeout: answerMs };
  const config = { ...clientConfig({ ...address, session }), ...limits };
  // Statements of a transaction that are run at once are sent at once. Separate connections do not pipeline, because closing them
  // would wait for a running statement.
  const pool = new pg.Pool({ ...config, pipeline: true } as pg.PoolConfig);
  // Harmless while the pool ends: the server may stop before it has seen the connection close.
  pool.on("error", (error) => {
    if (!pool.ending) onError(error);
  });
  // Between the removal of one listener and the next.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** A process that hangs in a transaction must release its locks. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000;
/** Callers retry later and work on something else meanwhile. */
export const LOCK_TIMEOUT_MS = 10_000;

/** Ends sessions of processes that hang in a transaction, and, by TCP probes, of hosts that vanished. */
const SESSION_TIMEOUTS = [
  `-c idle_in_transaction_session_timeout=${IDLE_TRANSACTION_TIMEOUT_MS}`,
  `-c lock_timeout=${LOCK_TIMEOUT_MS}`,
  "-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000",
];

/** Timestamps are parsed from text. */
const ISO_DATE_STYLE = "-c datestyle=ISO";

const clientConfig = (address: Address): pg.ClientConfig => ({
  ...("url" in address
    ? { connectionString: addSessionToUrl(address.url, sessionOptionsOf(address)) }
    : // Complete, because pg would fill gaps from PGPORT and PGSSLMODE.
      {
        host: address.socketDir,
        port: 5432,
        ssl: false,
        user: address.user,
        database: address.database,
        options: sessionOptionsOf(address),
      }),
  application_name: "dunlin",
  connectionTimeoutMillis: 10_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 15_000,
});

const sessionOptionsOf = ({ session }: Address) =>
  session === undefined ? ISO_DATE_STYLE : `${ISO_DATE_STYLE} ${session}`;

/** A URL's last option counts, so an existing one is merged. */
function addSessionToUrl(url: string, session: string) {
  const existing = new URLSearchParams(url.split("?")[1]).get("options");
  const options = existing === null ? session : `${existing} ${session}`;
  return `${url}${url.includes("?") ? "&" : "?"}options=${encodeURIComponent(options)}`;
}

/** If `use` throws, rolls back, or closes a connection that broke or did not answer. */
export async function withPooledClient<T>(pool: pg.Pool, use: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on("error", onError);
  try {
    return await use(client);
  } catch (error) {
    // A silent server would not answer a rollback either.
    if (isSilentOutage(error)) broken = error as Error;
    else await client.query("rollback").catch(onError);
    throw error;
  } finally {
    client.removeListener("error", onError);
    client.release(broken);
  }
}

/** Without jitter: PostgreSQL aborts only one of two deadlocked transactions. */
const RETRY_PAUSES_MS = [2, 10, 50, 250];

/** @param run  calls `onCommit` right before it sends what may commit */
export async function retryTransaction<T>(run: (onCommit: () => void) => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    let mayBeCommitted = false;
    try {
      return await run(() => {
        mayBeCommitted = true;
      });
    } catch (error) {
      const pauseMs = RETRY_PAUSES_MS[failures];
      const canRetry = mayBeCommitted
        ? wasRolledBack(error)
        : isOutage(error) && !isSilentOutage(error) && !isLockTimeout(error);
      if (pauseMs === undefined || !canRetry) throw error;
      await sleep(pauseMs);
    }
  }
}

/**
 * Outside any pool, with the login's role and without `session`. The caller closes it, even if it broke.
 *
 * @param answerMs  statement time limit; without it there is none
 */
export async function connect(address: Address, answerMs?: number): Promise<Connection> {
  const listeners: (() => void)[] = [];
  const client = await openClient(address, answerMs);
  client.on("end", () => {
    for (const listener of listeners) listener();
  });
  return {
    run: (statement, values) => runOnClient(client, statement, values),
    onLost: (listener) => listeners.push(listener),
    onNotified: (listener) => client.on("notification", ({ channel, payload = "" }) => listener(channel, payload)),
    close: () => client.end(),
  };
}

/** Like `connect`, for streams of rows. */
export async function openClient(address: Address, answerMs?: number): Promise<pg.Client> {
  const { session: _, ...login } = address;
  const client = new pg.Client({ ...clientConfig(login), ...(answerMs && { query_timeout: answerMs }) });
  client.on("error", () => {});
  await client.connect();
  return client;
}
