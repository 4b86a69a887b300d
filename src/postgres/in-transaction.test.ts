import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { ANSWER_TIMEOUT_MS, createPool, type LastStatements, prepared, type Tx, withPooledClient } from "./database.ts";
import { sqlState } from "./database-errors.ts";
import { BEGIN, runInTransaction } from "./in-transaction.ts";
import type { StatementCall } from "./pipelined-statements.ts";
import { startTcpProxy } from "./tcp-proxy.fixture.ts";

const { db, address, drop } = await createTestDatabase();
const pool = createPool(address, 1, () => {}, ANSWER_TIMEOUT_MS);
after(async () => {
  await pool.end();
  await drop();
});
await db.run(prepared("", "create table noted (n int4)"));

const NOTE = prepared("note", "insert into noted values ($1)");
const DIVIDE = prepared("divide", "select 1 / $1::int4 as quotient");
const readNotes = async () => {
  const { rows } = await db.run<{ n: number }>(prepared("", "select n from noted order by n"));
  await db.run(prepared("", "truncate noted"));
  return rows.map(({ n }) => n);
};
const setting = (name: string): StatementCall => ({
  statement: prepared(`set_${name}`, `select set_config('${name}', '4MB', true)`),
});
const BEGINNINGS: StatementCall[][] = [[BEGIN], [BEGIN, setting("work_mem")]];
const note = (tx: Tx) => tx.run(NOTE, [1]);
const runNested = async (tx: Tx, levels: number, by: number): Promise<unknown> => {
  await null;
  return levels === 0 ? await tx.run(DIVIDE, [by]) : await runNested(tx, levels - 1, by);
};
const run = <T>(beginning: StatementCall[], work: (tx: Tx) => Promise<T | LastStatements<T>>) =>
  withPooledClient(pool, (client) => runInTransaction(client, beginning, work, () => {}));

test("statements run at once are executed in order, all or none", async () => {
  for (const beginning of BEGINNINGS) {
    await run(beginning, (tx) => Promise.all([tx.run(NOTE, [1]), tx.run(NOTE, [2])]));
    await assert.rejects(
      run(beginning, (tx) => Promise.all([tx.run(NOTE, [3]), tx.run(DIVIDE, [0]), tx.run(NOTE, [4])])),
    );
    assert.deepEqual(await readNotes(), [1, 2]);
  }
});

test("the error of a transaction is that of the failed statement, at any depth of calls", async () => {
  for (const beginning of BEGINNINGS)
    for (const levels of [0, 1, 5, 20])
      await assert.rejects(
        run(beginning, (tx) => Promise.all([runNested(tx, levels, 0), tx.run(NOTE, [1])])),
        (error) => sqlState(error) === "22012",
      );
  assert.deepEqual(await readNotes(), []);
});

test("a transaction that cannot begin rejects with the reason, stores nothing and blocks no later one", async () => {
  const works: ((tx: Tx) => Promise<unknown>)[] = [
    (tx) => tx.run(NOTE, [1]),
    (tx) => Promise.all([tx.run(NOTE, [1]), tx.run(NOTE, [2])]),
    async () => {},
  ];
  for (const work of works)
    await assert.rejects(run([BEGIN, setting("no_such_setting")], work), (error) => sqlState(error) === "42704");
  assert.deepEqual(await readNotes(), []);
  await run(BEGINNINGS[1]!, (tx) => tx.run(NOTE, [5]));
  assert.deepEqual(await readNotes(), [5]);
});

test("a statement is rejected after the work of its transaction has settled", async () => {
  for (const beginning of BEGINNINGS) {
    let late!: Promise<unknown>;
    let unsent!: Promise<unknown>;
    const failing = run(beginning, async (tx) => {
      late = tx.run(DIVIDE, [1]).then(() => tx.run(NOTE, [1]));
      late.catch(() => {});
      await tx.run(DIVIDE, [2]);
      unsent = tx.run(NOTE, [2]);
      unsent.catch(() => {});
      throw new Error("meanwhile");
    });
    await assert.rejects(failing, /meanwhile/);
    for (const each of [late, unsent]) await assert.rejects(each, /note was run after its transaction had ended/);
    assert.deepEqual(await readNotes(), []);
  }
});

/** One connection, and the pieces that it sends. */
async function watchMessages(t: TestContext) {
  const seen: string[] = [];
  const { url, close } = await startTcpProxy(address, (piece) => {
    seen.push(piece.toString("latin1"));
    return piece;
  });
  const between = createPool({ url }, 1, () => {}, ANSWER_TIMEOUT_MS);
  t.after(async () => {
    await between.end();
    close();
  });
  return { seen, between };
}

test("statements run at once are sent in one piece, the first ones together with BEGIN", async (t) => {
  const { seen, between } = await watchMessages(t);
  for (const beginning of BEGINNINGS) {
    seen.length = 0;
    await withPooledClient(between, (client) =>
      runInTransaction(
        client,
        beginning,
        async (tx) => {
          await Promise.all([tx.run(DIVIDE, [1]), runNested(tx, 20, 2)]);
          await tx.run(DIVIDE, [3]);
        },
        () => {},
      ),
    );
    const words = seen.map((piece) => piece.match(/begin|divide|commit/g)?.at(-1)).filter((word) => word !== undefined);
    assert.deepEqual(words, ["divide", "divide", "commit"], JSON.stringify(seen));
    assert.ok(seen.find((piece) => piece.includes("begin"))?.includes("divide"));
  }
});

