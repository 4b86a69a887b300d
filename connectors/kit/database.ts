/** A statement with a name that is unique in the process. */
export interface KitStatement {
  readonly name: string;
  readonly text: string;
}

/** The part of a PostgreSQL client that a connector needs. */
export interface KitTx {
  run<Row = Record<string, unknown>>(
    statement: KitStatement,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
}

/** The rows of one connection. */
export interface Scope {
  merchantId: string;
  /** The billing system, such as `stripe`. */
  connection: string;
}

export const statement = (name: string, text: string): KitStatement => ({ name: `connector_${name}`, text });

/** Runs statements whose first two values are the merchant and the connection. */
export type RunScoped = <Row>(named: KitStatement, ...values: unknown[]) => Promise<{ rows: Row[]; rowCount: number }>;

export const createScopedRun =
  (db: KitTx, { merchantId, connection }: Scope): RunScoped =>
  (named, ...values) =>
    db.run(named, [merchantId, connection, ...values]);
