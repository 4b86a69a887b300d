import { type Database, prepared } from "../../../src/postgres/database.ts";

/** The final content of the database. Times are milliseconds of service time. */
export interface StoredRows {
  anchor: { realAt: number; serviceAt: number; rate: number };
  records: { subscriptions: StoredRecord[]; invoices: StoredRecord[]; transactions: StoredRecord[] };
  actions: { id: string; type: string; status: string; decidedAt: number | null; caseId: string }[];
  events: StoredEvent[];
  attempts: StoredAttempt[];
}

/** The comparable part of a record that the API accepts. */
export interface StoredRecord {
  id: string;
  state: string;
  updatedAt: number;
  amount: number;
  customerId: string;
  /** The plan of a subscription, the subscription of an invoice, or the recovery action of a transaction. */
  mark: string | null;
}

export interface StoredEvent {
  id: string;
  caseId: string;
  type: "recovery_action" | "pause_collection" | "complete_dunning";
  invoiceId: string;
  subscriptionId: string | null;
  body: string;
  createdAt: number;
  withdrawnAt: number | null;
  /** When its next attempt is due; null if it is not waiting. */
  dueAt: number | null;
  /** Ended attempts by the count of its delivery; null if it is not waiting. */
  counted: number | null;
}

export interface StoredAttempt {
  eventId: string;
  round: number;
  number: number;
  startedAt: number;
  endedAt: number;
  ends: "delivered" | "exhausted" | null;
  status: number | null;
}

const epochMsSql = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`;
const recordsStatement = (table: string, mark: string) =>
  prepared(
    `torture_${table}`,
    `select id, state, ${epochMsSql("updated_at")} as "updatedAt", amount, customer_id as "customerId", ${mark} as mark from ${table} where merchant_id = $1`,
  );
const SUBSCRIPTIONS = recordsStatement("subscriptions", "plan_id");
const INVOICES = recordsStatement("invoices", "subscription_id");
const TRANSACTIONS = recordsStatement("transactions", "recovery_action_id");
const ACTIONS = prepared(
  "torture_actions",
  `select id, type, status, case_id as "caseId", ${epochMsSql("decided_at")} as "decidedAt" from recovery_actions where merchant_id = $1`,
);
const EVENTS = prepared(
  "torture_events",
  `select e.id, e.case_id as "caseId", e.type, e.invoice_id as "invoiceId", c.subscription_id as "subscriptionId", e.body,
     ${epochMsSql("e.created_at")} as "createdAt", ${epochMsSql("e.withdrawn_at")} as "withdrawnAt", ${epochMsSql("d.due_at")} as "dueAt", d.attempts as counted
   from events e join cases c on c.merchant_id = e.merchant_id and c.id = e.case_id
   left join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
   where e.merchant_id = $1`,
);
const ATTEMPTS = prepared(
  "torture_attempts",
  `select event_id as "eventId", round, number, ${epochMsSql("started_at")} as "startedAt", ${epochMsSql("ended_at")} as "endedAt", ends, status
   from delivery_attempts where merchant_id = $1 order by event_id, round, number`,
);
const ANCHOR = prepared(
  "torture_anchor",
  `select ${epochMsSql("real_at")} as "realAt", ${epochMsSql("service_at")} as "serviceAt", rate from clock_anchor`,
);

export async function readStoredRows(db: Database, merchantId: string): Promise<StoredRows> {
  const all = async <Row>(statement: typeof ACTIONS) => (await db.run<Row>(statement, [merchantId])).rows;
  return {
    anchor: await readAnchor(db),
    records: {
      subscriptions: await all(SUBSCRIPTIONS),
      invoices: await all(INVOICES),
      transactions: await all(TRANSACTIONS),
    },
    actions: await all(ACTIONS),
    events: await all(EVENTS),
    attempts: await all(ATTEMPTS),
  };
}

export const readAnchor = async (db: Database) => (await db.run<StoredRows["anchor"]>(ANCHOR)).rows[0]!;

const COUNT_WAITING = prepared(
  "torture_waiting",
  `select count(*) filter (where due_at <= $2) as overdue, count(*) as deliveries,
     (select count(*) from due_cases where merchant_id = $1) + (select count(*) from case_pokes where merchant_id = $1) as cases
   from deliveries where merchant_id = $1`,
);

/** Counts the remaining work. */
export async function countWaiting(db: Database, merchantId: string, now: Date) {
  return (await db.run<{ overdue: number; deliveries: number; cases: number }>(COUNT_WAITING, [merchantId, now]))
    .rows[0]!;
}

/**
 * Without tables that each start rewrites, which hold no merchant data: delivery leases and the set-up link. Outcomes settled
 * right before the stop are learned after it.
 */
const TABLES = prepared(
  "torture_tables",
  `select tablename as name from pg_tables where schemaname = 'public'
     and tablename not in ('bucket_leases', 'invites') and tablename not like 'learn%' order by 1`,
);

/** Returns a digest of every table. */
export async function digestTables(db: Database): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { name } of (await db.run<{ name: string }>(TABLES)).rows) {
    const digest = prepared(
      `torture_digest_${name}`,
      `select count(*) || ' rows ' || coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') as digest from ${name} t`,
    );
    found.set(name, (await db.run<{ digest: string }>(digest)).rows[0]!.digest);
  }
  return found;
}
