import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { prepared } from "../postgres/database.ts";
import { HOUR, MINUTE, openStage } from "./stage.fixture.ts";

const stage = await openStage();
before(async () => {
  for (const sql of [
    "create table test_writes (merchant_id uuid, id uuid)",
    `create function test_write() returns trigger language plpgsql as
     $$ begin insert into test_writes values (new.merchant_id, new.id); return null; end $$`,
    "create trigger test_write after insert or update on recovery_actions for each row execute function test_write()",
  ])
    await stage.db.run(prepared("", sql));
});
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const COUNT_WRITES = prepared(
  "test_count",
  "select count(*) as writes from test_writes group by id order by min(ctid)",
);
const countWrites = async () => {
  const { rows } = await stage.db.run<{ writes: number }>(COUNT_WRITES);
  await stage.db.run(prepared("", "truncate test_writes"));
  return rows.map((row) => row.writes);
};

// Each write of the listed table costs an update of all its indexes.
test("a listed action is written four times: when planned, decided, sent and settled", async () => {
  await stage.transaction();
  await stage.invoice();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.wait(1_000);
  await stage.transaction({ recoveryActionId: sent.id, state: "PAID", createdAt: sent.ideal });
  await stage.decide();
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const [action] = await stage.actions();
  assert.equal(action!.status, "SUCCEEDED");
  assert.deepEqual(await countWrites(), [4]);
});

test("a fact costs one more write of an action only if it changes the plan", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.transaction();
  await stage.decide();
  for (let count = 0; count < 5; count++) {
    await stage.invoice({ businessEntity: `entity ${count}`, updatedAt: stage.now() });
    stage.wait(1);
    await stage.decide();
  }
  await stage.untilSent();
  assert.deepEqual(await countWrites(), [4]);
});

const SELECT_EXECUTED = prepared(
  "test_executed",
  `select status, executed_at as "executedAt", updated_at as "updatedAt" from recovery_actions
   where merchant_id = $1 and executed_at is not null`,
);
type ExecutedRow = { status: string; executedAt: Date; updatedAt: Date };
const listExecuted = async () => (await stage.db.run<ExecutedRow>(SELECT_EXECUTED, [merchantId])).rows;

// A merchant who pages through the list by executedAt has passed this action and does not return.
test("a retry keeps the time of its first recorded execution when it fails and then succeeds", async () => {
  await stage.invoice();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + MINUTE);
  await stage.transaction({ recoveryActionId: sent.id });
  await stage.decide();
  const [failed] = await listExecuted();
  assert.equal(failed!.status, "FAILED");
  stage.wait(HOUR);
  await stage.transaction({ recoveryActionId: sent.id, state: "PAID" });
  await stage.decide();
  const [succeeded] = await listExecuted();
  assert.deepEqual([succeeded!.status, succeeded!.executedAt], ["SUCCEEDED", failed!.executedAt]);
  assert.ok(succeeded!.updatedAt > failed!.updatedAt);
});
