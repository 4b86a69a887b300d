import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { DAY_MS } from "../../domain/durations.ts";
import { ACTION_STATUSES, type RecoveryAction } from "../../domain/recovery-action.ts";
import { prepared } from "../../postgres/database.ts";
import { idsWithPrefix } from "../id-prefix.ts";
import { advanceMerchantClock } from "../merchant-clocks.ts";
import { deleteRecoveryActions, insertRecoveryActions, updateRecoveryActions } from "../recovery-actions.ts";
import {
  expectedActions,
  insertActions,
  plannedAction,
  type Sorted,
  settleAction,
  sortedActions,
  updateActions,
} from "./action-list.fixture.ts";
import { readFirstPage, readPageAfter } from "./action-list.ts";
import { type ActionFilters, type ActionListing, LISTING_ORDERS, type ListingOrder } from "./action-listing.ts";

const MERCHANT = "0198a000-0000-7000-8000-000000000001";
const OTHER = "0198a000-0000-7000-8000-000000000002";
const START = Date.UTC(2026, 0, 20);
/** More than are sorted directly. */
const COUNT = 6_500;
const MERGED = 5_000;
const MERGED_PAGE = 50;

let database: TestDatabase;
let listed: RecoveryAction[];
let sorted: Sorted;
before(async () => {
  database = await createTestDatabase();
  // Several actions are created in the same millisecond.
  const createdAt = (index: number) => new Date(START + Math.floor(index / 3) * 2_400_000);
  listed = Array.from({ length: COUNT }, (_, index) => plannedAction(index, createdAt(index)));
  await insertActions(database.db, MERCHANT, listed);
  await insertActions(database.db, OTHER, listed.slice(0, 100));
  listed = listed.map(settleAction);
  await updateActions(database.db, MERCHANT, listed);
  sorted = sortedActions(listed);
});
after(() => database.drop());

const expected = (listing: ActionListing) => expectedActions(sorted, listing).map(({ id }) => id);

async function walk(listing: ActionListing, limit: number) {
  const first = await readFirstPage(database.db, MERCHANT, listing, limit);
  const found = [...first.actions];
  for (let page = first.actions; page.length === limit; found.push(...page)) {
    const { id, cursorAt: at } = page.at(-1)!;
    page = await readPageAfter(database.db, MERCHANT, listing, { at, id }, first.total, limit);
  }
  return { total: first.total, ids: found.map(({ id }) => id) };
}

const at = (days: number) => new Date(START + days * DAY_MS);
const FILTERS: ActionFilters[] = [
  {},
  { cardCountry: "DE" },
  { cardCountry: "IS", currency: "SEK" },
  { cardCountry: "JP" },
  { type: "CARD_CHANGE" },
  { status: "SENT" },
  { status: "OPEN" },
  { status: "OPEN", type: "RETRY", cardCountry: "DE" },
  { status: "OPEN", customerId: "cus_7" },
  { type: "RETRY", status: "FAILED", currency: "EUR" },
  { customerId: "cus_7", status: "SUCCEEDED" },
  { subscriptionId: "sub_11", invoiceId: "in_11" },
  { transactionId: "tx_40" },
];
const DATES: ActionFilters[] = [
  {},
  { executedBefore: at(80.2) },
  { executedAfter: at(1.1), executedBefore: at(77) },
  { executedAfter: at(12), executedBefore: at(12.7) },
  { executedAfter: at(20), executedBefore: at(19) },
];

for (const orderBy of LISTING_ORDERS)
  for (const descending of [false, true])
    test(`every filter and time range lists and counts each action once by ${orderBy} ${descending ? "descending" : "ascending"}`, async () => {
      for (const filter of FILTERS)
        for (const dates of DATES) await check({ ...filter, ...dates }, orderBy, descending);
    });

