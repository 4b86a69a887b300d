import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createConnectorStore } from "../../connectors/kit/store.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { createFailingDatabase } from "../recovery/failing-database.fixture.ts";
import { DAY, HOUR, openStage } from "../recovery/stage.fixture.ts";
import { readFirstPage, readPageAfter } from "../tables/actions-list/action-list.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { eraseCustomer, erasedCustomerHash } from "./erase-customer.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());

/** The effect of erasure on each table of a merchant. Add a new table to one of these lists and to tables/erasure.ts. */
const ERASED_TABLES = [
  ...["subscriptions", "invoices", "transactions", "invoice_conflicts", "experiment_invoices", "watched_retries"],
  ...["cases", "due_cases", "decisions", "recovery_actions", "listed_actions", "case_traces"],
  ...["events", "deliveries", "delivery_attempts"],
  ...["connector_hints", "connector_versions", "connector_payments", "connector_events", "connector_invoices"],
  ...["connector_actions", "connector_messages"],
];
/** Case ids without a case, which the next step drops. */
const EMPTIED_TABLES = ["case_pokes"];
/** Their rows may name the customer among others; `recovery-rules.test.ts` erases one. */
const SHARED_TABLES = ["recovery_rules"];
const REDACTED_TABLES = ["audit_log"];
/** Contain nothing about a single customer. */
const KEPT_TABLES = [
  ...[
    "action_counts",
    "executed_counts",
    "recovery_sums",
    "saved_views",
    "reporting_rates",
    "experiments",
    "experiment_looks",
    "experiment_tallies",
  ],
  ...["learned_merchants", "learned_models", "learned_parts", "jobs", "merchant_clocks"],
  ...["api_keys", "invites", "members", "sessions", "rate_buckets", "request_heads", "request_log"],
  ...["connections", "connector_cursors", "connector_opt_outs"],
  ...["large_amounts", "member_notices", "chat_webhooks", "notice_checks", "notice_incidents"],
  // May name an invoice, and ends within a day.
  "notices",
];

const TRACES = "insert into case_traces select merchant_id, id, '00-1-1-01', opened_at from cases";
/** Rows of a connector about every invoice, as it keeps them when an invoice is given back. */
const CONNECTOR_ROWS = [
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
];

const listTablesWith = async (column: string) =>
  (
    await stage.db.run<{ name: string }>(
      prepared(
        "",
        `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
           and a.attname = '${column}' and not a.attisdropped order by 1`,
      ),
    )
  ).rows.map(({ name }) => name);

test("every table of a merchant is listed by what erasing a customer does to it", async () => {
  assert.deepEqual(
    await listTablesWith("merchant_id"),
    [...ERASED_TABLES, ...EMPTIED_TABLES, ...REDACTED_TABLES, ...SHARED_TABLES, ...KEPT_TABLES].sort(),
  );
  for (const table of await listTablesWith("customer_id")) assert.ok(ERASED_TABLES.includes(table), table);
});

/** Rows as text, by table. */
async function rowsOf(merchantId: string): Promise<Map<string, string[]>> {
  const rows = new Map<string, string[]>();
  for (const table of await listTablesWith("merchant_id")) {
    const found = await stage.db.run<{ row: string }>(
      prepared("", `select t::text as row from ${table} t where merchant_id = '${merchantId}' order by 1`),
    );
    rows.set(
      table,
      found.rows.map(({ row }) => row),
    );
  }
  return rows;
}

/** Returns the ids that identify a customer's rows: the customer, and its invoices, attempts, cases, events and actions. */
async function findIdsOf(merchantId: string, customerId: string): Promise<string[]> {
  const { rows } = await stage.db.run<{ id: string }>(
    prepared(
      "",
      `with i as (select id from invoices where merchant_id = '${merchantId}' and customer_id = '${customerId}'),
         k as (select id from cases where merchant_id = '${merchantId}' and customer_id = '${customerId}')
       select '${customerId}' as id union all select id from i
       union all select id from transactions where invoice_id in (select id from i) or customer_id = '${customerId}'
       union all select id::text from k union all select id::text from events where case_id in (select id from k)
       union all select id::text from recovery_actions where case_id in (select id from k)`,
    ),
  );
  return rows.map(({ id }) => id);
}