const nextTick = () => new Promise((resolve) => setImmediate(resolve));
/** A value that cannot be converted, so nothing of its group is sent. */
const circular: { self?: unknown } = {};
circular.self = circular;

test("a value that cannot be sent fails all statements beside it or after it, even when the error is ignored", async () => {
  const works: ((tx: Tx) => Promise<unknown>)[] = [
    async (tx) => {
      await tx.run(NOTE, [circular]).catch(() => {});
      await tx.run(NOTE, [1]);
    },
    (tx) => Promise.all([tx.run(NOTE, [circular]), nextTick().then(() => tx.run(NOTE, [2]))]),
    (tx) => tx.run(NOTE, [circular]).catch(() => {}),
  ];
  for (const beginning of BEGINNINGS) for (const work of works) await assert.rejects(run(beginning, work), /circular/);
  assert.deepEqual(await readNotes(), []);
});

test("a transaction that does not begin executes nothing, including statements run meanwhile", async (t) => {
  let isSpoilt = false;
  const { url, close } = await startTcpProxy(address, (piece) => {
    const text = piece.toString("latin1");
    if (isSpoilt || !text.includes("begin\0begin\0")) return piece;
    isSpoilt = true;
    return Buffer.from(text.replace("begin\0begin\0", "begin\0bexin\0"), "latin1");
  });
  const between = createPool({ url }, 1, () => {}, ANSWER_TIMEOUT_MS);
  t.after(async () => {
    await between.end();
    close();
  });
  const failing = withPooledClient(between, (client) =>
    runInTransaction(
      client,
      [BEGIN],
      (tx) => Promise.all([tx.run(NOTE, [1]), nextTick().then(() => tx.run(NOTE, [2]))]),
      () => {},
    ),
  );
  await assert.rejects(failing, (error) => sqlState(error) === "42601");
  assert.equal(isSpoilt, true);
  assert.deepEqual(await readNotes(), []);
});

test("the error is that of the first failed statement, whichever is awaited first", async () => {
  const failing = run([BEGIN], async (tx) => {
    const first = tx.run(DIVIDE, [0]);
    first.catch(() => {});
    await nextTick();
    const second = tx.run(NOTE, [1]);
    await second;
    await first;
  });
  await assert.rejects(failing, (error) => sqlState(error) === "22012");
});

test("a committed transaction rejects further statements", async () => {
  let kept!: Tx;
  await run([BEGIN], async (tx) => {
    kept = tx;
    await tx.run(NOTE, [1]);
  });
  await assert.rejects(kept.run(NOTE, [2]), /note was run after its transaction had ended/);
  assert.deepEqual(await readNotes(), [1]);
});

test("last statements are sent with COMMIT, and their results are the result of the transaction", async (t) => {
  const { seen, between } = await watchMessages(t);
  const divided = await withPooledClient(between, (client) =>
    runInTransaction(
      client,
      [BEGIN],
      async (tx) => {
        const { rows } = await tx.run<{ quotient: number }>(DIVIDE, [1]);
        return async () => {
          const noting = tx.run(NOTE, [rows[0]!.quotient]);
          const [divided] = await Promise.all([tx.run<{ quotient: number }>(DIVIDE, [-1]), noting]);
          return divided.rows[0]!.quotient;
        };
      },
      () => {},
    ),
  );
  assert.equal(divided, -1);
  assert.deepEqual(await readNotes(), [1]);
  const ended = seen.filter((piece) => piece.includes("commit"));
  assert.equal(ended.length, 1);
  assert.match(ended[0]!, /note.*divide.*commit/s);
});

test("a transaction does nothing and rejects with the reason when its last statements fail", async () => {
  const range = (error: unknown) => error instanceof RangeError;
  const failing: [(tx: Tx) => Promise<unknown>, (error: unknown) => boolean][] = [
    [(tx) => Promise.all([tx.run(NOTE, [2]), tx.run(DIVIDE, [0])]), (error) => sqlState(error) === "22012"],
    [(tx) => Promise.all([tx.run(NOTE, [2]), tx.run(NOTE, [circular])]), (error) => /circular/.test(`${error}`)],
    [(tx) => Promise.all([tx.run(NOTE, [2]), Promise.reject(new RangeError("no integer"))]), range],
    [
      () => {
        throw new RangeError("no integer");
      },
      range,
    ],
  ];
  for (const beginning of BEGINNINGS)
    for (const [last, isReason] of failing)
      for (const before of [note, async () => {}]) {
        const working = run<unknown>(beginning, async (tx) => {
          await before(tx);
          return () => last(tx);
        });
        await assert.rejects(working, isReason);
      }
  assert.deepEqual(await readNotes(), []);
});

test("a statement is rejected after the last statements were sent", async () => {
  let late!: Promise<unknown>;
  await run([BEGIN], async (tx) => {
    await note(tx);
    return async () => {
      await tx.run(NOTE, [2]);
      late = tx.run(NOTE, [3]);
      await late.catch(() => {});
    };
  });
  await assert.rejects(late, /note was run after its transaction had ended/);
  assert.deepEqual(await readNotes(), [1, 2]);
});
