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

export const statement = (name: string, text: string): KitStatement => ({ name: `connector_${name}`, text });

/** A schema of the connectors' own; Dunlin's tables are not touched. */
const TABLES = [
  "create schema if not exists connectors",
  // The provider is always right, and an event is only a hint that something changed: one row per object to fetch again.
  `create table if not exists connectors.hints (
     connection text not null, object_id text not null, generation int8 not null default 1, due_at timestamptz not null,
     tries int4 not null default 0, problem text, primary key (connection, object_id))`,
  "create index if not exists hints_due on connectors.hints (connection, due_at)",
  "create table if not exists connectors.cursors (connection text, name text, value text not null, primary key (connection, name))",
  `create table if not exists connectors.versions (
     connection text, object_id text, version_at timestamptz not null, digest text not null, primary key (connection, object_id))`,
  `create table if not exists connectors.events (
     connection text, id text, event jsonb not null, tries int4 not null default 0, due_at timestamptz, problem text,
     primary key (connection, id))`,
  "create index if not exists events_due on connectors.events (connection, due_at) where due_at is not null",
  // One row per action of Dunlin's: an action is charged once, whatever dies.
  `create table if not exists connectors.actions (
     connection text, id text, invoice_id text not null, suggestion text not null, due_at timestamptz not null, state text not null,
     charge_id text, problem text, begun_at timestamptz, ended_at timestamptz, tries int4 not null default 0,
     primary key (connection, id))`,
  "create index if not exists actions_due on connectors.actions (connection, due_at) where ended_at is null",
  "create index if not exists actions_by_charge on connectors.actions (connection, charge_id)",
  `create table if not exists connectors.owned (
     connection text, invoice_id text, since timestamptz not null, ended_at timestamptz, primary key (connection, invoice_id))`,
];

/** Creates the tables that are missing. */
export async function createConnectorTables(db: KitTx): Promise<void> {
  for (const text of TABLES) await db.run({ name: "", text });
}
