// Creates one merchant's year inside the database.
import { type Connection, type Database, prepared } from "../../src/postgres/database.ts";
import { maintainDeliveryLogPartitions } from "../../src/tables/delivery-log.ts";
import { dropIndexes, LISTED } from "../list/fill-actions.ts";

export interface FillOptions {
  merchantId: string;
  actions: number;
  deliveries: number;
  until: Date;
}

const ACTIONS_PER_CASE = 4;
/** One per action, and a case's beginning and end. */
const EVENTS_PER_CASE = ACTIONS_PER_CASE + 2;
const CHUNK = 25_000;
const MONTHS = 13;

const run = (connection: Connection, sql: string, values: readonly unknown[] = []) =>
  connection.run(prepared("", sql), values);

// Ids begin with their time. Hashes make two fills of one size equal.
const idSql = (at: string, salt: string) =>
  `(lpad(to_hex((extract(epoch from ${at}) * 1000)::int8), 12, '0') || '7' || substr(md5(g || ${salt}), 1, 3) || '8' || substr(md5(g || ${salt}), 4, 15))::uuid`;
const randomSql = (salt: number) => `(hashint8(g + ${salt}) & 1048575) / 1048576.0::float8`;

const CASES = `
  create temporary table drawn as
  select g, at, ${idSql("at", "'case'")} as case_id, 'in_' || g as invoice_id, 'cus_' || (hashint8(g / 5) & 1048575) as customer_id,
    (array['EUR','USD','GBP','JPY','KWD'])[1 + floor(5 * ${randomSql(7)} ^ 2)::int4] as currency,
    (array['DE','US','GB','JP','KW'])[1 + floor(5 * ${randomSql(7)} ^ 2)::int4] as country,
    900 + floor(${randomSql(8)} * 9000)::int8 as amount,
    case when at + took < $2::timestamptz then at + took end as ended_at,
    case when luck < 0.6 then 'paid' when luck < 0.95 then 'window_over' else 'voided' end as end_reason, luck
  from (
    select g, $2::timestamptz - ($1::int8 - g) * (365 * 86400 / $1::float8) * interval '1 second' as at,
      interval '2 days' + ${randomSql(2)} * interval '24 days' as took, ${randomSql(3)} as luck
    from generate_series($3::int8, $4::int8) g
  ) made`;

