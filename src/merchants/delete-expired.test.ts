import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { prepared } from "../postgres/database.ts";
import { startRetention } from "../process/retention-loop.ts";
import { DAY, HOUR, openStage, START } from "../recovery/stage.fixture.ts";
import { readFirstPage } from "../tables/actions-list/action-list.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { decisionsOfCases } from "../tables/decisions.ts";
import { type DeletedCounts, deleteExpired, type RetentionDays } from "./delete-expired.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());

const RETENTION_DAYS: RetentionDays = { invoices: 450, subscriptions: 450, audit: 365 };

/** Goes through all records once. */
async function runDeletion(keep: RetentionDays = RETENTION_DAYS, db = stage.db): Promise<DeletedCounts> {
  const deleted: DeletedCounts = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
  for await (const counts of deleteExpired({ db, owner: stage.db, ports: stage.ports, keep }))
    for (const [name, count] of Object.entries(counts)) deleted[name as keyof DeletedCounts] += count;
  return deleted;
}

const idsOf = async (table: string, merchantId: string) =>
  (
    await stage.db.run<{ id: string }>(
      prepared("", `select id::text from ${table} where merchant_id = '${merchantId}' order by 1`),
    )
  ).rows.map(({ id }) => id);

const WRONG_TOTALS = `
  select facets, actions from action_counts where actions <> 0
  except select facets, count(*) from recovery_actions group by facets`;

const CUSTOMERS = ["barred", "cleared", "disputed", "lost", "paid", "stopped"];

/** An invoice of each customer fails and its case ends after one retry. Then more than half a year passes. */
async function firstLife(settings = {}) {
  const { id } = await stage.enter(true, settings);
  const push = (customerId: string, nth: string, over = {}) =>
    stage.invoice({
      id: `${customerId}-${nth}`,
      customerId,
      createdAt: stage.now(),
      subscriptionId: customerId === "lost" ? undefined : `${customerId}-sub`,
      ...over,
    });
  const attempt = (customerId: string, nth: string, name: string, over = {}) =>
    stage.transaction({
      ...{ id: `${customerId}-${nth}-${name}`, invoiceId: `${customerId}-${nth}`, customerId },
      ...{ cardFingerprint: `${customerId}-fp`, paymentMethodId: `${customerId}-pm` },
      ...over,
    });
  for (const customerId of CUSTOMERS) {
    await stage.subscription(customerId === "lost" ? "CANCELED" : "ACTIVE", { id: `${customerId}-sub`, customerId });
    await push(customerId, "old");
    const isHard = customerId === "barred" || customerId === "cleared";
    await attempt(customerId, "old", "first", isHard ? { networkDeclineCode: "41" } : {});
  }
  await stage.decide();
  await stage.stopRecovery(() => {}, stage.db, "stopped-old");
  for (let day = 0; day < 8; day++) {
    stage.wait(DAY);
    await stage.decide();
    await stage.deliver();
    await stage.decide();
    if (day === 5) await attempt("paid", "old", "paid", { state: "PAID" });
    if (day === 6) {
      await attempt("cleared", "old", "paid", { state: "PAID" });
      await attempt("disputed", "old", "paid", { state: "PAID" });
    }
    if (day === 7) await attempt("disputed", "old", "paid", { state: "DISPUTED" });
  }
  stage.wait(23 * DAY);
  await stage.decide();
  for (const customerId of ["paid", "cleared", "disputed"]) await push(customerId, "old", { state: "PAID" });
  return { id, push, attempt };
}

/**
 * Another invoice of each customer fails on the same card. Returns the decisions and their inputs, but no times, which are
 * randomized by merchant.
 */
async function secondLife({ id, push, attempt }: Awaited<ReturnType<typeof firstLife>>) {
  const before = new Set(await stage.caseIds());
  for (const customerId of CUSTOMERS) {
    await push(customerId, "new");
    await attempt(customerId, "new", "first");
  }
  await stage.invoice({ id: "lost-old", customerId: "lost" });
  await stage.decide();
  const caseIds = (await stage.caseIds()).filter((each) => !before.has(each));
  const decisions = await decisionsOfCases(stage.db, id, caseIds);
  return decisions.map(({ caseId, kind, account: { known } }) => ({ case: caseIds.indexOf(caseId), kind, known }));
}

