import { type Database, prepared } from "../../src/postgres/database.ts";

/** Merchants by number, from `first` to `last`, with so many invoices each. */
export interface MerchantRange {
  first: number;
  last: number;
  invoices: number;
  /** Whether no case has ended and no event was given up. */
  young?: boolean;
}

/** What the statement that writes an action writes besides. Older schemas lack it. */
export const LIST_ACTIONS = prepared(
  "test_list_actions",
  `insert into listed_actions (merchant_id, facets, created_at, id, updated_at, executed_at, amount_due)
   select merchant_id, facets, created_at, id, updated_at, executed_at, amount_due from recovery_actions r
   where not exists (select from listed_actions l where l.merchant_id = r.merchant_id and l.id = r.id)`,
);

/** Fills each invoice with its attempt, case, event and action, so that the planner has a choice. All ids are unique. */
export async function fillMerchants(db: Database, { first, last, invoices, young = false }: MerchantRange) {
  const id = (kind: number, part: string) =>
    `('0190' || lpad(to_hex(${kind}), 4, '0') || '-' || lpad(to_hex(m), 4, '0') || '-7000-8000-' || lpad(to_hex(${part}), 12, '0'))::uuid`;
  const from = `from generate_series(${first}, ${last}) m, generate_series(1, ${invoices}) n`;
  const at = "'2026-03-01'::timestamptz + n * interval '1 minute'";
  const name = (prefix: string) => `'${prefix}' || m || '-' || n`;
  const merchant = id(0, "0");
  const each = (nth: number, value: string) => (young ? "null" : `case when n % ${nth} = 0 then ${value} end`);
  for (const sql of [
    `insert into merchants (id, name, bucket, created_at, updated_at)
     select distinct on (m) ${merchant}, 'm', m % 64, ${at}, ${at} ${from}`,
    `insert into subscriptions (merchant_id, id, state, customer_id, plan_id, amount, currency, billing_period, billing_period_unit, created_at, updated_at)
     select ${merchant}, ${name("s")}, 'ACTIVE', ${name("c")}, 'p', 1, 'EUR', 1, 'MONTH', ${at}, ${at} ${from}`,
    `insert into invoices (merchant_id, id, state, customer_id, subscription_id, amount, currency, created_at, updated_at)
     select ${merchant}, ${name("i")}, 'UNPAID', ${name("c")}, ${name("s")}, 1, 'EUR', ${at}, ${at} ${from}`,
    `insert into transactions (merchant_id, id, state, invoice_id, customer_id, card_fingerprint, payment_method_id, card_issuer, amount, currency, created_at, updated_at)
     select ${merchant}, ${name("t")}, 'FAILED', ${name("i")}, ${name("c")}, ${name("f")}, ${name("p")}, 'b' || n % 7, 1, 'EUR', ${at}, ${at} ${from}`,
    `insert into cases (merchant_id, id, invoice_id, customer_id, subscription_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at,
       ended_at, end_reason)
     select ${merchant}, ${id(1, "n")}, ${name("i")}, ${name("c")}, ${name("s")}, 1, 'EUR', ${at}, ${at} + interval '28 days', 8, ${at},
       ${each(2, at)}, ${each(2, "'window_over'")} ${from}`,
    `insert into case_pokes (merchant_id, id, part, case_ids) select ${merchant}, ${id(2, "n")}, 0, array[${id(1, "n")}] ${from}`,
    `insert into due_cases (merchant_id, case_id, due_at) select ${merchant}, ${id(1, "n")}, ${at} ${from}`,
    `insert into events (merchant_id, id, case_id, invoice_id, type, body, created_at, exhausted_at)
     select ${merchant}, ${id(3, "n")}, ${id(1, "n")}, ${name("i")}, 'recovery_action', '{}', ${at}, ${each(5, at)} ${from}`,
    `insert into deliveries (merchant_id, event_id, attempts_max, due_at) select ${merchant}, ${id(3, "n")}, 7, ${at} ${from}`,
    `insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends)
     select ${merchant}, ${id(3, "n")}, 1, 1, ${at}, ${at}, 1, 'delivered' ${from}`,
    `insert into recovery_actions (merchant_id, id, case_id, invoice_id, customer_id, currency, type, status, action_suggestion, ideal_retry_time, reasons,
       decided_at, executed_at, created_at, updated_at)
     select ${merchant}, ${id(3, "n")}, ${id(1, "n")}, ${name("i")}, ${name("c")}, 'EUR', 'RETRY', 'SUCCEEDED', 'RETRY', ${at}, '[]', ${at}, ${at}, ${at}, ${at} ${from}`,
    `insert into watched_retries (merchant_id, transaction_id, id, case_id, noted_at)
     select ${merchant}, ${name("t")}, ${id(4, "n")}, ${id(1, "n")}, ${at} ${from}`,
  ])
    await db.run(prepared("", sql));
}
