import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createTestDatabase } from "../../test/database.ts";
import { type EventStore, memoryEventStore, type WebhookEvent } from "../src/index.ts";
import { CREATE_TABLE, postgresEventStore } from "./postgres-event-store.ts";
import { type RedisClient, redisEventStore } from "./redis-event-store.ts";
import { sqliteEventStore } from "./sqlite-event-store.ts";

const START = new Date("2026-03-04T09:00:00Z");
const at = (seconds: number) => new Date(START.getTime() + seconds * 1000);
const event = (id: string): WebhookEvent => ({
  id,
  type: "pause_collection",
  created: START.toISOString(),
  data: { invoiceId: `inv_${id}` },
});

/** The contract of every store. */
async function testStorage<Context>(store: EventStore<Context>) {
  const ids = async (limit: number, now: Date, until: Date) =>
    (await store.claim(limit, now, until)).map(({ event: { id } }) => id);
  assert.equal(await store.keep(event("a"), at(0)), true);
  assert.equal(await store.keep(event("a"), at(1)), false);
  assert.equal(await store.keep(event("b"), at(1)), true);
  assert.deepEqual(await ids(5, at(-1), at(60)), [], "nothing is due yet");

  const [a] = await store.claim(1, at(1), at(60));
  assert.deepEqual(a, { event: event("a"), tries: 1 });
  const [b] = await store.claim(5, at(1), at(60));
  assert.deepEqual(b, { event: event("b"), tries: 1 });
  assert.deepEqual(await ids(5, at(59), at(99)), [], "both are lent");

  let done = 0;
  await store.finish(a!, () => done++);
  assert.equal(done, 1);
  await assert.rejects(
    store.finish(b!, () => {
      throw new Error("no");
    }),
    /no/,
  );
  await store.postpone(b!, at(10));
  assert.deepEqual(await ids(5, at(9), at(99)), []);
  const [again] = await store.claim(5, at(10), at(20));
  assert.deepEqual(again, { event: event("b"), tries: 2 });

  // The first worker may be slow instead of crashed. It must not change the event any more.
  const [third] = await store.claim(5, at(20), at(30));
  assert.equal(third?.tries, 3);
  await store.postpone(third!, null);
  assert.deepEqual(await ids(5, at(9999), at(99999)), [], "one is handled, one is given up");
  assert.equal(await store.keep(event("a"), at(9999)), false);
  assert.equal(await store.keep(event("b"), at(9999)), false);
}

/** A worker that lost its claim must neither end nor postpone the event. */
async function testFencing<Context>(store: EventStore<Context>) {
  await store.keep(event("f"), at(0));
  const [slow] = await store.claim(1, at(0), at(1));
  const [quick] = await store.claim(1, at(1), at(100));
  await store.postpone(slow!, at(2));
  assert.deepEqual(await store.claim(1, at(50), at(60)), []);
  await store.finish(quick!, () => {});
  await store.postpone(quick!, at(2));
  assert.deepEqual(await store.claim(1, at(500), at(600)), []);
}

test("the memory store stores, leases, takes back and remembers events", async () => {
  await testStorage(memoryEventStore());
  await testFencing(memoryEventStore());
});

test("the memory store is full at its limit, and forgets only handled events, oldest first", async () => {
  const store = memoryEventStore({ capacity: 2, openMax: 2 });
  for (const id of ["a", "b"]) store.keep(event(id), START);
  assert.equal(store.full?.(), true);
  for (const claimed of await store.claim(2, START, at(60))) await store.finish(claimed, () => {});
  assert.equal(store.full?.(), false);
  store.keep(event("c"), START);
  for (const claimed of await store.claim(1, START, at(60))) await store.finish(claimed, () => {});
  assert.equal(store.keep(event("b"), START), false);
  assert.equal(store.keep(event("a"), START), true);
});

test("the PostgreSQL example meets the contract, and the work and the end of the event are one transaction", async (t) => {
  const database = await createTestDatabase();
  const { socketDir, user, database: name } = database.address as { socketDir: string; user: string; database: string };
  const pool = new pg.Pool({ host: socketDir, user, database: name });
  // The server may end a connection that the pool is closing, when no other listener exists.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  t.after(async () => {
    await pool.end();
    await database.drop();
  });
  await pool.query(`${CREATE_TABLE}; create table handled (id text)`);
  const store = postgresEventStore(pool);
  await testStorage(store);
  await testFencing(store);
  await store.keep(event("t"), at(0));
  const [slow] = await store.claim(1, at(0), at(1));
  const insert = "insert into handled values ('t')";
  await assert.rejects(
    store.finish(slow!, async (client) => {
      await client.query(insert);
      throw new Error("after the write");
    }),
    /after the write/,
  );
  const [quick] = await store.claim(1, at(1), at(2));
  await store.finish(quick!, async (client) => {
    // Another process cannot claim the event while the work lasts.
    assert.deepEqual(await store.claim(1, at(50), at(60)), []);
    await client.query(insert);
  });
  await assert.rejects(
    store.finish(slow!, () => assert.fail("it was taken over")),
    /claimed by another/,
  );
  assert.equal((await pool.query("select * from handled")).rowCount, 1);
});

test("the SQLite example meets the contract, and the work and the end of the event are one transaction", async () => {
  const db = new DatabaseSync(":memory:");
  const store = sqliteEventStore(db);
  await testStorage(store);
  await testFencing(store);
  db.exec("create table handled (id text)");
  await store.keep(event("t"), at(0));
  const [claimed] = await store.claim(1, at(0), at(1));
  const insert = () => db.exec("insert into handled values ('t')");
  await assert.rejects(
    store.finish(claimed!, async () => insert()),
    /must not be async/,
  );
  await store.finish(claimed!, insert);
  await assert.rejects(store.finish(claimed!, insert), /claimed by another/);
  assert.equal(db.prepare("select * from handled").all().length, 1);
});

const noRedis = spawnSync("redis-server", ["--version"]).error && "redis-server is not on the PATH";
test("the Redis example meets the contract", { skip: noRedis ?? false }, async (t) => {
  const redis = await startRedis(t);
  const store = redisEventStore(redis);
  await testStorage(store);
  await testFencing(store);
});

const redisFolders: string[] = [];
after(() => {
  for (const folder of redisFolders) rmSync(folder, { recursive: true, force: true });
});

/** Starts a Redis server on a socket file, with as much of a client as the store needs. */
async function startRedis(t: TestContext): Promise<RedisClient> {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-redis-"));
  redisFolders.push(folder);
  const path = join(folder, "socket");
  const server: ChildProcess = spawn("redis-server", ["--port", "0", "--unixsocket", path, "--dir", folder]);
  const socket = await openSocket(path);
  t.after(async () => {
    socket.destroy();
    server.kill();
    await once(server, "exit");
  });
  return {
    async eval(script, { keys, arguments: values }) {
      const words = ["EVAL", script, String(keys.length), ...keys, ...values];
      socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`);
      const [reply] = (await once(socket, "data")) as [Buffer];
      return read(reply.toString().split("\r\n"));
    },
  };
}

/** Replies are small enough to arrive in one chunk. */
function read(lines: string[]): unknown {
  const line = lines.shift()!;
  const rest = line.slice(1);
  if (line[0] === "-") throw new Error(rest);
  if (line[0] === ":") return Number(rest);
  if (line[0] === "*") return Array.from({ length: Number(rest) }, () => read(lines));
  return lines.shift();
}

async function openSocket(path: string): Promise<Socket> {
  for (let tries = 1; ; tries++) {
    const socket = connect(path);
    try {
      await once(socket, "connect");
      return socket;
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(50);
    }
  }
}
