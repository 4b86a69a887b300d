import { type ActionLedger, createActionLedger } from "./action-ledger.ts";
import { createScopedRun, type KitTx, type Scope, statement } from "./database.ts";
import { createEventInbox, releaseEventClaims } from "./event-inbox.ts";
import { createMessageLog, type MessageLog } from "./message-log.ts";
import type { EventStore } from "./sdk.ts";

/** An object to fetch from the provider again. */
export interface Hint {
  objectId: string;
  /** Rises with each new hint, so that one that arrives meanwhile is not lost. */
  generation: number;
  tries: number;
}

/** A record's content, to be given a version. */
export interface Content {
  objectId: string;
  digest: string;
  /** When it came about, by the provider. */
  at: Date;
}

/** The invoice of a payment. */
export interface PaymentOwner {
  paymentId: string;
  invoiceId: string;
  customerId: string | null;
  subscriptionId: string | null;
}

/** Counts of what waits and of what fails. */
export interface Backlog {
  waiting: number;
  failing: number;
  /** Since the oldest hint was noted; null: none waits. */
  oldestAt: Date | null;
  /** Actions whose time has come. */
  dueActions: number;
  failingActions: number;
  /** Dunlin's events that could not be handled, also those that were given up. */
  failingEvents: number;
  /** Invoices that should have been given back to the provider. */
  failingReleases: number;
}

/** The tables of one connection. */
export interface ConnectorStore extends ActionLedger {
  /** Notes that objects changed. */
  hint(objectIds: readonly string[], at: Date): Promise<void>;
  /** Claims due hints; in case of a crash they are due again at `until`. */
  claimHints(limit: number, now: Date, until: Date): Promise<Hint[]>;
  /** Forgets a hint, unless a newer one has arrived. */
  endHint(hint: Hint, now: Date): Promise<void>;
  failHint(hint: Hint, dueAt: Date, problem: string): Promise<void>;
  /** @param lateBefore  a release that is due since then fails */
  countBacklog(now: Date, lateBefore?: Date): Promise<Backlog>;

  readCursor(name: string): Promise<string | null>;
  writeCursor(name: string, value: string): Promise<void>;

  /** Takes a number before a read. The state that a later read sees is at least as new. */
  beginRead(): Promise<number>;
  /**
   * Returns each record's version, by object: strictly later for each change, the same for the same content. A record that a later
   * read has already seen gets none, and must not be pushed.
   */
  versionsOf(contents: readonly Content[], readNo: number): Promise<Map<string, Date>>;

  keepPayments(owners: readonly PaymentOwner[]): Promise<void>;
  findPayments(paymentIds: readonly string[]): Promise<Map<string, PaymentOwner>>;
  forgetPayments(): Promise<void>;

  /** For the receiver of Dunlin's webhooks. */
  events: EventStore;
  /** Makes events due at once that a process had claimed before it died. `at`: real time. */
  releaseEventClaims(at: Date): Promise<void>;
  messages: MessageLog;
  /** Deletes events and actions that ended before a time. */
  prune(before: Date): Promise<void>;
}

/** Work that waits longer than this shows that something is wrong. */
export const LATE_MS = 10 * 60_000;

const SCOPE = "merchant_id = $1 and connection = $2";

