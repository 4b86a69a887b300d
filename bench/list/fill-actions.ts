// Creates millions of recovery actions inside the database.
import { type Connection, type Database, prepared } from "../../src/postgres/database.ts";

/** A year of retries, most of them settled, in thirty countries, one with a third of them. */
export interface FillOptions {
  merchantId: string;
  actions: number;
  until: Date;
}

const YEAR_SECONDS = 365 * 86_400;
const CHUNK = 500_000;
const WRITERS = 2;

const run = (connection: Connection, sql: string, values: readonly unknown[] = []) =>
  connection.run(prepared("", sql), values);

/** From common to rare. */
const COUNTRIES =
  "US:USD DE:EUR FR:EUR GB:GBP ES:EUR IT:EUR NL:EUR PL:PLN SE:SEK AT:EUR BE:EUR CH:CHF DK:DKK NO:NOK FI:EUR PT:EUR IE:EUR CZ:CZK HU:HUF RO:RON CA:CAD AU:AUD NZ:NZD JP:JPY BR:BRL MX:MXN SG:SGD IN:INR ZA:ZAR IS:ISK".split(
    " ",
  );

const caseIdSql = (invoice: string) => `('0190' || lpad(to_hex(${invoice}), 12, '0') || '7000800000000000')::uuid`;

/** One for each invoice of four actions. */
const CASES = `
  insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at, ended_at, end_reason)
  select $1::uuid, ${caseIdSql("n")}, 'in_' || n, 'cus_' || n / 5, 4900, 'EUR', $3::timestamptz - interval '30 days', $3, 8,
    $3::timestamptz - interval '30 days', $3, 'window_over'
  from generate_series(0, $2::int8 / 4) n`;

/** Of one action in a hundred, among them the one that is looked for. */
const TRANSACTIONS = `
  insert into transactions (merchant_id, id, state, invoice_id, amount, currency, created_at, updated_at)
  select $1::uuid, 'tx_' || n, 'PAID', 'in_' || n / 4, 4900, 'EUR', $3, $3
  from generate_series($2::int8 / 3 % 100, $2::int8, 100) n`;

// Hashes make two fills of one size equal.
const INSERT = `
  insert into recovery_actions (merchant_id, id, case_id, invoice_id, subscription_id, customer_id, transaction_id, payment_method_type, card_country,
    currency, type, status, action_suggestion, ideal_retry_time, reasons, decided_at, executed_at, attempted_at, created_at, updated_at)
  select $1::uuid, id, ${caseIdSql("g / 4")}, 'in_' || g / 4, 'sub_' || customer, 'cus_' || customer, case when executed then 'tx_' || g end,
    case when executed then 'card' end, split_part(place, ':', 1), split_part(place, ':', 2),
    type, status, case type when 'RETRY' then 'RETRY' else 'CARD_CHANGE' end, settled_at,
    '["A payday is near: most of this customer''s payments went through in the first days of a month.", "Four of eight tries are left."]',
    case when status = 'SCHEDULED' then null else created_at end, case when executed then settled_at end, case when executed then settled_at end,
    created_at, case when executed and late < 0.01 then settled_at + interval '1 day' when status = 'SCHEDULED' then created_at else settled_at end
  from (
    select *, status in ('SUCCEEDED', 'FAILED') as executed,
      created_at + interval '1 hour' + late ^ 6 * interval '35 days' as settled_at
    from (
      select g, late, id, created_at, place, customer, type,
        case
          when $3::timestamptz - created_at < interval '2 days' then case when luck < 0.7 then 'SCHEDULED' else 'SENT' end
          when luck < 0.0005 then 'DELIVERY_FAILED' when luck < 0.08 then 'EXPIRED' when luck < 0.18 then 'CANCELED'
          when type = 'CARD_CHANGE' or luck < 0.55 then 'SUCCEEDED' else 'FAILED' end as status
      from (
        select g, created_at, luck, late, customer,
          (lpad(to_hex((extract(epoch from created_at) * 1000)::int8), 12, '0') || '7' || substr(mixed, 1, 3) || '8' || substr(mixed, 4, 15))::uuid as id,
          ($6::text[])[1 + floor(cardinality($6::text[]) * rank ^ 4)::int4] as place,
          case when kind < 0.05 then 'CARD_CHANGE' else 'RETRY' end as type
        from (
          select g, md5(g::text) as mixed, $3::timestamptz - ($2::int8 - g) * ($4::float8 / $2::int8) * interval '1 second' as created_at,
            (hashint8(g) & 1048575) / 1048576.0::float8 as luck, (hashint8(g + 1000000007) & 1048575) / 1048576.0::float8 as late,
            (hashint8(g + 2000000011) & 1048575) / 1048576.0::float8 as rank, (hashint8(g + 3000000019) & 1048575) / 1048576.0::float8 as kind,
            (hashint8(g / 20) & 2147483647) % greatest($2::int8 / 20, 1) as customer
          from generate_series($5::int8, least($5::int8 + ${CHUNK} - 1, $2::int8)) g
        ) drawn
      ) placed
    ) typed
  ) settled`;

