import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { prepared } from "../postgres/database.ts";
import {
  latestAttemptsAtBanks,
  latestAttemptsOfMerchant,
  type OtherCustomerAttempt,
} from "./other-customers-attempts.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const MERCHANT = "01900000-0000-7000-8000-000000000001";
const NOON = Date.parse("2026-03-02T12:00:00Z");
const at = (minutes: number) => new Date(NOON + minutes * 60_000);

const ADD = prepared(
  "add_attempt",
  `insert into transactions (merchant_id, id, state, invoice_id, amount, currency, created_at, updated_at, card_issuer)
   values ($1, $2, $3, 'inv', 100, 'EUR', $4, $4, $5)`,
);
const add = (minutes: number, issuer: string | null, state = "FAILED", of = MERCHANT) =>
  db.run(ADD, [of, `${minutes} ${issuer}`, state, at(minutes), issuer]);

test("the latest ended attempts are read by bank or for the merchant, without other merchants' or later ones", async () => {
  for (let n = -5; n <= 2; n++) await add(n, n % 2 === 0 ? "N26" : "ING");
  await add(-0.5, null, "PAID");
  await add(-0.6, "N26", "PENDING");
  await add(-0.7, "N26", "FAILED", "01900000-0000-7000-8000-000000000002");
  const told = (read: readonly OtherCustomerAttempt[]) =>
    read.map(({ createdAt, cardIssuer }) => `${cardIssuer} ${(createdAt.getTime() - NOON) / 60_000}`).sort();
  const [since, now] = [at(-4), at(0)];
  const all = await latestAttemptsOfMerchant(db, MERCHANT, since, now, 3);
  assert.deepEqual(told(all), ["ING -1", "N26 0", "undefined -0.5"]);
  assert.deepEqual(all.map(({ state }) => state).sort(), ["FAILED", "FAILED", "PAID"]);
  assert.deepEqual(told(await latestAttemptsAtBanks(db, MERCHANT, ["N26", "ING", "none"], since, now, 2)), [
    "ING -1",
    "ING -3",
    "N26 -2",
    "N26 0",
  ]);
  assert.deepEqual(told(await latestAttemptsAtBanks(db, MERCHANT, ["N26"], since, now, 9)), ["N26 -2", "N26 0"]);
});

const FILL = prepared(
  "fill_attempts",
  `insert into transactions (merchant_id, id, state, invoice_id, amount, currency, created_at, updated_at)
   select $1, 'attempt ' || n, $2, 'inv', 100, 'EUR', $3, $3 from generate_series(1, 5000) n`,
);
const FETCHED = prepared(
  "rows_fetched",
  "select (seq_tup_read + idx_tup_fetch)::int4 as rows from pg_stat_xact_user_tables where relname = 'transactions'",
);

test("only the requested number of rows is read when thousands of attempts are pending or have the same time", async () => {
  const pending = "01900000-0000-7000-8000-000000000003";
  const atOnce = "01900000-0000-7000-8000-000000000004";
  await db.run(FILL, [pending, "PENDING", at(0)]);
  await db.run(FILL, [atOnce, "PAID", at(0)]);
  await db.run(prepared("", "analyze transactions"), []);
  for (const [merchant, found] of [
    [pending, 0],
    [atOnce, 48],
  ] as const)
    await db.transaction(async (tx) => {
      const fetched = async () => (await tx.run<{ rows: number }>(FETCHED, [])).rows[0]!.rows;
      const before = await fetched();
      assert.equal((await latestAttemptsOfMerchant(tx, merchant, at(-4), at(0), 48)).length, found);
      assert.equal((await fetched()) - before, found);
    });
});
