import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { fillMerchants, LIST_ACTIONS } from "../../test/plans/fill-plans.ts";
import { realPorts } from "../delivery/deliverer.fixture.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { deleteMerchant } from "../merchants/delete-merchant.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { createFailingDatabase } from "../recovery/failing-database.fixture.ts";
import { listMerchants } from "../tables/merchants.ts";
import type { OptionValues } from "./command.ts";
import { runAndCapture } from "./context.fixture.ts";
import { eraseCustomer } from "./erase.ts";
import { merchantDelete } from "./merchant-delete.ts";

const INVOICES = 2_100;
let database: TestDatabase;
let db: Database;
let deletedMerchantId: string;
let remainingMerchantId: string;
before(async () => {
  database = await createTestDatabase();
  db = database.db;
  await fillMerchants(db, { first: 1, last: 2, invoices: INVOICES });
  for (const text of REST) await db.run(prepared("", text));
  await db.run(LIST_ACTIONS);
  [deletedMerchantId, remainingMerchantId] = (await listMerchants(db)).map(({ id }) => id) as [string, string];
});
after(() => database.drop());

/** Rows of the tables that `fillMerchants` leaves empty. */
const REST = [
  `insert into recovery_actions (merchant_id, id, case_id, invoice_id, customer_id, currency, type, status, action_suggestion, ideal_retry_time, reasons, created_at, updated_at)
   select merchant_id, gen_random_uuid(), id, invoice_id, customer_id, 'EUR', 'RETRY', 'SCHEDULED', 'RETRY', opened_at, '[]', opened_at, opened_at from cases limit 10`,
  "insert into action_counts select merchant_id, facets, count(*) from recovery_actions group by 1, 2",
  `insert into executed_counts select merchant_id, 'month', date_trunc('month', executed_at), facets, count(*) from recovery_actions
   where executed_at is not null group by 1, 3, 4`,
  `insert into decisions (merchant_id, case_id, number, made_at, engine, kind, facts, account)
   select merchant_id, id, 1, opened_at, 'static', 'wait', '', '{}' from cases`,
  "insert into invoice_conflicts select merchant_id, id, 'paid_too_much', '{}', created_at from invoices",
  `insert into experiments select id, gen_random_uuid(), 'e', 's', 0.5, created_at, created_at, null, 35, 'count', 0.1, created_at from merchants`,
  `insert into experiment_invoices select e.merchant_id, e.id, i.id, i.customer_id, 'comparison', 'dunlin', 1, 1, 'EUR', i.created_at, i.created_at, true
   from experiments e join invoices i on i.merchant_id = e.merchant_id`,
  "insert into experiment_tallies select merchant_id, id, 'comparison', 'dunlin', 1, 'count', 1, 1, 1, 1, 1, 1 from experiments",
  "insert into experiment_looks select merchant_id, id, started_at, '{}' from experiments",
  "insert into learned_models select id, 'l', 1, created_at from merchants",
  "insert into learned_parts select id, 'p', 1, '\\x00' from merchants",
  "insert into learned_merchants select id, created_at, id, 1, 1, '\\x00' from merchants",
  "insert into merchant_clocks select id, created_at, 1 from merchants",
  "insert into request_heads select id, 1, 'POST' from merchants",
  `insert into request_log (merchant_id, id, at, route, status, duration_us)
   select m.id, gen_random_uuid(), m.created_at, '/', 200, 1 from merchants m, generate_series(1, 5)`,
  "insert into rate_buckets select id, id, 1, 1, 1, 1, 1, created_at from merchants",
  `insert into audit_log select m.id, gen_random_uuid(), m.created_at, null, 'command line', 'key.created', 'k', '{}', null
   from merchants m, generate_series(1, 5)`,
  `insert into jobs (merchant_id, id, kind, asked_at, actor, input, due_at) select id, id, 'replay', created_at, 'a', '{}', created_at from merchants`,
  `insert into api_keys (id, merchant_id, hash, prefix, last_four, permissions, created_at)
   select id, id, sha256(id::text::bytea), 'dln_', 'abcd', '{read:recovery_actions}', created_at from merchants`,
  "insert into connections (merchant_id, name, is_live, secrets, settings, created_at) select id, 'stripe', false, '', '{}', created_at from merchants",
  "insert into connector_cursors select id, 'stripe', 'events', '1' from merchants",
  "insert into reporting_rates select id, 'GBP', 1.17, created_at from merchants",
  "insert into case_traces select merchant_id, id, '00-1-1-01', opened_at from cases",
  "insert into recovery_sums select id, 'all', created_at, '', 'EUR', 1, 1, 1, 1 from merchants",
  "insert into connector_opt_outs select id, 'stripe', 'c', created_at from merchants",
  `insert into recovery_rules (merchant_id, id, position, name, conditions, leave_out, created_at, updated_at)
   select id, id, 1, 'r', '{"customerIds": ["c"]}', false, created_at, created_at from merchants`,
  `insert into connector_hints (merchant_id, connection, object_id, noted_at, due_at)
   select merchant_id, 'stripe', id, created_at, created_at from invoices`,
  `insert into connector_versions select merchant_id, 'stripe', id, created_at, 'd', 1 from invoices
   union all select merchant_id, 'stripe', id, created_at, 'd', 1 from transactions`,
  "insert into connector_payments select merchant_id, 'stripe', 'pi_' || id, id, customer_id, null from invoices",
  `insert into connector_events (merchant_id, connection, id, invoice_id, event, kept_at)
   select merchant_id, 'stripe', 'evt_' || id, id, '{}', created_at from invoices`,
  `insert into connector_invoices select merchant_id, 'stripe', id, customer_id, created_at, created_at, created_at from invoices`,
  `insert into connector_actions (merchant_id, connection, id, invoice_id, suggestion, due_at, state)
   select merchant_id, 'stripe', 'act_' || id, id, 's', created_at, 'planned' from invoices`,
  `insert into connector_messages (merchant_id, connection, id, invoice_id, customer_id, number, due_at, state)
   select merchant_id, 'stripe', 'm_' || id, id, customer_id, 1, created_at, 'planned' from invoices`,
  "insert into invites (merchant_id, id, hash, role, created_at, expires_at) select id, id, sha256('i'), 'owner', created_at, created_at from merchants",
  `insert into people (id, email, name, created_at) select id, 'only-' || bucket || '@example.com', 'P', created_at from merchants
   union all select '00000000-0000-7000-8000-00000000000b', 'both@example.com', 'B', '2026-01-01'`,
  "insert into members select m.id, p.id, 'owner', m.created_at from merchants m join people p on p.id = m.id or p.name = 'B'",
  "insert into large_amounts select id, 'EUR', 1 from merchants",
  "insert into chat_webhooks (merchant_id, url, shown, alerts, created_at) select id, '', '', '{}', created_at from merchants",
  "insert into notice_checks select id, created_at from merchants",
  "insert into notice_incidents (merchant_id, kind) select id, 'endpoint' from merchants",
  "insert into member_notices (merchant_id, person_id) select merchant_id, person_id from members",
  `insert into notices (merchant_id, id, person_id, subject, body, created_at, due_at)
   select merchant_id, gen_random_uuid(), person_id, 's', 'b', created_at, created_at from members
   union all select id, gen_random_uuid(), null, 's', 'b', created_at, created_at from merchants`,
  "insert into saved_views select merchant_id, person_id, '/actions', 'v', '', created_at from members",
  "insert into sessions select sha256(person_id::text::bytea || merchant_id::text::bytea), person_id, merchant_id, created_at, created_at from members",
  "insert into identities select 'https://id.example', id::text, id, created_at from people",
];

