import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, test } from "node:test";
import { testDatabase } from "../../test/database.ts";
import { isOutage, openDatabase, prepared, sqlState } from "./database.ts";

const { db, drop } = await testDatabase();
after(drop);

const message = (type: string, body: Buffer) => {
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
};

test("a server that dies in the breath in which it says hello rejects a promise and ends no process", async () => {
  const fatal = "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0";
  const hello = [message("R", Buffer.alloc(4)), message("Z", Buffer.from("I")), message("E", Buffer.from(fatal))];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(Buffer.concat(hello)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const dying = openDatabase({ url: `postgres://u:p@127.0.0.1:${port}/d` }, 1, () => {});
  await assert.rejects(
    dying.transaction(async () => {}),
    (error) => isOutage(error),
  );
  await dying.close();
  server.close();
});

const RAISE = (code: string) =>
  prepared(`raise_${code}`, `do $$ begin raise exception 'planned' using errcode = '${code}'; end $$`);

test("a transaction that PostgreSQL asks to repeat is run again from the start, five times at most", async () => {
  let runs = 0;
  const done = await db.transaction(async (tx) => {
    if (++runs < 3) await tx.run(RAISE("40001"));
    return "done";
  });
  assert.deepEqual([done, runs], ["done", 3]);
  let deadlocks = 0;
  const hopeless = db.transaction(async (tx) => {
    deadlocks++;
    await tx.run(RAISE("40P01"));
  });
  await assert.rejects(hopeless, (error) => sqlState(error) === "40P01");
  assert.equal(deadlocks, 5);
});

test("any other failure rolls back at once and reaches the caller", async () => {
  let runs = 0;
  const failing = db.transaction(async (tx) => {
    runs++;
    await tx.run(prepared("make_trace", "create table trace (id int4)"));
    await tx.run(RAISE("22012"));
  });
  await assert.rejects(failing, (error) => sqlState(error) === "22012" && !isOutage(error));
  assert.equal(runs, 1);
  const { rows } = await db.run<{ gone: boolean }>(
    prepared("trace_gone", "select to_regclass('trace') is null as gone"),
  );
  assert.equal(rows[0]!.gone, true);
});

test("whole numbers beyond 2^53 are an error, never another number", async () => {
  const big = prepared("big_number", "select 9007199254740993::int8 as n");
  await assert.rejects(db.run(big), /beyond 2\^53/);
});
