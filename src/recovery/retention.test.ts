import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pino from "pino";
import { startRetention } from "../retention.ts";
import { firstActions } from "../store/action-list.ts";
import { listAudited } from "../store/audit-log.ts";
import { prepared } from "../store/database.ts";
import { decisionsOfCases } from "../store/decisions.ts";
import { deleteOld, type Gone, type KeepDays } from "./retention.ts";
import { DAY, HOUR, openStage } from "./stage.fixture.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());

const KEEP: KeepDays = { invoices: 450, subscriptions: 450, audit: 365 };

/** One time through all records. */
async function deleted(keep: KeepDays = KEEP): Promise<Gone> {
  const gone: Gone = { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 };
  for await (const some of deleteOld({ db: stage.db, owner: stage.db, ports: stage.ports, keep }))
    for (const [name, count] of Object.entries(some)) gone[name as keyof Gone] += count;
  return gone;
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

/** An invoice of each customer fails and its case ends, with one retry sent. Then more than half a year passes. */
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

/** Another invoice of each fails on the same card: what is decided, and on what that rests. The times differ by merchant: chance spreads them. */
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

test("old invoices are deleted with their records, totals stay exact, and the next decision is the same as without it", async () => {
  const kept = await firstLife();
  stage.wait(500 * DAY);
  const expected = await secondLife(kept);
  assert.ok(expected.length >= CUSTOMERS.length);

  const life = await firstLife();
  const endedAt = stage.now();
  stage.wait(400 * DAY);
  const listing = { filters: {}, orderBy: "created_at", descending: false } as const;
  const listed = await firstActions(stage.db, life.id, listing, 1_000);
  assert.ok(listed.total >= 5, `${listed.total}`);
  assert.deepEqual(
    await deleted(),
    { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 2 },
    "nothing is old enough but what a person did",
  );
  assert.deepEqual(await listAudited(stage.db, life.id, {}, 10), []);
  stage.at(endedAt.getTime() + 500 * DAY);
  assert.deepEqual(await deleted({ invoices: null, subscriptions: null, audit: null }), {
    invoices: 0,
    cases: 0,
    subscriptions: 0,
    auditEntries: 0,
  });
  const gone = await deleted();
  assert.ok(gone.cases >= 2 * CUSTOMERS.length && gone.subscriptions === 2, "of both merchants");

  assert.deepEqual(await idsOf("invoices", life.id), ["barred-old", "lost-old", "stopped-old"], "these are unpaid");
  assert.deepEqual(await idsOf("transactions", life.id), [
    "barred-old-first",
    "cleared-old-first",
    "cleared-old-paid",
    "disputed-old-paid",
  ]);
  for (const table of ["cases", "recovery_actions", "events", "due_cases", "decisions", "delivery_attempts"])
    assert.equal(
      (await stage.db.run(prepared("", `select from ${table} where merchant_id = '${life.id}'`))).rowCount,
      0,
      table,
    );
  assert.deepEqual((await firstActions(stage.db, life.id, listing, 10)).total, 0);
  assert.deepEqual((await stage.db.run(prepared("", WRONG_TOTALS))).rows, []);
  assert.deepEqual(await deleted(), { invoices: 0, cases: 0, subscriptions: 0, auditEntries: 0 }, "once");
  assert.deepEqual(await secondLife(life), expected);
});

test("records that an open case or an experiment can still read stay, however few days the setting says", async () => {
  const { id } = await firstLife({ windowDays: 300 });
  stage.wait(600 * DAY);
  const before = await idsOf("invoices", id);
  await deleted();
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
  await deleted();
  assert.deepEqual(await idsOf("invoices", id), ["barred-old", "lost-old", "paid-old", "stopped-old"]);
  await stage.db.run(prepared("", `update experiments set look_at = null where merchant_id = '${id}'`));

  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(line) });
  const loop = startRetention({ db: stage.db, owner: stage.db, ports: stage.ports, keep: KEEP }, log, HOUR)!;
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
