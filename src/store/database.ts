import pg from "pg";

/** A prepared statement: `name` is unique in the process, `text` never changes. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export const prepared = (name: string, text: string): Statement => ({ name, text });

/** Runs statements, inside a transaction or each for itself. */
export interface Tx {
  run<Row = Record<string, unknown>>(statement: Statement, values?: readonly unknown[]): Promise<Result<Row>>;
}

export interface Result<Row> {
  rows: Row[];
  rowCount: number;
}

export interface Database extends Tx {
  /** One transaction, read committed. Run again from the start, up to five times, when PostgreSQL asks for it (40001, 40P01). */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A connection of its own, for what outlives a statement: leases, listening. It is not replaced when it breaks. */
  connect(): Promise<Connection>;
  close(): Promise<void>;
}

export interface Connection extends Tx {
  onLost(listener: () => void): void;
  close(): Promise<void>;
}

/** How to reach the server: a URL, or the socket folder of the embedded one. */
export type Address = { url: string } | { socketDir: string; user: string; database: string };

const INT8 = 20;
pg.types.setTypeParser(INT8, (text) => {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new Error(`int8 ${text} is beyond 2^53`);
  return number;
});

/**
 * A pool of connections.
 *
 * @param connections  at most so many at once
 * @param onError  told when an idle connection breaks; the pool replaces it by itself
 */
export function openDatabase(address: Address, connections: number, onError: (error: Error) => void): Database {
  const pool = new pg.Pool({ ...clientConfig(address), max: connections, idleTimeoutMillis: 30_000 });
  pool.on("error", onError);
  // Between the pool's own listener and a transaction's there is a moment without one, and a dying server may use it.
  pool.on("connect", (client) => client.on("error", () => {}));
  return {
    run: (statement, values) => runOn(pool, statement, values),
    transaction: (work) => retrying(() => inTransaction(pool, work)),
    connect: () => connect(address),
    close: () => pool.end(),
  };
}

const clientConfig = (address: Address): pg.ClientConfig => ({
  ...("url" in address
    ? { connectionString: address.url }
    : // Said in full, because pg would fill gaps from PGPORT and PGSSLMODE, which mean another server.
      { host: address.socketDir, port: 5432, ssl: false, user: address.user, database: address.database }),
  application_name: "dunlin",
  connectionTimeoutMillis: 10_000,
  keepAlive: true,
});

async function runOn<Row>(
  on: pg.Pool | pg.ClientBase,
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

async function inTransaction<T>(pool: pg.Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on("error", onError);
  try {
    await client.query("begin");
    const result = await work({ run: (statement, values) => runOn(client, statement, values) });
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.removeListener("error", onError);
    client.release(broken);
  }
}

const SERIALIZATION_FAILURE = "40001";
const DEADLOCK = "40P01";

async function retrying<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const code = sqlState(error);
      if (attempt === 5 || (code !== SERIALIZATION_FAILURE && code !== DEADLOCK)) throw error;
    }
  }
}

async function connect(address: Address): Promise<Connection> {
  const client = new pg.Client(clientConfig(address));
  const listeners: (() => void)[] = [];
  client.on("error", () => {});
  client.on("end", () => {
    for (const listener of listeners) listener();
  });
  await client.connect();
  return {
    run: (statement, values) => runOn(client, statement, values),
    onLost: (listener) => listeners.push(listener),
    close: () => client.end(),
  };
}

/** The SQLSTATE of a database error, or undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether the database was out of reach or overloaded, so that the same call may go through later. */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== "string")
    return /Connection terminated|not queryable|timeout exceeded when trying to connect/.test(String(error));
  if (/^(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH)$/.test(code)) return true;
  return /^(08|40001|40P01|53|55P03|57)/.test(code);
}
