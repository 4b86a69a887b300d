import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { setColumnReaders } from "./column-readers.ts";
import { isLockTimeout, isOutage, isSilentOutage, wasRolledBack } from "./database-errors.ts";
import { BEGIN, runInTransaction, runOnClient } from "./in-transaction.ts";

setColumnReaders();

/** A prepared statement: `name` is unique in the process, `text` never changes. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Behind the wall, outside of a transaction: PostgreSQL plans it once, for all values. */
  readonly isPlannedOnce?: true;
}

/** @param name  empty for a text that is to be parsed and planned anew each time */
export const prepared = (name: string, text: string): Statement => ({ name, text });

/** A statement whose text leaves one good plan, so that nobody has to look for it anew for the values of each run. */
export const preparedGeneric = (name: string, text: string): Statement => ({ name, text, isPlannedOnce: true });

/** Runs statements, inside a transaction or each for itself. A statement without a name is one text, but on a connection of its own. */
export interface Tx {
  run<Row = Record<string, unknown>>(statement: Statement, values?: readonly unknown[]): Promise<Result<Row>>;
}

export interface Result<Row> {
  rows: Row[];
  rowCount: number;
}

/**
 * Asks, all at once, for a transaction's last statements, and returns what it did. They go out with the COMMIT, which waits for none of their
 * answers. What is asked later is refused.
 */
export type LastStatements<T> = () => Promise<T>;

export interface Database extends Tx {
  /**
   * One transaction, read committed. Run again from the start, up to five times, when PostgreSQL asks for it or was
   * away for a moment. A COMMIT whose outcome nobody knows is not repeated: the failure reaches the caller, who reads
   * anew what there is. Repeated blindly, a decision that is in already would run into the key of its own event.
   *
   * @param work  returns what it did, or how its last statements are asked for
   */
  transaction<T>(work: (tx: Tx) => Promise<T | LastStatements<T>>): Promise<T>;
  /**
   * A connection of its own, for what outlives a statement: leases, listening. It is not replaced when it breaks. It is the login's,
   * because only that sees in pg_stat_activity what its other connections are; for tables of merchants it is not meant.
   *
   * @param answerMs  how long a statement may take before it fails; without it as long as it takes
   */
  connect(answerMs?: number): Promise<Connection>;
  /** Of its pool, where it has one. */
  figures?(): PoolFigures;
  close(): Promise<void>;
}

/** Connections of a pool: all, those that nobody uses, and how many wait for one. */
export interface PoolFigures {
  open: number;
  idle: number;
  waiting: number;
}

export interface Connection extends Tx {
  onLost(listener: () => void): void;
  /** What another session, or this one, sent by NOTIFY on a channel that this one listens to. */
  onNotified(listener: (channel: string, payload: string) => void): void;
  close(): Promise<void>;
}

/**
 * How to reach the server: a URL, or the socket folder of the embedded one. `session` is what the connections of a pool
 * begin with, as PostgreSQL's options: `-c role=dunlin_worker`.
 */
export type Address = ({ url: string } | { socketDir: string; user: string; database: string }) & { session?: string };

/** Far longer than any statement of the service takes: a network that swallowed the answer is noticed after this. */
export const ANSWER_TIMEOUT_MS = 60_000;

/**
 * A pool of connections.
 *
 * @param connections  at most so many at once
 * @param onError  told when an idle connection breaks; the pool replaces it by itself
 * @param answerMs  how long a statement of the pool may take
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
      retryTransaction((commits) =>
        withPooledClient(pool, (client) => {
          commits();
          return runOnClient(client, statement, values);
        }),
      ),
    transaction: (work) =>
      retryTransaction((commits) =>
        withPooledClient(pool, (client) => runInTransaction(client, [BEGIN], work, commits)),
      ),
    connect: (answerMs) => connect(address, answerMs),
    figures: () => poolFiguresOf(pool),
    close: () => pool.end(),
  };
}

export const poolFiguresOf = ({ totalCount: open, idleCount: idle, waitingCount: waiting }: pg.Pool) => ({
  open,
  idle,
  waiting,
});

/**
 * The connections that `borrowing` hands out. Whoever asks for the pool ends it, which waits for what is borrowed.
 *
 * @param onError  told when an idle connection breaks; the pool replaces it by itself
 * @param answerMs  how long a statement may take before it fails
 */
