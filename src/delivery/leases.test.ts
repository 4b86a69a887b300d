import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { type Connection, type Database, prepared } from "../postgres/database.ts";
import { createManualClock } from "./deliverer.fixture.ts";
import { createLeases, LEASE_TIMINGS } from "./leases.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const RESET = prepared(
  "test_reset",
  "update bucket_leases set owner = null, expires_at = null, backend_pid = null, backend_start = null",
);
const KILL = prepared(
  "test_kill",
  `select pg_terminate_backend(backend_pid, 5000) from (select distinct backend_pid from bucket_leases where owner = $1) b`,
);
const EPOCH = prepared("test_epoch", "select max(epoch) as epoch from bucket_leases");
beforeEach(() => database.db.run(RESET));

const clock = createManualClock();

function startLeaseProcess(
  isBusy: (bucket: number) => boolean = () => false,
  over: Partial<Parameters<typeof createLeases>[0]> = {},
) {
  const owner = randomUUID();
  const log = pino({ level: "silent" });
  const options = { db: database.db, ports: clock.ports, log, owner, timings: LEASE_TIMINGS, isBusy, ...over };
  const leases = createLeases(options);
  return { owner, ...leases, mayStart: () => leases.held().filter((bucket) => leases.epochOf(bucket) !== null).length };
}

test("one process owns all buckets, two share them evenly, and the remaining one takes them back", async () => {
  const [one, two] = [startLeaseProcess(), startLeaseProcess()];
  await one.tick();
  assert.equal(one.mayStart(), 64);
  await two.tick();
  assert.equal(two.mayStart(), 0, "nothing is taken from a live process");
  await one.tick();
  await two.tick();
  assert.deepEqual([one.mayStart(), two.mayStart()], [32, 32]);
  assert.equal(new Set([...one.held(), ...two.held()]).size, 64);
  await two.release();
  await one.tick();
  assert.equal(one.mayStart(), 64);
  await one.release();
});

test("a bucket with attempts in flight is released after they end, and starts no new ones meanwhile", async () => {
  let busy = true;
  const [one, two] = [startLeaseProcess(() => busy), startLeaseProcess()];
  await one.tick();
  await two.tick();
  await one.tick();
  assert.deepEqual([one.held().length, one.mayStart()], [64, 32]);
  busy = false;
  await one.tick();
  await two.tick();
  assert.deepEqual([one.mayStart(), two.mayStart()], [32, 32]);
  await one.release();
  await two.release();
});

test("the buckets of a process are taken at once, under a new epoch, when its connection is lost", async () => {
  const [one, two] = [startLeaseProcess(), startLeaseProcess()];
  await one.tick();
  const epoch = one.epochOf(0)!;
  await database.db.run(KILL, [one.owner]);
  await two.tick();
  assert.equal(two.mayStart(), 64);
  assert.equal(two.epochOf(0), epoch + 1);
  await one.tick();
  assert.ok(one.held().length < 64, "taken buckets are known to be lost");
  assert.equal(one.held().filter((bucket) => two.held().includes(bucket)).length, 0);
  await one.release();
  await two.release();
});

