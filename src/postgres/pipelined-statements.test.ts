import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { ANSWER_TIMEOUT_MS, createPool, prepared, withPooledClient } from "./database.ts";
import { sqlState } from "./database-errors.ts";
import { runPipelined } from "./pipelined-statements.ts";
import { startTcpProxy } from "./tcp-proxy.fixture.ts";

const { db, address, drop } = await createTestDatabase();
const pool = createPool(address, 1, () => {}, ANSWER_TIMEOUT_MS);
after(async () => {
  await pool.end();
  await drop();
});

const LATER = prepared("test_later", "select n from later order by n");
const ONE = prepared("test_one", "select 1 as n");
const NOTE = prepared("test_note", "insert into later values ($1) returning n");

test("a statement that cannot be prepared rejects with the reason, and is prepared later when possible", async () => {
  const missing = (error: unknown) => sqlState(error) === "42P01";
  await withPooledClient(pool, async (client) => {
    await assert.rejects(runPipelined(client, [{ statement: LATER }]), missing);
    await assert.rejects(runPipelined(client, [{ statement: ONE }, { statement: LATER }]), missing);
    await client.query("begin");
    await assert.rejects(runPipelined(client, [{ statement: LATER }, { statement: ONE }]), missing);
    // A failed transaction prepares nothing.
    await assert.rejects(runPipelined(client, [{ statement: NOTE, values: [1] }]), (e) => sqlState(e) === "25P02");
    await client.query("rollback");
    await client.query("create table later (n int4)");
    const [noted, found, one] = await runPipelined(client, [
      { statement: NOTE, values: [7] },
      { statement: LATER },
      { statement: ONE },
    ]);
    assert.deepEqual([noted!.rows, noted!.rowCount], [[{ n: 7 }], 1]);
    assert.deepEqual([found!.rows, one!.rows], [[{ n: 7 }], [{ n: 1 }]]);
  });
});

test("statements pipelined outside a transaction are executed all or none", async () => {
  const divide = prepared("test_divide", "select 1 / $1::int4 as quotient");
  await withPooledClient(pool, async (client) => {
    const failing = runPipelined(client, [
      { statement: NOTE, values: [8] },
      { statement: divide, values: [0] },
      { statement: NOTE, values: [9] },
    ]);
    await assert.rejects(failing, (error) => sqlState(error) === "22012");
    const [found] = await runPipelined(client, [{ statement: LATER }]);
    assert.deepEqual(found!.rows, [{ n: 7 }]);
  });
});

test("two texts with the same name are rejected", async () => {
  await withPooledClient(pool, async (client) => {
    await runPipelined(client, [{ statement: ONE }]);
    await assert.rejects(
      runPipelined(client, [{ statement: prepared("test_one", "select 2 as n") }]),
      /two statements are named test_one/,
    );
  });
});

test("a statement that is new to its connection can be run several times at once", async () => {
  const twice = prepared("test_twice", "select $1::int4 as n, null::text as nothing");
  await withPooledClient(pool, async (client) => {
    const answers = await Promise.all([1, 2, 3].map((n) => runPipelined(client, [{ statement: twice, values: [n] }])));
    assert.deepEqual(
      answers.map(([answer]) => answer!.rows),
      [1, 2, 3].map((n) => [{ n, nothing: null }]),
    );
  });
});

test("a row that cannot be read fails its pipeline and no other", async () => {
  const large = prepared("test_large", "select n::int8 from unnest('{1,9007199254740993,2}'::int8[]) n");
  await withPooledClient(pool, async (client) => {
    const asked = [
      runPipelined(client, [{ statement: large }, { statement: ONE }]),
      runPipelined(client, [{ statement: ONE }]),
    ];
    const [read, beside] = await Promise.allSettled(asked);
    assert.match(String(read!.status === "rejected" && read!.reason), /beyond 2\^53/);
    assert.deepEqual(beside!.status === "fulfilled" && beside!.value[0]!.rows, [{ n: 1 }]);
  });
});

test("a statement that was prepared but not described is prepared again, and a failed one was not executed", async (t) => {
  let isSpoilt = false;
  const describe = "D\0\0\0\x06P\0";
  const { url, close } = await startTcpProxy(address, (piece) => {
    const text = piece.toString("latin1");
    if (isSpoilt || !text.includes("test_spoilt") || !text.includes(describe)) return piece;
    isSpoilt = true;
    return Buffer.from(text.replace(describe, "D\0\0\0\x06X\0"), "latin1");
  });
  const between = createPool({ url }, 1, () => {}, ANSWER_TIMEOUT_MS);
  t.after(async () => {
    await between.end();
    close();
  });
  const spoilt = prepared("test_spoilt", "insert into later values ($1) returning n");
  await withPooledClient(between, async (client) => {
    await assert.rejects(runPipelined(client, [{ statement: spoilt, values: [20] }]), (e) => sqlState(e) === "08P01");
    const [done] = await runPipelined(client, [{ statement: spoilt, values: [21] }]);
    assert.deepEqual(done!.rows, [{ n: 21 }]);
  });
  assert.equal(isSpoilt, true);
  const { rows } = await db.run(prepared("test_twenties", "select n from later where n >= 20 order by n"));
  assert.deepEqual(rows, [{ n: 21 }]);
});

test("an empty statement returns no rows", async () => {
  await withPooledClient(pool, async (client) => {
    const asked = [prepared("test_nothing", "-- nothing"), prepared("test_y", "select 'y' as y")];
    const [nothing, y] = await runPipelined(
      client,
      asked.map((statement) => ({ statement })),
    );
    assert.deepEqual([nothing!.rows, y!.rows], [[], [{ y: "y" }]]);
  });
});

test("a violation that is detected at the end of a transaction is an error", async () => {
  await db.run(prepared("", "create table at_end (n int4 unique deferrable initially deferred)"));
  const twice = prepared("test_at_end", "insert into at_end values (1), (1)");
  await assert.rejects(db.run(twice), (error) => sqlState(error) === "23505");
});
