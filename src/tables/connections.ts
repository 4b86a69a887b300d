import type { Connection, ConnectorName } from "../domain/connection.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const COLUMNS = `merchant_id as "merchantId", name, is_live as "isLive", secrets, settings, local_port as "localPort",
  created_at as "createdAt", paused_at as "pausedAt", paused_by as "pausedBy", seen_at as "seenAt"`;

const FIND = prepared("find_connection", `select ${COLUMNS} from connections where merchant_id = $1 and name = $2`);

export const findConnection = async (tx: Tx, merchantId: string, name: ConnectorName): Promise<Connection | null> =>
  (await tx.run<Connection>(FIND, [merchantId, name])).rows[0] ?? null;

const LIST = prepared("list_connections", `select ${COLUMNS} from connections order by merchant_id, name`);

export const listConnections = async (tx: Tx): Promise<Connection[]> => (await tx.run<Connection>(LIST)).rows;

const SAVE = prepared(
  "save_connection",
  `insert into connections (merchant_id, name, is_live, secrets, settings, local_port, created_at)
   values ($1, $2, $3, $4, $5, $6, $7)
   on conflict (merchant_id, name) do update set
     secrets = excluded.secrets, settings = excluded.settings, local_port = excluded.local_port, ending_at = null`,
);

/** The mode of a connection never changes. */
export async function saveConnection(
  tx: Tx,
  connection: Pick<Connection, "merchantId" | "name" | "isLive" | "secrets" | "settings" | "localPort" | "createdAt">,
) {
  const { merchantId, name, isLive, secrets, settings, localPort, createdAt } = connection;
  await tx.run(SAVE, [merchantId, name, isLive, secrets, JSON.stringify(settings), localPort, createdAt]);
}

const RESEAL = prepared(
  "reseal_connection",
  "update connections set secrets = $3 where merchant_id = $1 and name = $2",
);

export async function updateConnectionSecrets(tx: Tx, { merchantId, name, secrets }: Connection) {
  await tx.run(RESEAL, [merchantId, name, secrets]);
}

const SEEN = prepared(
  "see_connection",
  `update connections set seen_at = $3 where merchant_id = $1 and name = $2 and ending_at is null
   returning paused_at as "pausedAt"`,
);

/** Notes that the connector works. Returns since when it is paused; undefined: the connection ends or was deleted. */
export async function reportConnection(
  tx: Tx,
  merchantId: string,
  name: ConnectorName,
  now: Date,
): Promise<Date | null | undefined> {
  return (await tx.run<{ pausedAt: Date | null }>(SEEN, [merchantId, name, now])).rows[0]?.pausedAt;
}

const PAUSE = prepared(
  "pause_connection",
  `update connections set paused_at = $3, paused_by = $4
   where merchant_id = $1 and name = $2 and (paused_at is null) <> ($3::timestamptz is null)`,
);

/** @param at  null: it goes on. Returns false if it is so already. */
export async function pauseConnection(
  tx: Tx,
  merchantId: string,
  name: ConnectorName,
  at: Date | null,
  by: string | null,
): Promise<boolean> {
  return (await tx.run(PAUSE, [merchantId, name, at, by])).rowCount === 1;
}

const MARK_ENDING = prepared(
  "end_connection",
  "update connections set ending_at = coalesce(ending_at, $3) where merchant_id = $1 and name = $2",
);

/** Its connector ends with its next report. */
export async function markConnectionEnding(tx: Tx, merchantId: string, name: ConnectorName, now: Date) {
  await tx.run(MARK_ENDING, [merchantId, name, now]);
}

const DELETE = prepared("delete_connection", "delete from connections where merchant_id = $1 and name = $2");

export async function deleteConnection(tx: Tx, merchantId: string, name: ConnectorName) {
  await tx.run(DELETE, [merchantId, name]);
}

const LOCAL_PORTS = prepared(
  "local_ports_of_connections",
  "select distinct local_port as port from connections where local_port is not null order by 1",
);

/** The ports on which connectors listen on this machine. */
export const listConnectorPorts = async (tx: Tx): Promise<number[]> =>
  (await tx.run<{ port: number }>(LOCAL_PORTS)).rows.map(({ port }) => port);

/** What a connector has done and has to do. */
export interface ConnectorState {
  waiting: number;
  failing: number;
  /** Since the oldest change was noted that is not read yet. */
  oldestAt: Date | null;
  /** Invoices that Dunlin handles. */
  owned: number;
  /** Actions by state, such as `charged`. */
  actions: Record<string, number>;
  messages: Record<string, number>;
  /** By name, such as `last-event`. */
  cursors: Record<string, string>;
}

const STATE = prepared(
  "connector_state",
  `select h.*, o.owned, a.actions, m.messages, c.cursors
   from
     (select count(*)::int4 as waiting, count(problem)::int4 as failing, min(noted_at) as "oldestAt"
      from connector_hints where merchant_id = $1 and connection = $2) h,
     (select count(*)::int4 as owned from connector_invoices
      where merchant_id = $1 and connection = $2 and ended_at is null) o,
     (select coalesce(json_object_agg(state, count), '{}') as actions
      from (select state, count(*)::int4 from connector_actions where merchant_id = $1 and connection = $2 group by 1) s) a,
     (select coalesce(json_object_agg(state, count), '{}') as messages
      from (select state, count(*)::int4 from connector_messages where merchant_id = $1 and connection = $2 group by 1) s) m,
     (select coalesce(json_object_agg(name, value), '{}') as cursors
      from connector_cursors where merchant_id = $1 and connection = $2) c`,
);

export const readConnectorState = async (tx: Tx, merchantId: string, name: ConnectorName): Promise<ConnectorState> =>
  (await tx.run<ConnectorState>(STATE, [merchantId, name])).rows[0]!;

/** Something that a connector could not do. */
export interface ConnectorProblem {
  kind: "change" | "event" | "action" | "message" | "release";
  /** The provider's or Dunlin's id. */
  id: string;
  problem: string;
  /** Null: not counted. */
  tries: number | null;
  /** When it is tried again; null: only on request, except that a release is tried every minute. */
  dueAt: Date | null;
}

const PROBLEMS = prepared(
  "connector_problems",
  `select kind, id, problem, tries, "dueAt" from (
     (select 1 as rank, 'action' as kind, id, problem, tries, coalesce(retry_at, due_at) as "dueAt" from connector_actions
      where merchant_id = $1 and connection = $2 and ended_at is null and problem is not null order by 6 limit $3)
     union all
     (select 2, 'event', id, problem, tries, due_at from connector_events
      where merchant_id = $1 and connection = $2 and problem is not null order by kept_at desc limit $3)
     union all
     (select 4, 'change', object_id, problem, tries, due_at from connector_hints
      where merchant_id = $1 and connection = $2 and problem is not null order by due_at limit $3)
     union all
     (select 3, 'release', invoice_id, 'Its recovery has ended, and it is not given back to the billing system yet.', null, null
      from connector_invoices
      where merchant_id = $1 and connection = $2 and ended_at < $4 and released_at is null order by ended_at limit $3)
     union all
     (select 5, 'message', id, problem, tries, case when ended_at is null then due_at end from connector_messages
      where merchant_id = $1 and connection = $2 and problem is not null and state in ('planned', 'failed')
      order by due_at desc limit $3)
   ) p order by rank, "dueAt", id limit $3`,
);

/**
 * Charges come first, because money waits for them.
 *
 * @param lateBefore  a release that is due since then fails
 */
export const listConnectorProblems = async (
  tx: Tx,
  merchantId: string,
  name: ConnectorName,
  limit: number,
  lateBefore: Date,
) => (await tx.run<ConnectorProblem>(PROBLEMS, [merchantId, name, limit, lateBefore])).rows;

const COUNT_PROBLEMS = prepared(
  "count_connector_problems",
  `select
     (select count(*) from connector_actions
      where merchant_id = $1 and connection = $2 and ended_at is null and problem is not null)
     + (select count(*) from connector_events where merchant_id = $1 and connection = $2 and problem is not null)
     + (select count(*) from connector_hints where merchant_id = $1 and connection = $2 and problem is not null)
     + (select count(*) from connector_messages
      where merchant_id = $1 and connection = $2 and problem is not null and state in ('planned', 'failed')) as count`,
);

/** The number of problems that `listConnectorProblems` lists without a limit. */
export const countConnectorProblems = async (tx: Tx, merchantId: string, name: ConnectorName): Promise<number> =>
  (await tx.run<{ count: number }>(COUNT_PROBLEMS, [merchantId, name])).rows[0]!.count;

const OF_MERCHANT = prepared(
  "connections_of_merchant",
  `select ${COLUMNS} from connections where merchant_id = $1 order by name`,
);

export const connectionsOf = async (tx: Tx, merchantId: string): Promise<Connection[]> =>
  (await tx.run<Connection>(OF_MERCHANT, [merchantId])).rows;

const RETRY = [
  prepared(
    "retry_connector_hints",
    `update connector_hints set due_at = $3
     where merchant_id = $1 and connection = $2 and problem is not null and due_at > $3`,
  ),
  prepared(
    "retry_connector_events",
    `update connector_events set due_at = $3, tries = 0, problem = null
     where merchant_id = $1 and connection = $2 and problem is not null`,
  ),
  prepared(
    "retry_connector_actions",
    `update connector_actions set retry_at = $3
     where merchant_id = $1 and connection = $2 and ended_at is null and problem is not null
       and coalesce(retry_at, due_at) > $3`,
  ),
  prepared(
    "retry_connector_messages",
    `update connector_messages set due_at = $3, state = 'planned', ended_at = null, tries = 0, problem = null
     where merchant_id = $1 and connection = $2 and problem is not null and state in ('planned', 'failed')`,
  ),
];

/** Has everything that failed tried again at once. Returns how much. */
export async function retryConnectorProblems(tx: Tx, merchantId: string, name: ConnectorName, now: Date) {
  let count = 0;
  for (const statement of RETRY) count += (await tx.run(statement, [merchantId, name, now])).rowCount;
  return count;
}

/** A mail to a customer about an invoice. */
export interface ConnectorMessage {
  invoiceId: string;
  number: number;
  state: string;
  language: string | null;
  problem: string | null;
  /** When it is due, or when it ended. */
  at: Date;
}

const MESSAGES = prepared(
  "connector_messages_of_invoice",
  `select invoice_id as "invoiceId", number, state, language, problem, coalesce(ended_at, due_at) as at
   from connector_messages where merchant_id = $1 and connection = $2 and invoice_id = $3 order by number, at`,
);

export const messagesOfInvoice = async (tx: Tx, merchantId: string, name: ConnectorName, invoiceId: string) =>
  (await tx.run<ConnectorMessage>(MESSAGES, [merchantId, name, invoiceId])).rows;