/** List totals that differ from the list. */
const WRONG_TOTALS = `
  select facets, actions from action_counts where actions <> 0
  except select facets, count(*) from recovery_actions group by facets
  union all
  (select facets, count(*) from recovery_actions group by facets except select facets, actions from action_counts)
  union all
  (select facets, sum(actions) from executed_counts where span = 'day' group by facets having sum(actions) <> 0
   except select facets, count(*) from recovery_actions where executed_at is not null group by facets)`;

const CUSTOMERS = ["cus_a", "cus_b", "cus_c", "cus_d", "cus_e", "cus_f"];

/**
 * Several weeks of six customers in an experiment. Invoices were recovered, lost or stopped by a person; others are open with a
 * webhook in the queue.
 */
async function createHistory() {
  const { id } = await stage.enter();
  await stage.start({ share: 0.5 });
  const push = (customerId: string, nth: string, over = {}) =>
    stage.invoice({ id: `${customerId}-inv-${nth}`, customerId, createdAt: stage.now(), ...over });
  const attempt = (customerId: string, nth: string, over = {}) =>
    stage.transaction({
      id: `${customerId}-txn-${nth}-${stage.now().getTime()}`,
      invoiceId: `${customerId}-inv-${nth}`,
      customerId,
      cardFingerprint: `${customerId}-fp`,
      ...over,
    });
  const round = async (nth: string) => {
    for (const customerId of CUSTOMERS) {
      await push(customerId, nth);
      await attempt(customerId, nth);
    }
    await stage.decide();
  };
  for (const customerId of CUSTOMERS) await stage.subscription("ACTIVE", { id: `${customerId}-sub`, customerId });
  await round("1");
  for (let day = 0; day < 8; day++) {
    stage.wait(DAY);
    await stage.decide();
    await stage.deliver();
    await stage.decide();
    for (const customerId of CUSTOMERS)
      await attempt(customerId, "1", day === 7 && "ace".includes(customerId.at(-1)!) ? { state: "PAID" } : {});
    await stage.decide();
  }
  await round("2");
  // An observed invoice has no recovery to stop.
  for (const customerId of CUSTOMERS) await stage.stopRecovery(() => {}, stage.db, `${customerId}-inv-2`);
  stage.wait(HOUR);
  await round("3");
  return id;
}

const erase = (merchantId: string, customerId: string, owner: Database = stage.db, onWithdrawn = async () => {}) =>
  eraseCustomer({ owner, ports: stage.ports, actor: COMMAND_LINE_ACTOR, onWithdrawn }, merchantId, customerId);

