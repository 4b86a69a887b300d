import { type RunScoped, statement } from "./database.ts";

/**
 * How far an action has come:
 *
 * - `planned`: it waits for its time
 * - `charging`: a charge may have been made; it is asked for again under the same key until its outcome is known
 * - `charged`, `declined`: the provider said so
 * - `asked`: the customer is asked for another card
 * - `skipped`: nothing was charged, for the reason in `problem`
 */
export type ActionState = "planned" | "charging" | "charged" | "declined" | "skipped" | "asked";

export interface StoredAction {
  id: string;
  invoiceId: string;
  suggestion: string;
  /** When the retry is best made; attempts to carry it out may follow later. */
  dueAt: Date;
  state: ActionState;
  chargeId: string | null;
  begunAt: Date | null;
  tries: number;
  /** Why it was skipped, declined or put off. */
  problem: string | null;
}

export interface Ownership {
  since: Date;
  /** Null while Dunlin handles the invoice. */
  until: Date | null;
}

/** Which action led to which charge, and which invoices Dunlin handles. */
export interface ActionLedger {
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
  delayAction(actionId: string, retryAt: Date, problem: string): Promise<void>;
  /** Whether an action of the invoice with a later time has come. */
  isReplaced(action: Pick<StoredAction, "id" | "invoiceId" | "dueAt">): Promise<boolean>;
  /** Ends planned actions of an invoice without a charge. */
  dropPlans(invoiceId: string, now: Date, problem: string): Promise<void>;
  /** The actions that made charges, by charge. */
  actionsOfCharges(chargeIds: readonly string[]): Promise<Map<string, string>>;
  /** Whether the outcome of a charge is awaited. */
  isCharging(invoiceId: string): Promise<boolean>;
  actionsOfInvoice(invoiceId: string): Promise<StoredAction[]>;

  /** Notes that Dunlin handles an invoice. `at`: of the event that says so; an older one changes nothing. */
  own(invoiceId: string, at: Date): Promise<void>;
  /**
   * Notes that Dunlin no longer handles an invoice.
   *
   * @returns whether the invoice has to be released. False if that was done, or if Dunlin handles the invoice again.
   */
  disown(invoiceId: string, at: Date): Promise<boolean>;
  /** Notes that the provider's side of an invoice was left as the merchant chose. */
  endRelease(invoiceId: string, now: Date): Promise<void>;
  /** Claims invoices that Dunlin no longer handles, that are not released, and that were not claimed since a time. */
  claimUnreleased(limit: number, before: Date, now: Date): Promise<string[]>;
  /** Claims invoices that Dunlin handles and that were not checked since a time. */
  claimUnchecked(limit: number, before: Date, now: Date): Promise<string[]>;
  /** Has an invoice claimed again soon. */
  recheck(invoiceId: string): Promise<void>;
  isOwned(invoiceId: string): Promise<boolean>;
  /** By invoice, the latest time in which Dunlin handled it. */
  ownershipOf(invoiceIds: readonly string[]): Promise<Map<string, Ownership>>;
  setCustomer(invoiceId: string, customerId: string): Promise<void>;
  ownedInvoicesOf(customerId: string): Promise<string[]>;
  /** Includes invoices that are not given back yet. */
  listOwned(limit: number): Promise<string[]>;
}

const SCOPE = "merchant_id = $1 and connection = $2";
const PLAN = statement(
  "plan_action",
  `insert into connector_actions (merchant_id, connection, id, invoice_id, suggestion, due_at, state)
   values ($1, $2, $3, $4, $5, $6, 'planned') on conflict do nothing`,
);
const ACTION = `id, invoice_id as "invoiceId", suggestion, due_at as "dueAt", state, charge_id as "chargeId",
  begun_at as "begunAt", tries, problem`;