const ROWS = [
  `insert into invoices (merchant_id, id, state, customer_id, subscription_id, amount, currency, created_at, updated_at)
   select $1, invoice_id, case when ended_at is null or end_reason = 'window_over' then 'UNPAID' when end_reason = 'paid' then 'PAID' else 'VOIDED' end,
     customer_id, 'sub_' || customer_id, amount, currency, at, coalesce(ended_at, at) from drawn`,
  `insert into cases (merchant_id, id, invoice_id, customer_id, subscription_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at, ended_at, end_reason, paid_at, recovered)
   select $1, case_id, invoice_id, customer_id, 'sub_' || customer_id, amount, currency, at, at + interval '28 days', 8, at, ended_at,
     case when ended_at is not null then end_reason end, case when ended_at is not null and end_reason = 'paid' then ended_at end,
     ended_at is not null and end_reason = 'paid' and luck < 0.5 from drawn`,
  `insert into recovery_actions (merchant_id, id, case_id, invoice_id, subscription_id, customer_id, payment_method_type, card_country, currency,
     type, status, action_suggestion, ideal_retry_time, reasons, decided_at, executed_at, attempted_at, created_at, updated_at)
   select $1, ${idSql("tried_at", "('a' || n)")}, case_id, invoice_id, 'sub_' || customer_id, customer_id, 'card', country, currency, 'RETRY', status, 'RETRY', tried_at,
     '["A payday is near: most of this customer''s payments went through in the first days of a month.", "Four of eight tries are left."]',
     case when status <> 'SCHEDULED' then tried_at end, case when status in ('SUCCEEDED', 'FAILED') then tried_at end,
     case when status in ('SUCCEEDED', 'FAILED') then tried_at end, tried_at, tried_at
   from (
     select *, at + n * (coalesce(ended_at, $2::timestamptz) - at) / ${ACTIONS_PER_CASE} as tried_at,
       case when n < ${ACTIONS_PER_CASE} then 'FAILED' when ended_at is null then 'SCHEDULED'
         when end_reason = 'paid' and luck < 0.5 then 'SUCCEEDED' when end_reason = 'paid' then 'CANCELED' else 'FAILED' end as status
     from drawn cross join generate_series(1, ${ACTIONS_PER_CASE}) n
   ) tried`,
  `create temporary table told as
   select g, n, case_id, invoice_id, at + n * (coalesce(ended_at, $1::timestamptz) - at) / ${EVENTS_PER_CASE} as at,
     ${idSql(`(at + n * (coalesce(ended_at, $1::timestamptz) - at) / ${EVENTS_PER_CASE})`, "('e' || n)")} as id,
     case n when 0 then 'pause_collection' when 5 then 'complete_dunning' else 'recovery_action' end as type,
     1 + floor((hashint8(g * 8 + n) & 1048575) / 1048576.0::float8 * $2::float8)::int4 as attempts, (hashint8(g * 8 + n + 5) & 1048575) < 100 as lost
   from drawn cross join generate_series(0, ${EVENTS_PER_CASE - 1}) n`,
  `insert into events (merchant_id, id, case_id, invoice_id, type, body, created_at, exhausted_at)
   select $1, id, case_id, invoice_id, type, '{"id":"' || id || '","type":"' || type || '","created":"' || at || '","data":{"invoiceId":"' || invoice_id || '"}}',
     at, case when lost then at + interval '2 hours' end from told`,
  `insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends, status)
   select $1, id, 1, number, at + number * interval '5 seconds', at + number * interval '5 seconds', 40,
     case when number = attempts then case when lost then 'exhausted' else 'delivered' end end, case when number = attempts and not lost then 200 else 503 end
   from told cross join lateral generate_series(1, attempts) number`,
  "drop table drawn, told",
];

/** @returns row counts by kind */
export async function fillConsole(
  db: Database,
  { merchantId, actions, deliveries, until }: FillOptions,
  say: (line: string) => void,
) {
  const [year, month] = [until.getUTCFullYear(), until.getUTCMonth()];
  for (let before = 0; before <= MONTHS; before++)
    await maintainDeliveryLogPartitions(db, new Date(Date.UTC(year, month - before, 1)), new Date(0));
  const cases = Math.ceil(actions / ACTIONS_PER_CASE);
  // One to this many attempts per event, uniformly.
  const attemptsTo = (2 * deliveries) / (cases * EVENTS_PER_CASE);
  const connection = await db.connect();
  try {
    for (const setting of ["maintenance_work_mem = '1GB'", "work_mem = '128MB'", "synchronous_commit = off"])
      await run(connection, `set ${setting}`);
    const later = await dropIndexes(connection);
    for (let from = 1; from <= cases; from += CHUNK) {
      const to = Math.min(cases, from + CHUNK - 1);
      await run(connection, CASES, [cases, until, from, to]);
      const [invoices, openCases, acted, told, events, attempts, drop] = ROWS as [
        string,
        string,
        string,
        string,
        string,
        string,
        string,
      ];
      await run(connection, invoices, [merchantId]);
      await run(connection, openCases, [merchantId]);
      await run(connection, acted, [merchantId, until]);
      await run(connection, told, [until, attemptsTo]);
      await run(connection, events, [merchantId]);
      await run(connection, attempts, [merchantId]);
      await run(connection, drop);
      say(`${(to * ACTIONS_PER_CASE).toLocaleString("en")} actions`);
    }
    for (const sql of [...later, ...LISTED]) await run(connection, sql);
    for (const table of [
      "invoices",
      "cases",
      "recovery_actions",
      "listed_actions",
      "events",
      "delivery_attempts",
      "action_counts",
      "executed_counts",
    ])
      await run(connection, `vacuum analyze ${table}`);
    const counted =
      "select (select count(*) from recovery_actions) as actions, (select count(*) from delivery_attempts) as deliveries, (select count(*) from events) as events";
    return (await connection.run<{ actions: number; deliveries: number; events: number }>(prepared("", counted)))
      .rows[0]!;
  } finally {
    await connection.close();
  }
}
