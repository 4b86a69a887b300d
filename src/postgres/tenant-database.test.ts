import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { prepared } from "./database.ts";
import { isOutage } from "./database-errors.ts";
import { startTcpProxy } from "./tcp-proxy.fixture.ts";
import { openTenantDatabase } from "./tenant-database.ts";

const { db, address, drop } = await createTestDatabase();
after(drop);
await db.run(prepared("", "create table noted (n int4)"));

const MERCHANT = "01890000-0000-7000-8000-000000000001";
const OTHER = "01890000-0000-7000-8000-000000000002";
const READ_MERCHANT = prepared("test_who", "select coalesce(current_setting('dunlin.merchant', true), '') as merchant");
/** Ends its own transaction, so the next statement has a merchant only if the session has one. */
const COMMIT_EARLY = prepared("test_end", "commit");
const INSERT_NOTE = prepared("test_note", "insert into noted values (1)");

test("each statement and transaction has its merchant, and the connection keeps none", async () => {
  const walled = openTenantDatabase(address, 1, () => {});
  for (const merchant of [MERCHANT, OTHER]) {
    assert.deepEqual((await walled.of(merchant).run(READ_MERCHANT)).rows, [{ merchant }]);
    const who = await walled.of(merchant).transaction(async (tx) => {
      const inside = (await tx.run(READ_MERCHANT)).rows;
      await tx.run(COMMIT_EARLY);
      return [inside, (await tx.run(READ_MERCHANT)).rows];
    });
    assert.deepEqual(who, [[{ merchant }], [{ merchant: "" }]]);
  }
  await walled.close();
});

test("a statement is not repeated when its reply was lost, because it may have been executed", async (t) => {
  let isCut = false;
  const { url, close } = await startTcpProxy(address, (piece, { client, postgres }) => {
    if (isCut || !piece.includes("test_note")) return piece;
    isCut = true;
    postgres.unpipe(client);
    setTimeout(() => client.destroy(), 100);
    return piece;
  });
  const walled = openTenantDatabase({ url }, 1, () => {});
  t.after(async () => {
    await walled.close();
    close();
  });
  await assert.rejects(walled.of(MERCHANT).run(INSERT_NOTE), isOutage);
  assert.equal((await db.run(prepared("", "select n from noted"))).rows.length, 1);
});