const DUE = statement(
  "due_actions",
  `select ${ACTION} from connector_actions where ${SCOPE} and ended_at is null and coalesce(retry_at, due_at) <= $3
   order by coalesce(retry_at, due_at) limit $4`,
);
const BEGIN = statement(
  "begin_charge",
  `update connector_actions set state = 'charging', begun_at = coalesce(begun_at, $4), tries = tries + 1
   where ${SCOPE} and id = $3 and ended_at is null`,
);
const END = statement(
  "end_action",
  `update connector_actions set state = $4, ended_at = $5, charge_id = coalesce($6, charge_id), problem = $7
   where ${SCOPE} and id = $3 and ended_at is null`,
);
const DELAY = statement(
  "delay_action",
  `update connector_actions set retry_at = $4, problem = $5 where ${SCOPE} and id = $3 and ended_at is null`,
);
const REPLACED = statement(
  "is_replaced",
  `select 1 from connector_actions where ${SCOPE} and invoice_id = $3 and id <> $4 and due_at > $5 limit 1`,
);
const DROP = statement(
  "drop_plans",
  `update connector_actions set state = 'skipped', ended_at = $4, problem = $5
   where ${SCOPE} and invoice_id = $3 and state = 'planned'`,
);
const OF_CHARGES = statement(
  "actions_of_charges",
  `select charge_id as "chargeId", id from connector_actions where ${SCOPE} and charge_id = any($3::text[])`,
);
const OF_INVOICE = statement(
  "actions_of_invoice",
  `select ${ACTION} from connector_actions where ${SCOPE} and invoice_id = $3 order by due_at, id`,
);
const CHARGING = statement(
  "is_charging",
  `select 1 from connector_actions where ${SCOPE} and invoice_id = $3 and state = 'charging' limit 1`,
);
const OWN = statement(
  "own",
  `insert into connector_invoices (merchant_id, connection, invoice_id, since) values ($1, $2, $3, $4)
   on conflict (merchant_id, connection, invoice_id) do update set
     since = excluded.since, ended_at = null, released_at = null
   where connector_invoices.since < excluded.since
     and coalesce(connector_invoices.ended_at, '-infinity') < excluded.since`,
);
// Events may arrive out of order: the row of an end makes a start that is dated before it change nothing.
const DISOWN = statement(
  "disown",
  `insert into connector_invoices (merchant_id, connection, invoice_id, since, ended_at) values ($1, $2, $3, $4, $4)
   on conflict (merchant_id, connection, invoice_id) do update set ended_at = greatest(connector_invoices.ended_at, $4)
   where connector_invoices.since <= $4 and connector_invoices.released_at is null`,
);
const RELEASED = statement(
  "end_release",
  `update connector_invoices set released_at = $4 where ${SCOPE} and invoice_id = $3 and ended_at is not null`,
);
/** Of an erased customer, nothing is kept once the invoice is given back. */
const FORGET = statement(
  "forget_erased",
  `delete from connector_invoices where ${SCOPE} and invoice_id = $3 and released_at is not null and customer_id = 'erased'`,
);
const CLAIM_UNRELEASED = statement(
  "claim_unreleased",
  `update connector_invoices set checked_at = $5
   where ${SCOPE} and invoice_id in (
     select invoice_id from connector_invoices
     where ${SCOPE} and ended_at is not null and released_at is null and coalesce(checked_at, '-infinity') < $4
     order by coalesce(checked_at, '-infinity'), ended_at limit $3)
   returning invoice_id as id`,
);
const RECHECK = statement(
  "recheck",
  `update connector_invoices set checked_at = null where ${SCOPE} and invoice_id = $3`,
);
const CLAIM_UNCHECKED = statement(
  "claim_unchecked",
  `update connector_invoices set checked_at = $5
   where ${SCOPE} and invoice_id in (
     select invoice_id from connector_invoices
     where ${SCOPE} and ended_at is null and coalesce(checked_at, since) < $4 order by coalesce(checked_at, since) limit $3)
   returning invoice_id as id`,
);
const OWNED = statement(
  "is_owned",
  `select 1 from connector_invoices where ${SCOPE} and invoice_id = $3 and ended_at is null`,
);
const OWNERSHIP = statement(
  "ownership",
  `select invoice_id as id, since, ended_at as until from connector_invoices where ${SCOPE} and invoice_id = any($3::text[])`,
);
const SET_CUSTOMER = statement(
  "set_customer",
  `update connector_invoices set customer_id = $4 where ${SCOPE} and invoice_id = $3 and customer_id is distinct from $4`,
);
const OWNED_OF = statement(
  "owned_invoices_of_customer",
  `select invoice_id as id from connector_invoices where ${SCOPE} and customer_id = $3 and ended_at is null`,
);
const LIST_OWNED = statement(
  "owned_invoices",
  `select invoice_id as id from connector_invoices where ${SCOPE} and released_at is null order by since limit $3`,
);

