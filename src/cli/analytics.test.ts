import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { DAY_MS } from "../domain/durations.ts";
import { prepared } from "../postgres/database.ts";
import { analytics } from "./analytics.ts";
import { runAndCapture } from "./context.fixture.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const SUM = prepared(
  "test_recovery_sum",
  `insert into recovery_sums (merchant_id, dimension, since, value, currency, n, recovered, amount, recovered_amount)
   values ($1, $2, date_trunc('day', $3::timestamptz, 'UTC'), $4, $5, 3, 1, 3000, 1000)`,
);

async function setUp() {
  const { id } = await makeMerchant(database.db);
  const since = new Date(realPorts.now().getTime() - 60 * DAY_MS);
  for (const [dimension, value, currency] of [
    ...["10", "2", "1"].map((number) => ["attempt", number, ""] as const),
    ...["100", "21", "9"].map((hour) => ["hour", hour, ""] as const),
    ...["200", "50", "1000"].map((band) => ["amount", band, "EUR"] as const),
  ])
    await database.db.run(SUM, [id, dimension, since, value, currency]);
  return {
    run: async (values: Record<string, string | boolean>) =>
      (await runAndCapture(database.db, analytics, { merchant: id, ...values }, [])).split("\n"),
  };
}

test("`analytics` prints retries, hours and amounts in their order, and amounts only where there are any", async () => {
  const { run } = await setUp();
  const firstWords = (lines: string[]) => lines.slice(1).map((line) => line.split("  ")[0]);
  const retries = await run({ by: "attempt" });
  assert.deepEqual(firstWords(retries), ["1st retry", "2nd retry", "10th retry"]);
  assert.match(retries[0]!, /^ +COUNT +RECOVERED +RATE$/);
  assert.deepEqual(firstWords(await run({ by: "hour" })), ["Monday, 09:00", "Monday, 21:00", "Friday, 04:00"]);
  const amounts = await run({ by: "amount" });
  assert.deepEqual(firstWords(amounts), ["50", "200", "1000"]);
  assert.match(amounts[0]!, /RATE +FAILED +MONEY RECOVERED$/);
  const { rows } = JSON.parse((await run({ by: "hour", json: true })).join("\n"));
  assert.deepEqual(
    rows.map(({ value }: { value: string }) => value),
    ["9", "21", "100"],
  );
});

test("`analytics` reads a currency in small letters, and names options as they are typed", async () => {
  const { run } = await setUp();
  await run({ currency: "eur" });
  for (const [values, message] of [
    [{ currency: "euro" }, "--currency must be three capital letters, such as EUR."],
    [{ from: "2026-02-01T00:00:00Z", to: "2026-01-01T00:00:00Z" }, "--from must be before --to."],
    [{ from: "2001-01-01T00:00:00Z" }, "--from must be at most 1100 days before --to."],
  ] as const)
    await assert.rejects(run(values), { message });
});