test("a search that finds too many cases walks the list in its order, with every filter", async () => {
  const found = { range: idsWithPrefix("in_1") };
  for (const orderBy of LISTING_ORDERS)
    for (const filters of [{}, { status: "SENT" as const }, DATES[2]!, { ...DATES[2]!, customerId: "cus_7" }]) {
      const listing = { filters, orderBy, descending: true };
      const ids = expectedActions(sorted, listing).filter(({ invoiceId }) => invoiceId.startsWith("in_1"));
      const first = await readFirstPage(database.db, MERCHANT, { ...listing, found }, 10_000);
      assert.deepEqual([first.total, first.actions.map(({ id }) => id)], [ids.length, ids.map(({ id }) => id)]);
    }
});

test("an open time range is empty in every order when nothing was executed", async () => {
  for (const dates of [{ executedAfter: at(1) }, { executedBefore: at(1) }])
    for (const orderBy of LISTING_ORDERS)
      for (const descending of [false, true]) {
        const listing = { filters: dates, orderBy, descending };
        assert.deepEqual(await readFirstPage(database.db, randomUUID(), listing, 10), { total: 0, actions: [] });
      }
});

test("some tested range has enough executions that its days are merged", () => {
  const filters = DATES[1]!;
  const { length } = expected({ filters, orderBy: "created_at", descending: false });
  const days = Math.ceil((filters.executedBefore!.getTime() - START) / DAY_MS) + 1;
  assert.ok(length > Math.max(MERGED, (MERGED_PAGE + 1) * days), `${length} in ${days} days`);
});

test("each status lists the actions with that status, and OPEN those of all open ones", async () => {
  for (const status of [...ACTION_STATUSES, "OPEN"] as const) await check({ status }, "updated_at", false);
});

async function check(filters: ActionFilters, orderBy: ListingOrder, descending: boolean) {
  const listing = { filters, orderBy, descending };
  const ids = expected(listing);
  // Such small pages make the days of execution be merged, if there are enough actions.
  const isMerged = ids.length > MERGED && filters.executedBefore !== undefined && orderBy !== "executed_at";
  const found = await walk(listing, isMerged ? MERGED_PAGE : Math.max(7, Math.ceil(ids.length / 3)));
  assert.equal(found.total, ids.length, JSON.stringify(listing));
  assert.deepEqual(found.ids, ids, JSON.stringify(listing));
}

const MISCOUNTED = prepared(
  "test_miscounted",
  `select count(*) as wrong from (
     (select merchant_id, 'all' as span, null::timestamptz as starts_at, facets, count(*) as n from recovery_actions group by 1, 4
      union all select merchant_id, 'month', date_trunc('month', executed_at, 'UTC'), facets, count(*) from recovery_actions where executed_at is not null group by 1, 3, 4
      union all select merchant_id, 'day', date_trunc('day', executed_at, 'UTC'), facets, count(*) from recovery_actions where executed_at is not null group by 1, 3, 4
      union all select merchant_id, '3h', date_bin('3 hours', executed_at, 'epoch'), facets, count(*) from recovery_actions where executed_at is not null group by 1, 3, 4)
     except
     (select merchant_id, 'all', null, facets, actions from action_counts union all select * from executed_counts)
   ) miscounted`,
);
const LISTED = "select merchant_id, id, facets, created_at, updated_at, executed_at, executed_on, amount_due from";
const MISLISTED = prepared(
  "test_mislisted",
  `select count(*) as wrong from (
     (${LISTED} recovery_actions except ${LISTED} listed_actions)
     union all (${LISTED} listed_actions except ${LISTED} recovery_actions)
   ) mislisted`,
);
const COUNTED = prepared(
  "test_counted",
  "select sum(actions)::int8 as counted from action_counts where merchant_id = $1",
);