test("erasing a customer leaves no trace, changes no other customer, and keeps totals and pagination exact", async () => {
  const merchantId = await createHistory();
  // One customer of each arm.
  const arms = await stage.db.run<{ customer: string; arm: string }>(
    prepared(
      "",
      `select distinct customer_id as customer, arm from cases where merchant_id = '${merchantId}' order by 1`,
    ),
  );
  const erasedCustomers = ["dunlin", "merchant"].map((arm) => arms.rows.find((each) => each.arm === arm)!.customer);
  // More than one batch.
  for (const customerId of erasedCustomers)
    for (let paid = 0; paid < 60; paid++)
      await stage.invoice({ id: `${customerId}-paid-${paid}`, customerId, state: "PAID" });
  for (const text of [TRACES, ...CONNECTOR_ROWS]) await stage.db.run(prepared("", text));
  const before = await rowsOf(merchantId);
  for (const table of ERASED_TABLES)
    if (table !== "invoice_conflicts") assert.ok(before.get(table)!.length > 0, `there is nothing in ${table}`);
  const ids = (await Promise.all(erasedCustomers.map((customerId) => findIdsOf(merchantId, customerId)))).flat();
  const isErased = (row: string) => ids.some((id) => row.includes(id));
  const listing = { filters: {}, orderBy: "created_at", descending: false } as const;
  const first = await readFirstPage(stage.db, merchantId, listing, 2);
  const cursor = { at: first.actions.at(-1)!.cursorAt, id: first.actions.at(-1)!.id };
  const rest = await readPageAfter(stage.db, merchantId, listing, cursor, first.total, 1_000);

  const counts = await erase(merchantId, erasedCustomers[0]!);
  assert.deepEqual([counts.invoices, counts.subscriptions], [63, 1]);
  // Fails before every seventh statement, and then runs again.
  let failures = 0;
  for (let failAfter = 2; ; failAfter += 7) {
    const failure = await erase(merchantId, erasedCustomers[1]!, createFailingDatabase(stage.db, failAfter).db).catch(
      (error) => error,
    );
    if (!(failure instanceof Error)) break;
    assert.equal(failure.message, "dead");
    failures++;
  }
  assert.ok(failures > 3, `${failures}`);
  await stage.decide();

  const remaining = await rowsOf(merchantId);
  for (const [table, rows] of remaining) {
    assert.deepEqual(rows.filter(isErased), [], table);
    if (ERASED_TABLES.includes(table) && !["due_cases", "decisions", "case_traces"].includes(table))
      assert.deepEqual(
        rows,
        before.get(table)!.filter((row) => !isErased(row)),
        table,
      );
  }
  assert.deepEqual((await stage.db.run(prepared("", WRONG_TOTALS))).rows, []);
  const after = await readFirstPage(stage.db, merchantId, listing, 1_000);
  assert.equal(after.total, after.actions.length);
  const continued = await readPageAfter(stage.db, merchantId, listing, cursor, first.total, 1_000);
  assert.deepEqual(
    continued.map(({ id }) => id),
    rest.filter(({ customerId }) => !erasedCustomers.includes(customerId)).map(({ id }) => id),
  );

  const log = await listAuditEntries(stage.db, merchantId, {}, 100);
  const erased = log.filter(({ operation }) => operation === "customer.erased");
  assert.deepEqual(
    erased.map(({ object }) => object).sort(),
    erasedCustomers.map((each) => erasedCustomerHash(merchantId, each)).sort(),
  );
  assert.ok(erased.every(({ actor }) => actor === "command line"));
  const stops = log.filter(({ operation, object }) => operation === "recovery.stopped" && object === "erased");
  assert.ok(stops.length > 0 && stops.every(({ details }) => Object.keys(details).length === 0));
  assert.ok(log.some(({ object, details }) => object !== "erased" && details.reason === "they complained"));
});

test("a webhook in flight leaves no trace when its customer is erased, and the same id is a new customer later", async () => {
  const { id: merchantId } = await stage.enter();
  const customerId = "cus_wire";
  await stage.invoice({ customerId });
  await stage.transaction({ customerId });
  await stage.decide();
  const withdrawn: string[] = [];
  await stage.untilDecided();
  const sent: string[] = [];
  await stage.send(async ({ body }) => {
    sent.push(body);
    await eraseCustomer(
      {
        owner: stage.db,
        ports: stage.ports,
        actor: COMMAND_LINE_ACTOR,
        onWithdrawn: async (_merchant, ids) => void withdrawn.push(...ids),
      },
      merchantId,
      customerId,
    );
    return { outcome: "response", status: 500, retryAfter: null, text: `no ${customerId}` };
  });
  assert.ok(sent.length > 0 && withdrawn.length > 0);
  await stage.decide();
  await stage.send(async () => assert.fail("nothing is left to be sent"));
  const rows = await rowsOf(merchantId);
  for (const table of [...ERASED_TABLES, ...EMPTIED_TABLES]) assert.deepEqual(rows.get(table), [], table);

  await stage.invoice({ customerId });
  await stage.transaction({ customerId });
  await stage.decide();
  assert.deepEqual(
    (await stage.actions()).map(({ status }) => status),
    ["SCHEDULED"],
  );
});

