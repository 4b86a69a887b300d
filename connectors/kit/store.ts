import type { ClaimedEvent, EventStore, WebhookEvent } from "#sdk";
import { type KitTx, statement } from "./database.ts";

/** An object to fetch from the provider again. */
export interface Hint {
  objectId: string;
  /** Rises with each new hint, so that one that arrives meanwhile is not lost. */
  generation: number;
  tries: number;
}

/**
 * How far an action has come:
 *
 * - `planned`: it waits for its time
 * - `charging`: a charge may have been made; it is asked for again under the same key until its outcome is known
 * - `charged`, `declined`: the provider said so
 * - `skipped`: nothing was charged, for the reason in `problem`
 */
export type ActionState = "planned" | "charging" | "charged" | "declined" | "skipped";

export interface StoredAction {
  id: string;
  invoiceId: string;
  suggestion: string;
  dueAt: Date;
  state: ActionState;
  chargeId: string | null;
  begunAt: Date | null;
  tries: number;
  /** Why it was skipped, declined or put off. */
  problem: string | null;
}

export interface ConnectorStore {
  /** Notes that objects changed. */
  hint(objectIds: readonly string[], at: Date): Promise<void>;
  /** Claims due hints; in case of a crash they are due again at `until`. */
  claimHints(limit: number, now: Date, until: Date): Promise<Hint[]>;
  /** Forgets a hint, unless a newer one has arrived. */
  endHint(hint: Hint, now: Date): Promise<void>;
  failHint(hint: Hint, dueAt: Date, problem: string): Promise<void>;
  countHints(): Promise<{ waiting: number; failing: number }>;

  readCursor(name: string): Promise<string | null>;
  writeCursor(name: string, value: string): Promise<void>;

  /**
   * Returns the version of an object: strictly later for each change, the same for the same content.
   *
   * @param digest  of the content
   * @param at  when the content came about, by the provider
   */
  versionOf(objectId: string, digest: string, at: Date): Promise<Date>;

  /** For the receiver of Dunlin's webhooks. */
  events: EventStore;

  planAction(action: Pick<StoredAction, "id" | "invoiceId" | "suggestion" | "dueAt">): Promise<void>;
  dueActions(limit: number, now: Date): Promise<StoredAction[]>;
  /** Marks that a charge may be made from now on. Returns false if the action has ended. */
  beginCharge(actionId: string, now: Date): Promise<boolean>;
  endAction(
    actionId: string,
    state: ActionState,
    now: Date,
    found?: { chargeId?: string; problem?: string },
  ): Promise<void>;
  /** Tries again later. */
  delayAction(actionId: string, dueAt: Date, problem: string): Promise<void>;
  /** Ends planned actions of an invoice without a charge. */
  dropPlans(invoiceId: string, now: Date, problem: string): Promise<void>;
  /** The actions that made charges, by charge. */
  actionsOfCharges(chargeIds: readonly string[]): Promise<Map<string, string>>;
  actionsOfInvoice(invoiceId: string): Promise<StoredAction[]>;

  /** Notes that Dunlin handles an invoice. `at`: of the event that says so; an older one changes nothing. */
  own(invoiceId: string, at: Date): Promise<void>;
  /** Returns false if a newer event says that Dunlin handles it again, or if it never did. */
  disown(invoiceId: string, at: Date): Promise<boolean>;
  isOwned(invoiceId: string): Promise<boolean>;
}