/** Returns the row count and a checksum of each table with a merchant_id. */
async function sums(merchantId: string): Promise<Map<string, { rows: number; sum: string }>> {
  const tables = await db.run<{ name: string }>(
    prepared(
      "",
      `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and a.attname = 'merchant_id' and not a.attisdropped order by 1`,
    ),
  );
  const found = new Map<string, { rows: number; sum: string }>();
  for (const { name } of tables.rows) {
    const text = `select count(*)::int4 as rows, coalesce(sum(hashtextextended(t::text, 0)), 0)::text as sum from ${name} t where merchant_id = '${merchantId}'`;
    found.set(name, (await db.run<{ rows: number; sum: string }>(prepared("", text))).rows[0]!);
  }
  return found;
}

const run = (words: readonly string[], values: OptionValues = {}) => runAndCapture(db, merchantDelete, values, words);
const count = async (from: string) =>
  (await db.run<{ n: number }>(prepared("", `select count(*)::int4 as n from ${from}`))).rows[0]!.n;

test("`erase customer` counts records first, and erases with --yes", async () => {
  const [customer] = (
    await db.run<{ id: string }>(
      prepared("", `select customer_id as id from invoices where merchant_id = '${deletedMerchantId}' limit 1`),
    )
  ).rows;
  const words = [customer!.id];
  await assert.rejects(runAndCapture(db, eraseCustomer, {}, words), /several merchants\. Choose one/);
  await assert.rejects(
    runAndCapture(db, eraseCustomer, { merchant: deletedMerchantId }, words),
    /Nothing was erased\. .*--yes/,
  );
  assert.equal(await count(`invoices where customer_id = '${customer!.id}'`), 1);
  const said = await runAndCapture(db, eraseCustomer, { merchant: deletedMerchantId, yes: true }, words);
  assert.match(
    said,
    /^ +1 {2}subscriptions\n +1 {2}invoices\n[\s\S]*\nErased\. The audit log calls the customer sha256:[0-9a-f]{64}$/,
  );
  assert.equal(await count(`invoices where customer_id = '${customer!.id}'`), 0);
});