test("deleting old invoices keeps list totals exact and does not change the next decision", async () => {
  const reference = await firstLife();
  stage.wait(500 * DAY);
  const expected = await secondLife(reference);
  assert.ok(expected.length >= CUSTOMERS.length);

  const merchant = await firstLife();
  const endedAt = stage.now();
  stage.wait(400 * DAY);
  const listing = { filters: {}, orderBy: "created_at", descending: false } as const;
  const firstPage = await readFirstPage(stage.db, merchant.id, listing, 1_000);
  assert.ok(firstPage.total >= 5, `${firstPage.total}`);
  assert.deepEqual(
    await runDeletion(),
    { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 2 },
    "only the audit entries are old enough",
  );
  assert.deepEqual(await listAuditEntries(stage.db, merchant.id, {}, 10), []);
  stage.at(endedAt.getTime() + 500 * DAY);
  assert.deepEqual(await runDeletion({ invoices: null, subscriptions: null, audit: null }), {
    invoices: 0,
    cases: 0,
    subscriptions: 0,
    auditEntries: 0,
  });
  const deleted = await runDeletion();
  assert.ok(deleted.cases >= CUSTOMERS.length && deleted.subscriptions === 2, "records of both merchants are deleted");

  assert.deepEqual(
    await idsOf("invoices", merchant.id),
    ["barred-old", "lost-old", "stopped-old"],
    "unpaid invoices stay",
  );
  assert.deepEqual(await idsOf("transactions", merchant.id), [
    "barred-old-first",
    "cleared-old-first",
    "cleared-old-paid",
    "disputed-old-paid",
  ]);
  const cases = prepared("", `select invoice_id as id from cases where merchant_id = '${merchant.id}' order by 1`);
  assert.deepEqual(
    (await stage.db.run<{ id: string }>(cases)).rows.map(({ id }) => id),
    ["barred-old", "lost-old", "stopped-old"],
    "their cases record the end",
  );
  for (const table of ["recovery_actions", "events", "due_cases", "decisions", "delivery_attempts"])
    assert.equal(
      (await stage.db.run(prepared("", `select from ${table} where merchant_id = '${merchant.id}'`))).rowCount,
      0,
      table,
    );
  assert.deepEqual((await readFirstPage(stage.db, merchant.id, listing, 10)).total, 0);
  assert.deepEqual((await stage.db.run(prepared("", WRONG_TOTALS))).rows, []);
  assert.deepEqual(await runDeletion(), { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 }, "once");
  assert.deepEqual(await secondLife(merchant), expected);
});

test("a late attempt collects nothing that was paid, lost or stopped when the invoice's records are deleted", async () => {
  await stage.enter();
  const on = (invoiceId: string) => ({ invoiceId, customerId: invoiceId, cardFingerprint: invoiceId });
  const invoices = ["covered", "part", "lost", "stopped", "canceled"];
  const subscriptionId = (id: string) => (id === "canceled" ? "sub_1" : undefined);
  await stage.subscription("ACTIVE", { customerId: "canceled" });
  for (const id of invoices) {
    await stage.invoice({ id, customerId: id, subscriptionId: subscriptionId(id) });
    await stage.transaction(on(id));
  }
  await stage.decide();
  await stage.stopRecovery(() => {}, stage.db, "stopped");
  stage.wait(HOUR);
  await stage.subscription("CANCELED", { customerId: "canceled" });
  await stage.decide();
  await stage.transaction({ ...on("covered"), id: "all", state: "PAID" });
  await stage.transaction({ ...on("part"), id: "some", state: "PAID", amount: 4_000 });
  stage.wait(40 * DAY);
  await stage.decide();
  stage.wait(600 * DAY);
  const deleted = await runDeletion();
  assert.deepEqual([deleted.invoices, deleted.subscriptions, await stage.actions()], [0, 1, []]);
  for (const id of invoices) await stage.transaction({ ...on(id), id: `${id}-late` });
  await stage.decide();
  stage.wait(HOUR);
  for (const id of invoices) await stage.invoice({ id, customerId: id, subscriptionId: subscriptionId(id) });
  await stage.decide();
  assert.deepEqual(await stage.actions(), []);
});

