import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { anchorClock, createRealPorts, serviceTime, uuidV7 } from "./clock.ts";

const { db, drop } = await createTestDatabase();
after(drop);

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 20) + seconds * 1000);

test("service time runs at its rate, survives restarts, and continues when the rate changes", async () => {
  const first = await anchorClock(db, 60, at(0));
  assert.deepEqual(serviceTime(first, at(10)), at(600));
  const second = await anchorClock(db, 60, at(100));
  assert.deepEqual(second, first);
  const slower = await anchorClock(db, 1, at(100));
  assert.deepEqual(serviceTime(slower, at(100)), at(6000));
  assert.deepEqual(serviceTime(slower, at(101)), at(6001));
  const unchanged = await anchorClock(db, null, at(200));
  assert.deepEqual(unchanged, slower);
});

test("a UUIDv7 starts with its milliseconds and contains version, sequence and variant", () => {
  const id = uuidV7(new Date(0x0198c0de1234), 0xabc, Buffer.alloc(8, 0xff));
  assert.equal(id, "0198c0de-1234-7abc-bfff-ffffffffffff");
});

test("ids of a process are in the order of creation, even when the clock steps back", () => {
  const { newId } = createRealPorts({ realAt: at(0), serviceAt: at(0), rate: 1 });
  const ids = Array.from({ length: 10_000 }, () => newId());
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
});
