import { createHash } from "node:crypto";
import { type RunScoped, statement } from "./database.ts";

/** `sending`: it may have been sent, if the process died meanwhile. */
export type MessageState = "planned" | "sending" | "sent" | "skipped" | "failed";

export interface StoredMessage {
  id: string;
  invoiceId: string;
  customerId: string;
  /** 1 is the first mail about an invoice, the others are reminders. */
  number: number;
  dueAt: Date;
  state: MessageState;
  tries: number;
}

/** Mails to customers, without names and addresses. */
export interface MessageLog {
  plan(messages: readonly Pick<StoredMessage, "id" | "invoiceId" | "customerId" | "number" | "dueAt">[]): Promise<void>;
  /** Also those that another process may have been sending when it died. */
  due(limit: number, now: Date): Promise<StoredMessage[]>;
  /** Marks that a mail may be sent from now on. Returns false if another process has it. */
  begin(id: string, until: Date): Promise<boolean>;
  end(id: string, state: MessageState, now: Date, found?: { language?: string; problem?: string }): Promise<void>;
  /** Plans it again for later. */
  delay(id: string, dueAt: Date, problem: string | null): Promise<void>;
  dropPlans(invoiceId: string, now: Date, problem: string): Promise<void>;
  /** How many were planned for an invoice so far, sent or not. */
  countOf(invoiceId: string): Promise<number>;
  optOut(customerId: string, at: Date): Promise<void>;
  hasOptedOut(customerId: string): Promise<boolean>;
}

const SCOPE = "merchant_id = $1 and connection = $2";
const PLAN = statement(
  "plan_messages",
  `insert into connector_messages (merchant_id, connection, id, invoice_id, customer_id, number, due_at, state)
   select $1, $2, given.*, 'planned'
   from unnest($3::text[], $4::text[], $5::text[], $6::int4[], $7::timestamptz[]) as given on conflict do nothing`,
);
const DUE = statement(
  "due_messages",
  `select id, invoice_id as "invoiceId", customer_id as "customerId", number, due_at as "dueAt", state, tries
   from connector_messages where ${SCOPE} and ended_at is null and due_at <= $3 order by due_at limit $4`,
);
const BEGIN = statement(
  "begin_message",
  `update connector_messages set state = 'sending', tries = tries + 1, due_at = $4
   where ${SCOPE} and id = $3 and state = 'planned'`,
);
const END = statement(
  "end_message",
  `update connector_messages set state = $4, ended_at = $5, language = $6, problem = $7
   where ${SCOPE} and id = $3 and ended_at is null`,
);
const DELAY = statement(
  "delay_message",
  `update connector_messages set state = 'planned', due_at = $4, problem = $5 where ${SCOPE} and id = $3 and ended_at is null`,
);
const DROP = statement(
  "drop_messages",
  `update connector_messages set state = 'skipped', ended_at = $4, problem = $5
   where ${SCOPE} and invoice_id = $3 and state = 'planned'`,
);
const COUNT = statement(
  "count_messages",
  `select count(*)::int4 as count from connector_messages where ${SCOPE} and invoice_id = $3 and state <> 'skipped'`,
);
const OPT_OUT = statement(
  "opt_out",
  "insert into connector_opt_outs (merchant_id, connection, customer, at) values ($1, $2, $3, $4) on conflict do nothing",
);
const OPTED_OUT = statement("opted_out", `select 1 from connector_opt_outs where ${SCOPE} and customer = $3`);
/** The id itself would be a trace of an erased customer. */
const hashOf = (customerId: string) => createHash("sha256").update(customerId).digest("hex");

export const createMessageLog = (run: RunScoped): MessageLog => ({
  async plan(messages) {
    const column = (name: "id" | "invoiceId" | "customerId" | "number" | "dueAt") => messages.map((each) => each[name]);
    const columns = (["id", "invoiceId", "customerId", "number", "dueAt"] as const).map(column);
    if (messages.length > 0) await run(PLAN, ...columns);
  },
  due: async (limit, at) => (await run<StoredMessage>(DUE, at, limit)).rows,
  begin: async (id, until) => (await run(BEGIN, id, until)).rowCount === 1,
  async end(id, state, at, { language, problem } = {}) {
    await run(END, id, state, at, language ?? null, problem ?? null);
  },
  async delay(id, dueAt, problem) {
    await run(DELAY, id, dueAt, problem);
  },
  async dropPlans(invoiceId, at, problem) {
    await run(DROP, invoiceId, at, problem);
  },
  countOf: async (invoiceId) => (await run<{ count: number }>(COUNT, invoiceId)).rows[0]!.count,
  async optOut(customerId, at) {
    await run(OPT_OUT, hashOf(customerId), at);
  },
  hasOptedOut: async (customerId) => (await run(OPTED_OUT, hashOf(customerId))).rowCount === 1,
});