const HINT = statement(
  "hint",
  `insert into connectors.hints (connection, object_id, due_at) select $1, id, $3 from unnest($2::text[]) as given (id)
   on conflict (connection, object_id) do update set
     generation = hints.generation + 1, due_at = least(hints.due_at, excluded.due_at)`,
);
const CLAIM_HINTS = statement(
  "claim_hints",
  `update connectors.hints set due_at = $4, tries = tries + 1
   where connection = $1 and object_id in (
     select object_id from connectors.hints where connection = $1 and due_at <= $2 order by due_at limit $3
     for update skip locked)
   returning object_id as "objectId", generation::int4 as generation, tries`,
);
const END_HINT = statement(
  "end_hint",
  "delete from connectors.hints where connection = $1 and object_id = $2 and generation = $3",
);
const RENEW_HINT = statement(
  "renew_hint",
  "update connectors.hints set due_at = $3, tries = 0, problem = null where connection = $1 and object_id = $2",
);
const FAIL_HINT = statement(
  "fail_hint",
  "update connectors.hints set due_at = $3, problem = $4 where connection = $1 and object_id = $2",
);
const COUNT_HINTS = statement(
  "count_hints",
  `select count(*)::int4 as waiting, count(problem)::int4 as failing from connectors.hints where connection = $1`,
);
const READ_CURSOR = statement(
  "read_cursor",
  "select value from connectors.cursors where connection = $1 and name = $2",
);
const WRITE_CURSOR = statement(
  "write_cursor",
  `insert into connectors.cursors (connection, name, value) values ($1, $2, $3)
   on conflict (connection, name) do update set value = excluded.value`,
);
const VERSION = statement(
  "version",
  `insert into connectors.versions (connection, object_id, digest, version_at) values ($1, $2, $3, $4)
   on conflict (connection, object_id) do update set
     digest = excluded.digest,
     version_at = case when versions.digest = excluded.digest then versions.version_at
       else greatest(excluded.version_at, versions.version_at + interval '1 millisecond') end
   returning version_at as "versionAt"`,
);
const KEEP_EVENT = statement(
  "keep_event",
  `insert into connectors.events (connection, id, event, due_at) values ($1, $2, $3, $4) on conflict do nothing`,
);
const CLAIM_EVENTS = statement(
  "claim_events",
  `update connectors.events set due_at = $4, tries = tries + 1
   where connection = $1 and id in (
     select id from connectors.events where connection = $1 and due_at <= $2 order by due_at limit $3
     for update skip locked)
   returning event, tries`,
);
const END_EVENT = statement(
  "end_event",
  `update connectors.events set due_at = $4, problem = $5
   where connection = $1 and id = $2 and tries = $3 and due_at is not null`,
);
const PLAN = statement(
  "plan_action",
  `insert into connectors.actions (connection, id, invoice_id, suggestion, due_at, state)
   values ($1, $2, $3, $4, $5, 'planned') on conflict do nothing`,
);
const ACTION = `id, invoice_id as "invoiceId", suggestion, due_at as "dueAt", state, charge_id as "chargeId",
  begun_at as "begunAt", tries, problem`;
const DUE_ACTIONS = statement(
  "due_actions",
  `select ${ACTION} from connectors.actions where connection = $1 and ended_at is null and due_at <= $2
   order by due_at limit $3`,
);
const BEGIN = statement(
  "begin_charge",
  `update connectors.actions set state = 'charging', begun_at = coalesce(begun_at, $3), tries = tries + 1
   where connection = $1 and id = $2 and ended_at is null`,
);
const END_ACTION = statement(
  "end_action",
  `update connectors.actions set state = $3, ended_at = $4, charge_id = coalesce($5, charge_id), problem = $6
   where connection = $1 and id = $2 and ended_at is null`,
);
const DELAY = statement(
  "delay_action",
  "update connectors.actions set due_at = $3, problem = $4 where connection = $1 and id = $2 and ended_at is null",
);
const DROP = statement(
  "drop_plans",
  `update connectors.actions set state = 'skipped', ended_at = $3, problem = $4
   where connection = $1 and invoice_id = $2 and state = 'planned'`,
);
const OF_CHARGES = statement(
  "actions_of_charges",
  `select charge_id as "chargeId", id from connectors.actions where connection = $1 and charge_id = any($2::text[])`,
);
const OF_INVOICE = statement(
  "actions_of_invoice",
  `select ${ACTION} from connectors.actions where connection = $1 and invoice_id = $2 order by due_at, id`,
);
const OWN = statement(
  "own",
  `insert into connectors.owned (connection, invoice_id, since) values ($1, $2, $3)
   on conflict (connection, invoice_id) do update set since = excluded.since, ended_at = null
   where owned.since < excluded.since and coalesce(owned.ended_at, '-infinity') < excluded.since`,
);
const DISOWN = statement(
  "disown",
  `update connectors.owned set ended_at = $3
   where connection = $1 and invoice_id = $2 and since <= $3 and coalesce(ended_at, '-infinity') < $3`,
);
const OWNED = statement(
  "is_owned",
  "select 1 from connectors.owned where connection = $1 and invoice_id = $2 and ended_at is null",
);

