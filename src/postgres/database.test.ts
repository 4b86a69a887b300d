import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createTestDatabase } from "../../test/database.ts";
import { openDatabase, prepared } from "./database.ts";
import { errorFields, isOutage, sqlState } from "./database-errors.ts";

const { db, address, drop } = await createTestDatabase();
after(drop);

const message = (type: string, body: Buffer) => {
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, body]);
};

test("connecting rejects when the server dies right after the handshake, and the process continues", async () => {
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

test("no error is reported when the server stops before it sees that a connection was closed", async () => {
  const lost: Error[] = [];
  const fatal = "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0";
  const ready = message("Z", Buffer.from("I"));
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(Buffer.concat([message("R", Buffer.alloc(4)), ready])));
    socket.on("data", (said: Buffer) => {
      for (let at = 0; at < said.length; at += 1 + said.readInt32BE(at + 1)) {
        const kind = String.fromCharCode(said[at]!);
        if (kind === "E" || kind === "Q") socket.write(message("C", Buffer.from("DONE\0")));
        if (kind === "S" || kind === "Q") socket.write(ready);
        if (kind === "X") socket.end(message("E", Buffer.from(fatal)));
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const pool = openDatabase({ url: `postgres://u:p@127.0.0.1:${port}/d` }, 1, (error) => lost.push(error));
  await pool.run(prepared("", "select 1"));
  await pool.close();
  server.close();
  await once(server, "close");
  await setTimeout(100); // lets the connections hear from the server after the pool is closed
  assert.deepEqual(lost, []);
});

test("timestamps are read to the millisecond in every format of the server", async () => {
  const moments = `'2026-03-02 07:12:00Z'), ('2026-03-02 07:12:00.1Z'), ('2026-12-31 23:59:59.123999Z'), ('1969-12-31 23:59:59.25Z'),
    ('0999-01-01Z'), ('0050-06-01 12:00Z'), ('12026-03-02 07:12:00.123Z'), ('0044-03-15 BC'`;
  for (const zone of ["UTC", "Asia/Kathmandu"]) {
    const connection = await db.connect();
    await connection.run(prepared("", `set timezone = '${zone}'`));
    const read = prepared(
      "",
      `select at, floor(extract(epoch from at) * 1000)::int8 as ms, at::text as text from (values (${moments})) v (text), cast(text as timestamptz) at`,
    );
    for (const { at, ms, text } of (await connection.run<{ at: Date; ms: number; text: string }>(read)).rows)
      assert.equal(at.getTime(), ms, text);
    const [endless] = (await connection.run(prepared("", "select 'infinity'::timestamptz as at"))).rows;
    assert.equal(endless!.at, Number.POSITIVE_INFINITY);
    await connection.close();
  }
});

test("dates are read as ISO dates when the server has a national date style", async (t) => {
  const own = await createTestDatabase();
  t.after(own.drop);
  const named = prepared("", "select current_database() as name");
  const { name } = (await own.db.run<{ name: string }>(named)).rows[0]!;
  await own.db.run(prepared("", `alter database ${name} set datestyle = 'German'`));
  const pool = openDatabase(own.address, 1, () => {});
  t.after(pool.close);
  const alone = await pool.connect();
  t.after(alone.close);
  const read = prepared("", "select '2026-03-04 07:12:00.5Z'::timestamptz as at, '2026-03-04'::date::text as day");
  for (const on of [pool, alone])
    assert.deepEqual((await on.run(read)).rows, [{ at: new Date("2026-03-04T07:12:00.5Z"), day: "2026-03-04" }]);
});

const raiseStatement = (code: string) =>
  prepared(`raise_${code}`, `do $$ begin raise exception 'planned' using errcode = '${code}'; end $$`);

test("a transaction is repeated from the start, up to five times, after a serialization failure or deadlock", async () => {
  let runs = 0;
  const done = await db.transaction(async (tx) => {
    if (++runs < 3) await tx.run(raiseStatement("40001"));
    return "done";
  });
  assert.deepEqual([done, runs], ["done", 3]);
  let deadlocks = 0;
  const hopeless = db.transaction(async (tx) => {
    deadlocks++;
    await tx.run(raiseStatement("40P01"));
  });
  await assert.rejects(hopeless, (error) => sqlState(error) === "40P01");
  assert.equal(deadlocks, 5);
});

test("the end of a server under Citus is an outage, and another internal error is not", async () => {
  const raise = (message: string) =>
    db.run(prepared("", `do $$ begin raise exception '${message}' using errcode = 'XX000'; end $$`));
  await assert.rejects(raise("postmaster was shut down, exiting"), isOutage);
  await assert.rejects(raise("failure on connection marked as essential: worker-1:5432"), isOutage);
  await assert.rejects(raise("cache lookup failed"), (error) => !isOutage(error));
});

test("a transaction rolls back and rejects at once after any other failure", async () => {
  let runs = 0;
  const failing = db.transaction(async (tx) => {
    runs++;
    await tx.run(prepared("make_trace", "create table trace (id int4)"));
    await tx.run(raiseStatement("22012"));
  });
  await assert.rejects(failing, (error) => sqlState(error) === "22012" && !isOutage(error));
  assert.equal(runs, 1);
  const { rows } = await db.run<{ gone: boolean }>(
    prepared("trace_gone", "select to_regclass('trace') is null as gone"),
  );
  assert.equal(rows[0]!.gone, true);
});

test("reading a whole number beyond 2^53 fails", async () => {
  const big = prepared("big_number", "select 9007199254740993::int8 as n");
  await assert.rejects(db.run(big), /beyond 2\^53/);
});

test("a transient error is retried after growing pauses when nothing can have been committed", async () => {
  for (const code of ["08006", "25P03", "53300", "57P03"]) {
    let runs = 0;
    const startedMs = performance.now();
    await db.transaction(async (tx) => {
      if (++runs < 4) await tx.run(raiseStatement(code));
    });
    assert.equal(runs, 4, code);
    assert.ok(performance.now() - startedMs >= 60, "2, 10 and 50 ms");
  }
});

const TERMINATE_SELF = prepared("end_me", "select pg_terminate_backend(pg_backend_pid())");
const ONE = prepared("one", "select 1 as one");

test("a transaction is repeated when the server is read-only during a failover", async () => {
  let runs = 0;
  await db.transaction(async (tx) => {
    if (++runs === 1) await tx.run(prepared("", "set transaction read only"));
    await tx.run(prepared("", "create table written_after_failover ()"));
  });
  assert.equal(runs, 2);
});

test("a transaction is repeated when its connection is cut", async () => {
  let runs = 0;
  const { rows } = await db.transaction(async (tx) => {
    if (++runs === 1) await tx.run(TERMINATE_SELF);
    return tx.run(ONE);
  });
  assert.deepEqual([rows, runs], [[{ one: 1 }], 2]);
});

/** A table whose rows fail at COMMIT with the error in the row. */
const AT_COMMIT = [
  "create table told (code text)",
  `create function refuse() returns trigger language plpgsql as $$ begin
     if new.code = 'cut' then perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1); end if;
     raise exception 'planned' using errcode = new.code;
   end $$`,
  "create constraint trigger refusing after insert on told deferrable initially deferred for each row execute function refuse()",
];
const INSERT_TOLD = prepared("tell", "insert into told values ($1)");

test("a transaction is repeated when its COMMIT was certainly rolled back, and rejects when the outcome is unknown", async () => {
  for (const [index, text] of AT_COMMIT.entries()) await db.run(prepared(`at_commit_${index}`, text));
  for (const [code, expected] of [
    ["40001", 5],
    ["53100", 5],
    ["08006", 1],
    ["cut", 1],
  ] as const) {
    let runs = 0;
    const failing = db.transaction(async (tx) => {
      runs++;
      await tx.run(INSERT_TOLD, [code]);
    });
    await assert.rejects(failing, isOutage, code);
    assert.equal(runs, expected, code);
  }
});

test("a transaction rejects when its work ignored a failed statement", async () => {
  const careless = db.transaction(async (tx) => {
    await tx.run(raiseStatement("22012")).catch(() => {});
  });
  await assert.rejects(careless, (error) => sqlState(error) === "22012");
  let runs = 0;
  const repeated = db.transaction(async (tx) => {
    if (++runs === 1) await tx.run(raiseStatement("40P01")).catch(() => {});
  });
  await repeated;
  assert.equal(runs, 2, "an ignored deadlock is repeated too");
});

test("a statement without a reply fails as an outage after its time limit, and later statements succeed", async () => {
  const impatient = openDatabase(address, 1, () => {}, 300);
  const slow = prepared("slow", "select pg_sleep(3)");
  const startedMs = performance.now();
  await assert.rejects(impatient.run(slow), isOutage);
  let runs = 0;
  const stuck = impatient.transaction((tx) => {
    runs++;
    return tx.run(slow);
  });
  await assert.rejects(stuck, isOutage);
  assert.equal(runs, 1, "a call that waited this long is not repeated");
  assert.deepEqual((await impatient.run(ONE)).rows, [{ one: 1 }]);
  assert.ok(performance.now() - startedMs < 2_000);
  await impatient.close();
});

test("system errors are outages without a SQLSTATE", () => {
  const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  assert.equal(sqlState(broken), undefined);
  assert.ok(isOutage(broken));
});

test("a database error is logged without its message, and other errors without long numbers", async () => {
  await db.run(
    prepared("make_logged", "create table logged (secret text constraint short check (length(secret) < 9))"),
  );
  const refused = await db
    .run(prepared("log_secret", "insert into logged values ('4111 very secret')"))
    .catch((e) => e);
  const fields = errorFields(refused);
  assert.deepEqual(
    [fields.errorName, fields.errorCode, fields.errorTable, fields.errorConstraint],
    ["error", "23514", "logged", "short"],
  );
  assert.doesNotMatch(JSON.stringify(fields), /secret'|4111/);
  assert.equal(errorFields(new Error("no card 4111111111111111")).errorMessage, "no card …");
  assert.equal(errorFields("thrown text").errorMessage, "thrown text");
});