export function createPool(address: Address, connections: number, onError: (error: Error) => void, answerMs: number) {
  // A little longer than we wait, so that it is we who give up, and the server does not go on for nobody.
  const session = [address.session ?? "", ...SESSION_TIMEOUTS, `-c statement_timeout=${answerMs + 1_000}`].join(" ");
  const limits = { max: connections, idleTimeoutMillis: 30_000, query_timeout: answerMs };
  const config = { ...clientConfig({ ...address, session }), ...limits };
  // What a transaction asks at once goes out at once. Not for connections of their own, whose end would wait for an answer under way.
  const pool = new pg.Pool({ ...config, pipeline: true } as pg.PoolConfig);
  // A server that is stopped right after the last connection was let go may not have read of it yet: that loses nothing.
  pool.on("error", (error) => {
    if (!pool.ending) onError(error);
  });
  // Between the pool's own listener and a transaction's there is a moment without one, and a dying server may use it.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** A process that hangs in a transaction must not hold its locks for long. */
const IDLE_TRANSACTION_TIMEOUT_MS = 30_000;
/** Who waits for a lock for so long asks again later, and does something else meanwhile. */
const LOCK_TIMEOUT_MS = 10_000;

/**
 * For connections that transactions are made on. The server ends the session of a process that stopped in a transaction. It also ends the session of a
 * host that vanished: TCP probes and unacknowledged data show it.
 */
const SESSION_TIMEOUTS = [
  `-c idle_in_transaction_session_timeout=${IDLE_TRANSACTION_TIMEOUT_MS}`,
  `-c lock_timeout=${LOCK_TIMEOUT_MS}`,
  "-c tcp_keepalives_idle=15 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3 -c tcp_user_timeout=30000",
];

/** Moments are read from text, which a server that is set up so would write as `02.03.2026`. */
const ISO_DATE_STYLE = "-c datestyle=ISO";

const clientConfig = (address: Address): pg.ClientConfig => ({
  ...("url" in address
    ? { connectionString: addSessionToUrl(address.url, sessionOptionsOf(address)) }
    : // Said in full, because pg would fill gaps from PGPORT and PGSSLMODE, which mean another server.
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

/** Of two options in a URL the later one counts, so it says what the first one says, too. */
function addSessionToUrl(url: string, session: string) {
  const given = new URLSearchParams(url.split("?")[1]).get("options");
  const options = given === null ? session : `${given} ${session}`;
  return `${url}${url.includes("?") ? "&" : "?"}options=${encodeURIComponent(options)}`;
}

/**
 * Lends a connection of the pool to `use`, and takes it back whatever happens. What `use` left open when it threw is rolled back; a connection that
 * broke, or did not answer in time, is closed in place of going back.
 */
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
    // Whoever did not answer for so long will not answer this either. Outside a transaction it does nothing.
    if (isSilentOutage(error)) broken = error as Error;
    else await client.query("rollback").catch(onError);
    throw error;
  } finally {
    client.removeListener("error", onError);
    client.release(broken);
  }
}

/** Grows without chance: two that got into each other's way are told apart by PostgreSQL, which lets one of them go on. */
const RETRY_PAUSES_MS = [2, 10, 50, 250];

/** @param run  calls `commits` right before it sends what may commit */
export async function retryTransaction<T>(run: (commits: () => void) => Promise<T>): Promise<T> {
  for (let failures = 0; ; failures++) {
    let mayBeDone = false;
    try {
      return await run(() => {
        mayBeDone = true;
      });
    } catch (error) {
      const pauseMs = RETRY_PAUSES_MS[failures];
      const again = mayBeDone
        ? wasRolledBack(error)
        : isOutage(error) && !isSilentOutage(error) && !isLockTimeout(error);
      if (pauseMs === undefined || !again) throw error;
      await sleep(pauseMs);
    }
  }
}

/**
 * A connection outside of any pool, with the rights of the login: `session` does not hold for it. Whoever asked for it closes it, also after it broke.
 *
 * @param answerMs  how long a statement may take before it fails; without it as long as it takes
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

/** As `connect`, for streams of rows: the driver's own client. */
export async function openClient(address: Address, answerMs?: number): Promise<pg.Client> {
  const { session: _, ...login } = address;
  const client = new pg.Client({ ...clientConfig(login), ...(answerMs && { query_timeout: answerMs }) });
  client.on("error", () => {});
  await client.connect();
  return client;
}