test("a deletion that was interrupted finishes on the next run, and leaves other merchants unchanged", async () => {
  const [before, others] = [await sums(deletedMerchantId), await sums(remainingMerchantId)];
  for (const [table, { rows }] of [...before, ...others]) assert.ok(rows > 0, `there is nothing in ${table}`);
  await assert.rejects(run([deletedMerchantId]), /Nothing was deleted\. To delete m .*--name "m" or --yes/);
  await assert.rejects(run([deletedMerchantId], { name: "n" }), /Nothing was deleted/);
  await assert.rejects(run([randomUUID()], { yes: true }), /There is no merchant/);
  assert.deepEqual(await sums(deletedMerchantId), before);

  const withdrawn: string[] = [];
  const deleting = {
    ...{ ports: realPorts, actor: COMMAND_LINE_ACTOR },
    onWithdrawn: async (_merchant: string, ids: readonly string[]) => void withdrawn.push(...ids),
    onRows() {},
    requestsEnded: async () => {},
  };
  for (const dieAfter of [5, 20, 30])
    await assert.rejects(
      deleteMerchant({ ...deleting, owner: createFailingDatabase(db, dieAfter).db }, deletedMerchantId),
      /dead/,
    );
  assert.equal(withdrawn.length, before.get("deliveries")!.rows);
  const halfway = [...(await sums(deletedMerchantId)).values()].filter(({ rows }) => rows === 0).length;
  assert.ok(halfway > 0 && halfway < before.size, `${halfway}`);
  assert.match(await run([deletedMerchantId], { name: "m" }), /^Deleted: [\d,]+ rows\.$/);

  for (const [table, { rows }] of await sums(deletedMerchantId)) assert.equal(rows, 0, table);
  assert.deepEqual(await sums(remainingMerchantId), others);
  assert.deepEqual(
    (await listMerchants(db)).map(({ id }) => id),
    [remainingMerchantId],
  );
  assert.equal(await count("people"), 2, "members of the other merchant stay");
  assert.equal(await count("sessions where merchant_id is null"), 1);
  assert.equal(await count("audit_log where deed = 'merchant.deleted'"), 1);
});

test("a second deletion removes the rows that a late request wrote", async () => {
  await db.run(
    prepared(
      "",
      `insert into subscriptions (merchant_id, id, state, customer_id, amount, currency, created_at, updated_at)
       values ('${deletedMerchantId}', 'late', 'ACTIVE', 'c', 1, 'EUR', '2026-01-01', '2026-01-01')`,
    ),
  );
  await assert.rejects(run([deletedMerchantId]), /There is no merchant/);
  assert.equal(await run([deletedMerchantId], { yes: true }), "Deleted: 1 rows.");
  await assert.rejects(run([deletedMerchantId], { yes: true }), /There is no merchant/);
});