test("counts and orders follow an action from planned to settled and settled again, separately by merchant", async () => {
  const changed = listed.slice(0, 500).map((action, index) => {
    const status = index % 2 ? ("CANCELED" as const) : ("SUCCEEDED" as const);
    return { ...action, status, executedAt: status === "SUCCEEDED" ? action.updatedAt : null, cardCountry: "AT" };
  });
  await assert.rejects(
    database.db.transaction(async (tx) => {
      await updateRecoveryActions(tx, MERCHANT, changed);
      await insertRecoveryActions(tx, MERCHANT, [{ ...plannedAction(1, at(0)), currency: "JPY" }]);
      assert.equal((await tx.run<{ wrong: number }>(MISCOUNTED)).rows[0]!.wrong, 0);
      assert.equal((await tx.run<{ wrong: number }>(MISLISTED)).rows[0]!.wrong, 0);
      assert.equal((await tx.run<{ counted: number }>(COUNTED, [MERCHANT])).rows[0]!.counted, COUNT + 1);
      await deleteRecoveryActions(tx, MERCHANT, [changed[0]!.caseId]);
      assert.equal((await tx.run<{ wrong: number }>(MISCOUNTED)).rows[0]!.wrong, 0);
      assert.equal((await tx.run<{ wrong: number }>(MISLISTED)).rows[0]!.wrong, 0);
      throw new Error("taken back");
    }),
    /taken back/,
  );
  assert.equal((await database.db.run<{ wrong: number }>(MISCOUNTED)).rows[0]!.wrong, 0);
  assert.equal((await database.db.run<{ counted: number }>(COUNTED, [MERCHANT])).rows[0]!.counted, COUNT);
  assert.equal((await database.db.run<{ counted: number }>(COUNTED, [OTHER])).rows[0]!.counted, 100);
});

const ADVANCE_OF_0_2_0 = prepared(
  "test_advance",
  `insert into merchant_clocks (merchant_id, last_at) values ($1, now())
   on conflict (merchant_id) do update set last_at = excluded.last_at`,
);

test("a process that does not know listed_actions cannot advance the clock, which it does before it writes actions", async () => {
  const id = randomUUID();
  await advanceMerchantClock(database.db, id, at(0));
  await assert.rejects(database.db.run(ADVANCE_OF_0_2_0, [id]), /null value in column "lists"/);
});

// Of a session's first transaction, because the shared ones are delayed.
const UPDATES = prepared(
  "test_updates",
  `select pg_stat_get_xact_tuples_updated(oid) as updated, pg_stat_get_xact_tuples_hot_updated(oid) as "withoutIndexes"
   from pg_class where oid = 'recovery_actions'::regclass`,
);

test("an update of an action writes no index of its table", async () => {
  const action = { ...plannedAction(0, at(90)), id: randomUUID() };
  const executedAt = at(92);
  const sent = { ...action, status: "SENT" as const, updatedAt: at(91) };
  const outcome = { status: "SUCCEEDED" as const, transactionId: "tx", executedAt, updatedAt: executedAt };
  const settled = { ...sent, ...outcome, cardCountry: "AT", decidedAt: executedAt };
  const connection = await database.db.connect();
  try {
    await connection.run(prepared("test_begin", "begin"));
    await insertRecoveryActions(connection, OTHER, [action]);
    for (const each of [sent, settled]) await updateRecoveryActions(connection, OTHER, [each]);
    assert.deepEqual((await connection.run(UPDATES)).rows, [{ updated: 2, withoutIndexes: 2 }]);
  } finally {
    await connection.close();
  }
});

test("an action is rejected when it was executed before its creation, or last updated before its execution", async () => {
  const executed = listed.find(({ executedAt }) => executedAt !== null)!;
  const early = new Date(executed.createdAt.getTime() - 1);
  for (const moments of [{ executedAt: early }, { updatedAt: new Date(executed.executedAt!.getTime() - 1) }])
    await assert.rejects(
      database.db.transaction((tx) => updateRecoveryActions(tx, MERCHANT, [{ ...executed, ...moments }])),
      /recovery_actions_moments/,
    );
});
