import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import type { RecoveryAction } from "../../src/domain/recovery-action.ts";
import { prepared } from "../../src/postgres/database.ts";
import {
  expectedActions,
  plannedAction,
  settleAction,
  sortedActions,
} from "../../src/tables/actions-list/action-list.fixture.ts";
import { readFirstPage } from "../../src/tables/actions-list/action-list.ts";
import { type ActionFilters, LISTING_ORDERS } from "../../src/tables/actions-list/action-listing.ts";
import type { TestDatabase } from "../database.ts";
import { createEmptyDatabase, migrateTo } from "../schema-versions.ts";

const MERCHANTS = ["0198a000-0000-7000-8000-000000000001", "0198a000-0000-7000-8000-000000000002"] as const;
/** The last migration before actions were counted, and the last one before they were counted by three hours. */
const [UNCOUNTED, BY_DAYS] = [4, 13];
const START = Date.UTC(2026, 0, 20);
const COUNT = 1_500;

let database: TestDatabase;
before(async () => {
  database = await createEmptyDatabase();
});
after(() => database.drop());

const IN_AUCKLAND = prepared(
  "",
  "do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Pacific/Auckland'); end $$",
);
const CASE = prepared(
  "test_old_case",
  `with invoice as (
     insert into invoices (merchant_id, id, state, customer_id, amount, currency, created_at, updated_at)
     values ($1, 'in', 'UNPAID', 'cus', 900, 'EUR', '2026-01-01', '2026-01-01'))
   insert into cases (merchant_id, id, invoice_id, customer_id, unpaid_at, window_ends_at, budget, opened_at)
   values ($1, $2, 'in', 'cus', '2026-01-01', '2027-01-01', 8, '2026-01-01')`,
);
const COLUMNS = `id, case_id, invoice_id, subscription_id, customer_id, transaction_id, payment_method_type, card_country, currency, type, status,
  integration_type, action_suggestion, ideal_retry_time, reasons, decided_at, executed_at, attempted_at, created_at, updated_at`;
const ACTIONS = prepared(
  "test_old_actions",
  `insert into recovery_actions (merchant_id, ${COLUMNS})
   select $1, ${COLUMNS} from json_populate_recordset(null::recovery_actions, $2)`,
);
const column = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const rowOf = (action: RecoveryAction) =>
  Object.fromEntries(Object.entries(action).map(([field, value]) => [column(field), value]));

const at = (days: number) => new Date(START + days * DAY_MS);
/** Whole months, days and three hours, and what lies between them. */
const RANGES: ActionFilters[] = [
  {},
  { executedAfter: at(12) },
  { executedAfter: at(12), executedBefore: new Date(+at(41) - 1) },
  { executedAfter: at(3.125), executedBefore: new Date(+at(3.5) - 1) },
  { executedAfter: at(2.3), executedBefore: at(29.77) },
];
const FILTERS: ActionFilters[] = [{}, { status: "FAILED" }, { cardCountry: "DE", currency: "EUR" }];

// A server may be set up for another zone than UTC, in which months and days begin.
test("actions from before they were counted are listed and counted in every range of time after the upgrade", async () => {
  const { db, address } = database;
  await db.run(IN_AUCKLAND);
  await migrateTo(address, UNCOUNTED);
  // Many are executed exactly where an hour begins.
  const createdAt = (index: number) => new Date(START + Math.floor(index / 2) * HOUR_MS);
  const actions = MERCHANTS.map((_, number) =>
    Array.from({ length: number === 0 ? COUNT : 100 }, (_, index) =>
      settleAction(plannedAction(index, createdAt(index)), index),
    ),
  );
  for (const [number, merchantId] of MERCHANTS.entries()) {
    await db.run(CASE, [merchantId, actions[number]![0]!.caseId]);
    await db.run(ACTIONS, [merchantId, JSON.stringify(actions[number]!.map(rowOf))]);
  }
  assert.equal(await migrateTo(address, BY_DAYS), BY_DAYS - UNCOUNTED);
  await migrateTo(address);

  for (const [number, merchantId] of MERCHANTS.entries()) {
    const sorted = sortedActions(actions[number]!);
    for (const orderBy of LISTING_ORDERS)
      for (const range of RANGES)
        for (const filter of FILTERS) {
          const listing = { filters: { ...range, ...filter }, orderBy, descending: false };
          const expected = expectedActions(sorted, listing).map(({ id }) => id);
          const found = await readFirstPage(db, merchantId, listing, 20);
          assert.equal(found.total, expected.length, JSON.stringify(listing));
          assert.deepEqual(
            found.actions.map(({ id }) => id),
            expected.slice(0, 20),
          );
        }
  }
});