test("a process that lost its connection starts nothing until it reconnects, and keeps its buckets and their epoch", async () => {
  let gained = 0;
  const one = startLeaseProcess(undefined, { onGained: () => gained++ });
  await one.tick();
  const epoch = one.epochOf(5);
  await database.db.run(KILL, [one.owner]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(one.mayStart(), 0, "another process may have them already");
  await one.tick();
  assert.equal(one.mayStart(), 64);
  assert.equal(gained, 2);
  assert.equal(one.epochOf(5), epoch);
  await one.release();
});

test("a process that cannot renew starts nothing when its lease could expire during the attempt, and another process takes over after that", async () => {
  const [hanging, other] = [startLeaseProcess(), startLeaseProcess()];
  await hanging.tick();
  clock.wait(LEASE_TIMINGS.leaseMs - LEASE_TIMINGS.attemptMs - 1);
  assert.equal(hanging.mayStart(), 64);
  clock.wait(1);
  assert.equal(hanging.mayStart(), 0);
  await other.tick();
  assert.equal(other.mayStart(), 0);
  clock.wait(LEASE_TIMINGS.attemptMs);
  await other.tick();
  assert.equal(other.mayStart(), 32, "its fair share, because the hanging process still counts");
  await hanging.tick();
  assert.equal(hanging.held().length, 32, "taken buckets are lost");
  await hanging.release();
  await other.release();
});

test("released buckets are free at once, and a new owner increases the epoch", async () => {
  const one = startLeaseProcess();
  await one.tick();
  const before = (await database.db.run<{ epoch: number }>(EPOCH)).rows[0]!.epoch;
  await one.release();
  assert.deepEqual([one.held(), one.epochOf(0)], [[], null]);
  const two = startLeaseProcess();
  await two.tick();
  assert.equal(two.mayStart(), 64);
  assert.equal((await database.db.run<{ epoch: number }>(EPOCH)).rows[0]!.epoch, before + 1);
  await two.release();
});

test("a tick fails after the statement time limit when the connection does not answer", async () => {
  let isSilent = true;
  const silent: Connection = { run: () => new Promise(() => {}), onLost() {}, onNotified() {}, async close() {} };
  const db: Database = { ...database.db, connect: async () => (isSilent ? silent : database.db.connect()) };
  const one = startLeaseProcess(undefined, { db, timings: { ...LEASE_TIMINGS, statementMs: 100 } });
  await assert.rejects(one.tick(), /no answer/);
  isSilent = false;
  await one.tick();
  assert.equal(one.mayStart(), 64);
  await one.release();
});

const OWNED = prepared("test_owned", "select count(owner)::int as count from bucket_leases");

test("a process that stops without its connection still releases its buckets", async () => {
  const one = startLeaseProcess();
  await one.tick();
  await database.db.run(KILL, [one.owner]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await one.release();
  assert.deepEqual((await database.db.run(OWNED)).rows, [{ count: 0 }]);
});

test("taken, shared and lost buckets are logged with their number, and nothing is logged when nothing changes", async () => {
  const lines: { msg: string; buckets: number | number[]; held?: number; kept?: number }[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const [one, two] = [startLeaseProcess(undefined, { log }), startLeaseProcess()];
  const logged = () => lines.splice(0).map(({ msg, buckets, held, kept }) => ({ msg, buckets, held, kept }));
  await one.tick();
  assert.deepEqual(logged(), [{ msg: "leases.taken", buckets: 64, held: 64, kept: undefined }]);
  await one.tick();
  assert.deepEqual(logged(), []);
  await two.tick();
  await one.tick();
  assert.deepEqual(logged(), [{ msg: "leases.shared", buckets: 32, held: undefined, kept: 32 }]);
  assert.deepEqual(
    one.held().sort((a, b) => a - b),
    Array.from({ length: 32 }, (_, n) => n),
    "the process keeps the lowest buckets",
  );
  await two.tick();
  await database.db.run(KILL, [one.owner]);
  await two.tick();
  await two.tick();
  await one.tick();
  const [lost] = lines.filter(({ msg }) => msg === "leases.lost");
  assert.equal((lost!.buckets as number[]).length, 32);
  await one.release();
  await two.release();
});

test("leases are renewed after the renewal interval and not before", async () => {
  const renewed: string[] = [];
  const counting: Database = {
    ...database.db,
    async connect(answerMs) {
      const connection = await database.db.connect(answerMs);
      const run: Connection["run"] = (statement, values) => {
        if (/renew_bucket|announce/.test(statement.name)) renewed.push(statement.name);
        return connection.run(statement, values);
      };
      return { ...connection, run };
    },
  };
  const one = startLeaseProcess(undefined, { db: counting });
  const tick = async () => {
    await one.tick();
    return renewed.splice(0);
  };
  assert.deepEqual(await tick(), ["announce_deliverer", "renew_bucket_leases"]);
  clock.wait(LEASE_TIMINGS.renewMs - 1);
  assert.deepEqual(await tick(), []);
  clock.wait(1);
  assert.deepEqual(await tick(), ["renew_bucket_leases"]);
  await one.release();
});

test("a gain of buckets is reported only when there is one", async () => {
  let gained = 0;
  const one = startLeaseProcess(undefined, { onGained: () => gained++ });
  await one.tick();
  await one.tick();
  assert.equal(gained, 1);
  await one.release();
});

test("a bucket is used when the reply to its acquisition was lost", async () => {
  let losesReply = true;
  const forgetful: Database = {
    ...database.db,
    async connect(answerMs) {
      const connection = await database.db.connect(answerMs);
      const run: Connection["run"] = async (statement, values) => {
        const result = await connection.run(statement, values);
        if (statement.name === "take_bucket_leases" && losesReply) {
          losesReply = false;
          return { ...result, rows: [] };
        }
        return result as never;
      };
      return { ...connection, run };
    },
  };
  const one = startLeaseProcess(undefined, { db: forgetful });
  await one.tick();
  assert.equal(one.mayStart(), 0);
  clock.wait(LEASE_TIMINGS.renewMs);
  await one.tick();
  assert.equal(one.mayStart(), 64);
  await one.release();
});