/** @param connection  the name of the connected account, which all rows carry */
export function createConnectorStore(db: KitTx, connection: string): ConnectorStore {
  const run = <Row>(named: ReturnType<typeof statement>, ...values: unknown[]) =>
    db.run<Row>(named, [connection, ...values]);
  return {
    async hint(objectIds, at) {
      if (objectIds.length > 0) await run(HINT, [...new Set(objectIds)].sort(), at);
    },
    claimHints: async (limit, at, until) => (await run<Hint>(CLAIM_HINTS, at, limit, until)).rows,
    async endHint({ objectId, generation }, at) {
      if ((await run(END_HINT, objectId, generation)).rowCount === 0) await run(RENEW_HINT, objectId, at);
    },
    async failHint({ objectId }, dueAt, problem) {
      await run(FAIL_HINT, objectId, dueAt, problem);
    },
    countHints: async () => (await run<{ waiting: number; failing: number }>(COUNT_HINTS)).rows[0]!,
    readCursor: async (name) => (await run<{ value: string }>(READ_CURSOR, name)).rows[0]?.value ?? null,
    async writeCursor(name, value) {
      await run(WRITE_CURSOR, name, value);
    },
    versionOf: async (objectId, digest, at) =>
      (await run<{ versionAt: Date }>(VERSION, objectId, digest, at)).rows[0]!.versionAt,
    events: createEventStore(db, connection),
    async planAction({ id, invoiceId, suggestion, dueAt }) {
      await run(PLAN, id, invoiceId, suggestion, dueAt);
    },
    dueActions: async (limit, at) => (await run<StoredAction>(DUE_ACTIONS, at, limit)).rows,
    beginCharge: async (actionId, at) => (await run(BEGIN, actionId, at)).rowCount === 1,
    async endAction(actionId, state, at, { chargeId, problem } = {}) {
      await run(END_ACTION, actionId, state, at, chargeId ?? null, problem ?? null);
    },
    async delayAction(actionId, dueAt, problem) {
      await run(DELAY, actionId, dueAt, problem);
    },
    async dropPlans(invoiceId, at, problem) {
      await run(DROP, invoiceId, at, problem);
    },
    async actionsOfCharges(chargeIds) {
      if (chargeIds.length === 0) return new Map();
      const { rows } = await run<{ chargeId: string; id: string }>(OF_CHARGES, chargeIds);
      return new Map(rows.map(({ chargeId, id }) => [chargeId, id]));
    },
    actionsOfInvoice: async (invoiceId) => (await run<StoredAction>(OF_INVOICE, invoiceId)).rows,
    async own(invoiceId, at) {
      await run(OWN, invoiceId, at);
    },
    disown: async (invoiceId, at) => (await run(DISOWN, invoiceId, at)).rowCount === 1,
    isOwned: async (invoiceId) => (await run(OWNED, invoiceId)).rowCount === 1,
  };
}

const GAVE_UP = "The last attempt to handle it failed.";

function createEventStore(db: KitTx, connection: string): EventStore {
  const end = ({ event, tries }: ClaimedEvent, dueAt: Date | null, problem: string | null) =>
    db.run(END_EVENT, [connection, event.id, tries, dueAt, problem]);
  return {
    keep: async (event, at) =>
      (await db.run(KEEP_EVENT, [connection, event.id, JSON.stringify(event), at])).rowCount === 1,
    async claim(limit, at, until) {
      const values = [connection, at, limit, until];
      return (await db.run<{ event: WebhookEvent; tries: number }>(CLAIM_EVENTS, values)).rows;
    },
    // Everything that handlers do may be done twice, so the event ends after them.
    async finish(claimed, work) {
      await work(undefined);
      await end(claimed, null, null);
    },
    async postpone(claimed, dueAt) {
      await end(claimed, dueAt, dueAt === null ? GAVE_UP : null);
    },
  };
}
