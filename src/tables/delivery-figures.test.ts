import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { withRewrittenStatements } from "../../test/wall/unscoped-statements.ts";
import { prepared, type Statement } from "../postgres/database.ts";
import { roleAddresses } from "../postgres/roles.ts";
import { openTenantDatabase, type TenantDatabase } from "../postgres/tenant-database.ts";
import { countAttemptsByHour, readDeliveryFigures } from "./delivery-figures.ts";

let database: TestDatabase;
let tenantDatabase: TenantDatabase;
before(async () => {
  database = await createTestDatabase();
  tenantDatabase = openTenantDatabase(roleAddresses(database.address, true).api, 1, () => {});
});
after(async () => {
  await tenantDatabase.close();
  await database.drop();
});

const FILL = prepared(
  "",
  `insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends)
   select $1, gen_random_uuid(), 1, 1, at, at, 1, 'delivered'
   from generate_series('2026-03-01'::timestamptz, '2026-03-31', '30 seconds') at`,
);

test("the figures of a day read only that day of the log", async () => {
  const merchantId = randomUUID();
  await database.db.run(FILL, [merchantId]);
  await database.db.run(prepared("", "vacuum analyze delivery_attempts"));
  const since = new Date("2026-03-30");
  const behind = tenantDatabase.of(merchantId);
  assert.equal((await readDeliveryFigures(behind, merchantId, since)).firstAttempts, 2_881);
  for (const figures of [readDeliveryFigures, countAttemptsByHour]) {
    let asked: Statement | undefined;
    await figures(
      withRewrittenStatements(behind, (statement) => {
        asked = statement;
        return statement;
      }),
      merchantId,
      since,
    );
    const plan = await behind.run(prepared("", `explain (costs off) ${asked!.text}`), [merchantId, since]);
    assert.match(JSON.stringify(plan.rows), /Bitmap Index Scan on delivery_attempts_default_started_at_idx/);
  }
});

const ATTEMPTED = prepared(
  "",
  `insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends)
   select $1, gen_random_uuid(), 1, 1, at, at, 1, case when n % 2 = 1 then 'delivered' end
   from unnest($2::timestamptz[]) with ordinality as begun (at, n)`,
);

test("an attempt counts from exactly the requested time, and after a full hour in the next hour", async () => {
  const merchantId = randomUUID();
  const since = new Date("2026-05-30T22:30:00Z");
  const HOUR = 3_600_000;
  const begun = [-1, 0, HOUR - 1, HOUR, 2 * HOUR].map((ms) => new Date(since.getTime() + ms));
  await database.db.run(ATTEMPTED, [merchantId, begun]);
  const behind = tenantDatabase.of(merchantId);
  assert.deepEqual(await countAttemptsByHour(behind, merchantId, since), [
    { hour: 0, delivered: 1, failed: 1 },
    { hour: 1, delivered: 0, failed: 1 },
    { hour: 2, delivered: 1, failed: 0 },
  ]);
  const { firstAttempts, firstSuccesses } = await readDeliveryFigures(behind, merchantId, since);
  assert.deepEqual([firstAttempts, firstSuccesses], [4, 2]);
});