/** What the statement that writes an action keeps for lists. */
export const LISTED = [
  `insert into listed_actions (merchant_id, facets, created_at, id, updated_at, executed_at, amount_due)
   select merchant_id, facets, created_at, id, updated_at, executed_at, amount_due from recovery_actions`,
  "insert into action_counts select merchant_id, facets, count(*) from recovery_actions group by 1, 2",
  ...[
    ["month", "date_trunc('month', executed_at, 'UTC')"],
    ["day", "date_trunc('day', executed_at, 'UTC')"],
    ["3h", "date_bin('3 hours', executed_at, 'epoch')"],
  ].map(
    ([span, start]) => `insert into executed_counts select merchant_id, '${span}', ${start}, facets, count(*)
   from recovery_actions where executed_at is not null group by 1, 3, 4`,
  ),
];

export async function fillActions(
  db: Database,
  { merchantId, actions, until }: FillOptions,
  say: (line: string) => void,
) {
  const connections = await Promise.all(Array.from({ length: WRITERS }, () => db.connect()));
  try {
    for (const connection of connections)
      for (const setting of ["maintenance_work_mem = '1GB'", "work_mem = '256MB'", "synchronous_commit = off"])
        await run(connection, `set ${setting}`);
    const [first] = connections as [Connection, ...Connection[]];
    const later = await dropIndexes(first);
    const values = [merchantId, actions, until, YEAR_SECONDS];
    let done = 0;
    let next = 1;
    await Promise.all(
      connections.map(async (connection) => {
        while (next <= actions) {
          const from = next;
          next += CHUNK;
          await run(connection, INSERT, [...values, from, COUNTRIES]);
          done += CHUNK;
          say(`${Math.min(done, actions).toLocaleString("en")} actions`);
        }
      }),
    );
    for (const sql of [CASES, TRANSACTIONS]) await run(first, sql, [merchantId, actions, until]);
    for (const sql of [...LISTED, ...later]) {
      say(sql.slice(0, 100));
      await run(first, sql);
    }
    for (const table of [
      "cases",
      "transactions",
      "recovery_actions",
      "listed_actions",
      "action_counts",
      "executed_counts",
    ])
      await run(first, `vacuum analyze ${table}`);
  } finally {
    for (const connection of connections) await connection.close();
  }
}

const FILLED_TABLES = ["recovery_actions", "listed_actions"];

/**
 * Also makes the tables unlogged, for a fill that is many times faster.
 *
 * @returns the statements that restore them, except the key to the cases, because there are none
 */
export async function dropIndexes(connection: Connection): Promise<string[]> {
  const { rows } = await connection.run<{ drop: string; create: string | null }>(
    prepared(
      "",
      `select format('alter table %s drop constraint %s', conrelid::regclass, conname) as drop,
         case contype when 'p' then format('alter table %s add %s', conrelid::regclass, pg_get_constraintdef(oid)) end as create
       from pg_constraint where conrelid = any($1::regclass[]) and contype in ('p', 'f')
       union all
       select 'drop index ' || indexrelid::regclass, pg_get_indexdef(indexrelid)
       from pg_index where indrelid = any($1::regclass[]) and not indisprimary`,
    ),
    [FILLED_TABLES],
  );
  for (const { drop } of rows) await run(connection, drop);
  for (const table of FILLED_TABLES) await run(connection, `alter table ${table} set unlogged`);
  return rows.flatMap(({ create }) => create ?? []);
}