const HINT = statement(
  "hint",
  `insert into connector_hints (merchant_id, connection, object_id, noted_at, due_at)
   select $1, $2, id, $4, $4 from unnest($3::text[]) as given (id)
   on conflict (merchant_id, connection, object_id) do update set
     generation = connector_hints.generation + 1, due_at = least(connector_hints.due_at, excluded.due_at)`,
);
const CLAIM_HINTS = statement(
  "claim_hints",
  `update connector_hints set due_at = $5, tries = tries + 1
   where ${SCOPE} and object_id in (
     select object_id from connector_hints where ${SCOPE} and due_at <= $3 order by due_at limit $4
     for update skip locked)
   returning object_id as "objectId", generation::int4 as generation, tries`,
);
const END_HINT = statement(
  "end_hint",
  `delete from connector_hints where ${SCOPE} and object_id = $3 and generation = $4`,
);
const RENEW_HINT = statement(
  "renew_hint",
  `update connector_hints set due_at = $4, noted_at = $4, tries = 0, problem = null where ${SCOPE} and object_id = $3`,
);
const FAIL_HINT = statement(
  "fail_hint",
  `update connector_hints set due_at = $4, problem = $5 where ${SCOPE} and object_id = $3`,
);
const COUNT = statement(
  "count_backlog",
  `select count(*)::int4 as waiting, count(problem)::int4 as failing, min(noted_at) as "oldestAt",
     (select count(*)::int4 from connector_actions
      where ${SCOPE} and ended_at is null and coalesce(retry_at, due_at) <= $3) as "dueActions",
     (select count(*)::int4 from connector_actions
      where ${SCOPE} and ended_at is null and problem is not null) as "failingActions",
     (select count(*)::int4 from connector_events where ${SCOPE} and problem is not null) as "failingEvents",
     (select count(*)::int4 from connector_invoices
      where ${SCOPE} and ended_at < $4 and released_at is null) as "failingReleases"
   from connector_hints where ${SCOPE}`,
);
const READ_CURSOR = statement("read_cursor", `select value from connector_cursors where ${SCOPE} and name = $3`);
const WRITE_CURSOR = statement(
  "write_cursor",
  `insert into connector_cursors (merchant_id, connection, name, value) values ($1, $2, $3, $4)
   on conflict (merchant_id, connection, name) do update set value = excluded.value`,
);
const BEGIN_READ = statement(
  "begin_read",
  `insert into connector_cursors (merchant_id, connection, name, value) values ($1, $2, 'reads', '1')
   on conflict (merchant_id, connection, name) do update set value = (connector_cursors.value::int8 + 1)::text
   returning value::float8 as "readNo"`,
);
const VERSIONS = statement(
  "versions",
  `insert into connector_versions (merchant_id, connection, object_id, digest, version_at, read_no)
   select $1, $2, id, digest, at, $6 from unnest($3::text[], $4::text[], $5::timestamptz[]) as given (id, digest, at)
   on conflict (merchant_id, connection, object_id) do update set
     digest = excluded.digest,
     read_no = excluded.read_no,
     version_at = case when connector_versions.digest = excluded.digest then connector_versions.version_at
       else greatest(excluded.version_at, connector_versions.version_at + interval '1 millisecond') end
   where connector_versions.read_no <= excluded.read_no
   returning object_id as "objectId", version_at as "versionAt"`,
);
const KEEP_PAYMENTS = statement(
  "keep_payments",
  `insert into connector_payments (merchant_id, connection, payment_id, invoice_id, customer_id, subscription_id)
   select $1, $2, given.* from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as given
   on conflict (merchant_id, connection, payment_id) do nothing`,
);
const FIND_PAYMENTS = statement(
  "find_payments",
  `select payment_id as "paymentId", invoice_id as "invoiceId", customer_id as "customerId", subscription_id as "subscriptionId"
   from connector_payments where ${SCOPE} and payment_id = any($3::text[])`,
);
const FORGET_PAYMENTS = statement("forget_payments", `delete from connector_payments where ${SCOPE}`);
const PRUNE_EVENTS = statement(
  "prune_events",
  `delete from connector_events where ${SCOPE} and due_at is null and kept_at < $3`,
);
const PRUNE_ACTIONS = statement("prune_actions", `delete from connector_actions where ${SCOPE} and ended_at < $3`);
const PRUNE_INVOICES = statement(
  "prune_invoices",
  `delete from connector_invoices where ${SCOPE} and released_at < $3`,
);

export function createConnectorStore(db: KitTx, scope: Scope): ConnectorStore {
  const run = createScopedRun(db, scope);
  return {
    ...createActionLedger(run),
    events: createEventInbox(run),
    releaseEventClaims: (at) => releaseEventClaims(run, at),
    messages: createMessageLog(run),
    async hint(objectIds, at) {
      // In order, so that two statements never wait for each other.
      if (objectIds.length > 0) await run(HINT, [...new Set(objectIds)].sort(), at);
    },
    claimHints: async (limit, at, until) => (await run<Hint>(CLAIM_HINTS, at, limit, until)).rows,
    async endHint({ objectId, generation }, at) {
      if ((await run(END_HINT, objectId, generation)).rowCount === 0) await run(RENEW_HINT, objectId, at);
    },
    async failHint({ objectId }, dueAt, problem) {
      await run(FAIL_HINT, objectId, dueAt, problem);
    },
    countBacklog: async (at, lateBefore = new Date(at.getTime() - LATE_MS)) =>
      (await run<Backlog>(COUNT, at, lateBefore)).rows[0]!,
    readCursor: async (name) => (await run<{ value: string }>(READ_CURSOR, name)).rows[0]?.value ?? null,
    async writeCursor(name, value) {
      await run(WRITE_CURSOR, name, value);
    },
    beginRead: async () => (await run<{ readNo: number }>(BEGIN_READ)).rows[0]!.readNo,
    async versionsOf(contents, readNo) {
      if (contents.length === 0) return new Map();
      const sorted = contents.toSorted((a, b) => (a.objectId < b.objectId ? -1 : 1));
      const { rows } = await run<{ objectId: string; versionAt: Date }>(
        VERSIONS,
        sorted.map(({ objectId }) => objectId),
        sorted.map(({ digest }) => digest),
        sorted.map(({ at }) => at),
        readNo,
      );
      return new Map(rows.map(({ objectId, versionAt }) => [objectId, versionAt]));
    },
    async keepPayments(owners) {
      const column = (name: keyof PaymentOwner) => owners.map((owner) => owner[name]);
      const columns = (["paymentId", "invoiceId", "customerId", "subscriptionId"] as const).map(column);
      if (owners.length > 0) await run(KEEP_PAYMENTS, ...columns);
    },
    async findPayments(paymentIds) {
      if (paymentIds.length === 0) return new Map();
      const { rows } = await run<PaymentOwner>(FIND_PAYMENTS, paymentIds);
      return new Map(rows.map((owner) => [owner.paymentId, owner]));
    },
    async forgetPayments() {
      await run(FORGET_PAYMENTS);
    },
    async prune(before) {
      for (const pruning of [PRUNE_EVENTS, PRUNE_ACTIONS, PRUNE_INVOICES]) await run(pruning, before);
    },
  };
}
