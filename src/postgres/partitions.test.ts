import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { uuidV7 } from "../process/clock.ts";
import { maintainDecisionPartitions } from "../tables/decisions.ts";
import { logRequests, maintainRequestLogPartitions, UNAUTHENTICATED_MERCHANT_ID } from "../tables/request-log.ts";
import { prepared } from "./database.ts";

const LONG_AGO = new Date("2000-01-01");
let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());
const machineZone = process.env.TZ;
afterEach(() => {
  if (machineZone === undefined) delete process.env.TZ;
  else process.env.TZ = machineZone;
});

const PARTITION = prepared("test_partition", "select tableoid::regclass::text as name from request_log where id = $1");
async function partitionOfRequestAt(at: Date) {
  const id = uuidV7(at, 0, Buffer.alloc(8, 1));
  const unknown = { callerRequestId: null, keyId: null, records: null, stored: null, older: null, error: null };
  const request = {
    ...unknown,
    merchantId: UNAUTHENTICATED_MERCHANT_ID,
    id,
    at,
    method: "GET",
    route: "/",
    status: 200,
    durationUs: 1,
  };
  await logRequests(database.db, [request]);
  return (await database.db.run<{ name: string }>(PARTITION, [id])).rows[0]!.name;
}

// One zone is 11 hours behind UTC, the other 14 hours ahead.
for (const [zone, year] of [
  ["Pacific/Pago_Pago", 2040],
  ["Pacific/Kiritimati", 2042],
] as const)
  test(`partitions are days and months in UTC on a machine in ${zone}`, async () => {
    process.env.TZ = zone;
    const [first, last] = [new Date(`${year}-02-01T00:30:00Z`), new Date(`${year}-02-28T23:30:00Z`)];
    assert.ok(first.getDate() !== 1 || last.getDate() !== 28, "the zone is in use");
    const made = async (keep: typeof maintainRequestLogPartitions, now: Date) =>
      (await keep(database.db, now, LONG_AGO)).made;
    const days = [`request_log_${year}_02_01`, `request_log_${year}_02_02`];
    assert.deepEqual(await made(maintainRequestLogPartitions, first), days);
    assert.deepEqual(await made(maintainDecisionPartitions, first), [`decisions_${year}_02`, `decisions_${year}_03`]);
    assert.deepEqual(await made(maintainDecisionPartitions, last), []);
    assert.deepEqual(await made(maintainRequestLogPartitions, new Date(`${year}-02-01T23:30:00Z`)), []);
    assert.equal(await partitionOfRequestAt(new Date(`${year}-01-31T23:59:59.999Z`)), "request_log_default");
    for (const time of ["00:00:00.000", "23:59:59.999"])
      assert.equal(await partitionOfRequestAt(new Date(`${year}-02-01T${time}Z`)), days[0]);
    const nextDay = new Date(`${year}-02-02T00:00:00Z`);
    const { dropped } = await maintainRequestLogPartitions(database.db, nextDay, nextDay);
    assert.deepEqual(
      dropped.filter((name) => days.includes(name)),
      [days[0]],
    );
  });

const READ_ISOLATION = prepared(
  "test_walls",
  `select i.inhrelid::regclass::text as part, c.relrowsecurity and c.relforcerowsecurity as forced,
     pg_get_expr(own.polqual, own.polrelid) = pg_get_expr(p.polqual, p.polrelid) as same
   from pg_inherits i join pg_class c on c.oid = i.inhrelid and c.relkind = 'r'
   left join pg_policy p on p.polrelid = i.inhparent and p.polname = 'wall'
   left join pg_policy own on own.polrelid = i.inhrelid and own.polname = 'wall' order by 1`,
);

test("every partition has the row-level security of its table, so that a dump of all merchants contains all rows", async () => {
  const now = new Date("2050-06-15T00:00:00Z");
  for (const keep of [maintainRequestLogPartitions, maintainDecisionPartitions]) await keep(database.db, now, LONG_AGO);
  const { rows } = await database.db.run<{ part: string; forced: boolean; same: boolean }>(READ_ISOLATION);
  const names = rows.map(({ part }) => part);
  for (const name of ["request_log_2050_06_15", "decisions_2050_06", "decisions_default", "delivery_attempts_default"])
    assert.ok(names.includes(name), `${names}`);
  assert.deepEqual(
    rows.filter(({ forced, same }) => !forced || !same),
    [],
  );
});
