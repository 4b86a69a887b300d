import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { DAY_MS } from "../../domain/durations.ts";
import { prepared } from "../../postgres/database.ts";
import {
  cursorOn,
  expectedActions,
  insertActions,
  plannedAction,
  pseudoRandom,
  type Sorted,
  settleAction,
  sortedActions,
  updateActions,
} from "./action-list.fixture.ts";
import { readFirstPage, readPageAfter } from "./action-list.ts";
import type { ActionFilters, ListingOrder } from "./action-listing.ts";

const MERCHANT = "0198a000-0000-7000-8000-000000000001";
const START = Date.UTC(2026, 0, 20);
const LIMIT = 50;
/** Some actions are planned on each day of two months, and most on four days. */
const EVENLY = 3_000;
const COUNT = 18_000;
const DAYS = 60;
const BUSY_FROM = 30;
const BUSY_DAYS = 4;
/** As in action-candidates.ts. */
const FEW = 5_000;
const SPARSE = 600;
/** The last actions are a separate group. */
const LAST = 15;
const LOOKS = 12;
const TIES = 5;

const at = (days: number) => new Date(START + days * DAY_MS);
const RANGES: { range: ActionFilters; days: number }[] = [
  { range: { executedAfter: at(2.3), executedBefore: at(77.2) }, days: 76 },
  { range: { executedBefore: at(50.1) }, days: 51 },
  { range: { executedAfter: at(10.6) }, days: 140 },
  { range: { executedAfter: at(BUSY_FROM + 0.1), executedBefore: at(BUSY_FROM + BUSY_DAYS + 0.9) }, days: 5 },
];
const BUSY = RANGES.at(-1)!;

let database: TestDatabase;
let sorted: Sorted;
before(async () => {
  database = await createTestDatabase();
  // Two actions share each time.
  const createdAt = (each: number) => {
    const index = each - (each % 2);
    return index < EVENLY
      ? at((index / EVENLY) * DAYS)
      : at(BUSY_FROM + ((index - EVENLY) / (COUNT - EVENLY)) * BUSY_DAYS);
  };
  const createdLast = (index: number) => new Date(+at(77.2) - (index + 1) * 60_000);
  const actions = [
    ...Array.from({ length: COUNT }, (_, index) => plannedAction(index, createdAt(index))),
    ...Array.from({ length: LAST }, (_, index) => plannedAction(index, createdLast(index))),
  ];
  await insertActions(database.db, MERCHANT, actions);
  // Some are executed at once, so that all their times are equal.
  const listed = actions.map((action, index) => {
    const one = settleAction(action, index);
    const { createdAt } = one;
    if (index >= COUNT)
      return {
        ...one,
        type: "RETRY" as const,
        status: "SUCCEEDED" as const,
        cardCountry: "IS",
        currency: "JPY",
        executedAt: createdAt,
        updatedAt: createdAt,
      };
    const isAtOnce = one.executedAt !== null && index % 20 < 2;
    return isAtOnce ? { ...one, executedAt: createdAt, updatedAt: createdAt } : one;
  });
  await updateActions(database.db, MERCHANT, listed);
  sorted = sortedActions(listed);
});
after(() => database.drop());

/** Compares the first page, and pages after actions all over the list. */
async function check(filters: ActionFilters, orderBy: ListingOrder, descending: boolean) {
  const listing = { filters, orderBy, descending };
  const expected = expectedActions(sorted, listing);
  const ids = expected.map(({ id }) => id);
  const { total, actions } = await readFirstPage(database.db, MERCHANT, listing, LIMIT);
  assert.equal(total, ids.length);
  assert.deepEqual(
    actions.map(({ id }) => id),
    ids.slice(0, LIMIT),
    JSON.stringify(listing),
  );
  const drawn = Array.from({ length: LOOKS }, (_, look) => Math.floor(pseudoRandom(look, 9) * ids.length));
  const cursors = expected.map((action) => cursorOn(action, orderBy));
  const ties = [...cursors.keys()].filter((index) => cursors[index]!.at === cursors[index + 1]?.at).slice(0, TIES);
  assert.equal(ties.length, TIES);
  for (const index of [0, LIMIT - 1, ...drawn, ...ties, ids.length - 2, ids.length - 1]) {
    const cursor = cursors[index]!;
    const page = await readPageAfter(database.db, MERCHANT, listing, cursor, total, LIMIT);
    const wanted = ids.slice(index + 1, index + 1 + LIMIT);
    assert.deepEqual(
      page.map(({ id }) => id),
      wanted,
      `${JSON.stringify(listing)} after ${index}`,
    );
  }
}

for (const orderBy of ["created_at", "updated_at"] as const)
  for (const descending of [false, true])
    test(`pages of a long execution range are correct by ${orderBy} ${descending ? "descending" : "ascending"}, with and without a filter, with few and many actions per day`, async () => {
      for (const { range } of RANGES)
        for (const filter of [{}, { type: "RETRY" as const }])
          await check({ ...filter, ...range }, orderBy, descending);
    });

// The statistics of a session's first transaction, because the shared ones are delayed.
const READ = prepared(
  "test_read",
  "select sum(pg_stat_get_xact_tuples_returned(indexrelid))::int8 as entries from pg_index where indrelid = any('{recovery_actions,listed_actions}'::regclass[])",
);

test("days beyond a page are walked only to the end of the page when it starts with a small group", async () => {
  const filters: ActionFilters = { type: "RETRY", ...RANGES[0]!.range };
  const connection = await database.db.connect();
  try {
    await connection.run(prepared("test_begin", "begin"));
    await readFirstPage(connection, MERCHANT, { filters, orderBy: "created_at", descending: true }, LIMIT);
    const read = (await connection.run<{ entries: number }>(READ)).rows[0]!.entries;
    assert.ok(read > 0 && read < 2_000, `${read} entries`);
  } finally {
    await connection.close();
  }
});

test("the tested ranges are too long to be sorted, and all except the busy one have few actions per day", () => {
  for (const each of RANGES) {
    const filters: ActionFilters = { type: "RETRY", ...each.range };
    const { length } = expectedActions(sorted, { filters, orderBy: "created_at", descending: false });
    assert.ok(length > Math.max(FEW, (LIMIT + 1) * each.days), `${length} in ${each.days} days`);
    assert.equal(length / each.days > SPARSE, each === BUSY, `${length} in ${each.days} days`);
  }
});