test("an invoice or subscription stays when a recent change belongs to it, even one just before the deletion", async () => {
  const { id } = await stage.enter();
  for (const invoice of ["gone", "newer", "refunded", "cleared"]) {
    await stage.invoice({ id: invoice, customerId: invoice, state: "PAID" });
    const by = invoice === "cleared" ? { cardFingerprint: undefined, paymentMethodId: "pm" } : {};
    await stage.transaction({ id: invoice, invoiceId: invoice, customerId: invoice, state: "PAID", ...by });
  }
  const debit = { customerId: "cleared", cardFingerprint: undefined, paymentMethodId: "pm" };
  await stage.transaction({ ...debit, id: "disputed", invoiceId: "gone", state: "DISPUTED" });
  await stage.subscription("CANCELED", { id: "sub_old", canceledAt: stage.now() });
  await stage.subscription("CANCELED", { id: "sub_later", canceledAt: new Date(stage.now().getTime() + 590 * DAY) });
  stage.wait(600 * DAY);
  await stage.transaction({ id: "refunded", invoiceId: "refunded", createdAt: START, state: "REFUNDED" });
  const racing: typeof stage.db = {
    ...stage.db,
    async run(statement, values) {
      const found = await stage.db.run(statement, values);
      const isFound = found.rows.some((row) => (row as { ids?: string[] }).ids?.includes("newer"));
      if (isFound && statement.name === "page_of_old_invoices")
        await stage.invoice({ id: "newer", customerId: "newer" });
      return found as never;
    },
  };
  const deleted = await runDeletion(RETENTION_DAYS, racing);
  assert.deepEqual([deleted.invoices, deleted.subscriptions], [2, 1]);
  assert.deepEqual(await idsOf("invoices", id), ["newer", "refunded"]);
  assert.deepEqual(await idsOf("subscriptions", id), ["sub_later"]);
  assert.deepEqual(await idsOf("transactions", id), ["cleared", "disputed", "newer", "refunded"]);
});

test("records that an open case or an experiment can still read stay, however short the setting", async () => {
  const { id } = await firstLife({ windowDays: 300 });
  stage.wait(600 * DAY);
  const before = await idsOf("invoices", id);
  await runDeletion();
  assert.deepEqual(await idsOf("invoices", id), before);
  stage.wait(200 * DAY);
  await stage.db.run(
    prepared(
      "",
      `with e as (
         insert into experiments (merchant_id, id, name, salt, share, started_at, compared_from, maturity_days, primary_measure, margin, look_at)
         values ('${id}', gen_random_uuid(), 'e', 's', 0.5, '2026-01-01', '2026-01-01', 35, 'count', 0.1, '2026-01-01') returning merchant_id, id)
       insert into experiment_invoices
       select merchant_id, id, 'paid-old', 'paid', 'comparison', 'dunlin', 1, 1, 'EUR', '2026-01-01', '2026-02-01', true from e`,
    ),
  );
  await runDeletion();
  assert.deepEqual(await idsOf("invoices", id), ["barred-old", "lost-old", "paid-old", "stopped-old"]);
  await stage.db.run(prepared("", `update experiments set look_at = null where merchant_id = '${id}'`));

  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(line) });
  const loop = startRetention({ db: stage.db, owner: stage.db, ports: stage.ports, keep: RETENTION_DAYS }, log, HOUR)!;
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await loop.stop();
  assert.match(lines[0]!, /"invoices":1,"cases":1,.*"msg":"retention\.deleted"/);
  assert.deepEqual(await idsOf("invoices", id), ["barred-old", "lost-old", "stopped-old"]);
  assert.equal(
    startRetention(
      { db: stage.db, owner: stage.db, ports: stage.ports, keep: { invoices: null, subscriptions: null, audit: null } },
      log,
      HOUR,
    ),
    null,
  );
});