test("an invoice of another customer is not collected again when its payer is erased", async () => {
  const { id: merchantId } = await stage.enter();
  const payments = { all: "PAID", part: "PAID", pending: "PENDING", none: "FAILED" } as const;
  const of = (customerId: string) => ({ invoiceId: `inv_${customerId}`, customerId, cardFingerprint: customerId });
  for (const customerId of Object.keys(payments)) {
    await stage.invoice({ id: `inv_${customerId}`, customerId });
    await stage.transaction(of(customerId));
  }
  await stage.decide();
  stage.wait(HOUR);
  for (const [customerId, state] of Object.entries(payments))
    await stage.transaction({
      ...of(customerId),
      ...{ id: customerId, state, amount: customerId === "part" ? 4_000 : 4_900 },
      ...{ customerId: "cus_payer", cardFingerprint: "fp_payer", paymentMethodId: "pm_payer", cardLast4: "4242" },
      ...{ paymentGatewayTransactionId: "pi_payer", paymentGatewayErrorMessage: "cus_payer" },
    });
  await stage.decide();
  await erase(merchantId, "cus_payer");
  const [attempts] = [(await rowsOf(merchantId)).get("transactions")!];
  assert.deepEqual([attempts.length, attempts.filter((row) => /payer|4242/.test(row))], [7, []]);

  stage.wait(HOUR);
  for (const customerId of Object.keys(payments)) await stage.transaction(of(customerId));
  await stage.decide();
  const amounts = prepared(
    "",
    `select customer_id as customer, amount_due as amount from recovery_actions
     where merchant_id = '${merchantId}' and status = 'SCHEDULED' order by 1`,
  );
  assert.deepEqual((await stage.db.run(amounts)).rows, [
    { customer: "none", amount: 4_900 },
    { customer: "part", amount: 900 },
  ]);
});

test("an invoice with a new customer stays given up when its previous customer is erased", async () => {
  const { id: merchantId } = await stage.enter();
  await stage.invoice({ customerId: "cus_former" });
  await stage.transaction({ customerId: "cus_former" });
  await stage.decide();
  await stage.stopRecovery();
  stage.wait(HOUR);
  await stage.invoice({ customerId: "cus_latter" });
  await stage.decide();
  const counts = await erase(merchantId, "cus_former");
  assert.deepEqual([counts.invoices, counts.cases], [0, 1]);
  for (const [table, rows] of await rowsOf(merchantId))
    assert.deepEqual(
      rows.filter((row) => row.includes("cus_former")),
      [],
      table,
    );

  stage.wait(HOUR);
  await stage.transaction({ customerId: "cus_latter" });
  await stage.invoice({ customerId: "cus_latter" });
  await stage.decide();
  assert.deepEqual(await stage.actions(), []);
});

test("an erased invoice whose retries are off at the provider keeps one row without its customer, until it is given back", async () => {
  const { id: merchantId } = await stage.enter();
  await stage.invoice({ id: "owned-inv", customerId: "cus_owned", createdAt: stage.now(), state: "PAID" });
  const store = createConnectorStore(stage.db, { merchantId, connection: "stripe" });
  await store.own("owned-inv", stage.now());
  await store.setCustomer("owned-inv", "cus_owned");
  await erase(merchantId, "cus_owned");
  assert.deepEqual(await store.ownedInvoicesOf("cus_owned"), []);
  assert.deepEqual(await store.claimUnreleased(10, new Date(), new Date()), ["owned-inv"]);
  await store.endRelease("owned-inv", stage.now());
  assert.deepEqual((await rowsOf(merchantId)).get("connector_invoices"), []);
});