export function createActionLedger(run: RunScoped): ActionLedger {
  const ids = async (...given: Parameters<RunScoped>) => (await run<{ id: string }>(...given)).rows.map(({ id }) => id);
  return {
    async planAction({ id, invoiceId, suggestion, dueAt }) {
      await run(PLAN, id, invoiceId, suggestion, dueAt);
    },
    dueActions: async (limit, at) => (await run<StoredAction>(DUE, at, limit)).rows,
    beginCharge: async (actionId, at) => (await run(BEGIN, actionId, at)).rowCount === 1,
    async endAction(actionId, state, at, { chargeId, problem } = {}) {
      await run(END, actionId, state, at, chargeId ?? null, problem ?? null);
    },
    async delayAction(actionId, retryAt, problem) {
      await run(DELAY, actionId, retryAt, problem);
    },
    isReplaced: async ({ id, invoiceId, dueAt }) => (await run(REPLACED, invoiceId, id, dueAt)).rowCount === 1,
    async dropPlans(invoiceId, at, problem) {
      await run(DROP, invoiceId, at, problem);
    },
    async actionsOfCharges(chargeIds) {
      if (chargeIds.length === 0) return new Map();
      const { rows } = await run<{ chargeId: string; id: string }>(OF_CHARGES, chargeIds);
      return new Map(rows.map(({ chargeId, id }) => [chargeId, id]));
    },
    actionsOfInvoice: async (invoiceId) => (await run<StoredAction>(OF_INVOICE, invoiceId)).rows,
    isCharging: async (invoiceId) => (await run(CHARGING, invoiceId)).rowCount === 1,
    async own(invoiceId, at) {
      await run(OWN, invoiceId, at);
    },
    disown: async (invoiceId, at) => (await run(DISOWN, invoiceId, at)).rowCount === 1,
    async endRelease(invoiceId, at) {
      await run(RELEASED, invoiceId, at);
      await run(FORGET, invoiceId);
    },
    claimUnreleased: (limit, before, at) => ids(CLAIM_UNRELEASED, limit, before, at),
    async recheck(invoiceId) {
      await run(RECHECK, invoiceId);
    },
    claimUnchecked: (limit, before, at) => ids(CLAIM_UNCHECKED, limit, before, at),
    isOwned: async (invoiceId) => (await run(OWNED, invoiceId)).rowCount === 1,
    async ownershipOf(invoiceIds) {
      if (invoiceIds.length === 0) return new Map();
      const { rows } = await run<Ownership & { id: string }>(OWNERSHIP, invoiceIds);
      return new Map(rows.map(({ id, ...ownership }) => [id, ownership]));
    },
    async setCustomer(invoiceId, customerId) {
      await run(SET_CUSTOMER, invoiceId, customerId);
    },
    ownedInvoicesOf: (customerId) => ids(OWNED_OF, customerId),
    listOwned: (limit) => ids(LIST_OWNED, limit),
  };
}
