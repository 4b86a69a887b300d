import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { createTestDatabase } from "../../test/database.ts";
import { changeMerchant } from "../merchants/merchant-settings.ts";
import { prepared } from "../postgres/database.ts";
import { createRealPorts } from "../process/clock.ts";
import { changedMerchants, readChangeMark, updateMerchant } from "../tables/merchants.ts";
import { makeMerchant, SECRET_KEYS } from "./deliverer.fixture.ts";
import { createLanes } from "./merchant-lanes.ts";

const { db, drop } = await createTestDatabase();
after(drop);
const ports = createRealPorts({ realAt: new Date(0), serviceAt: new Date(0), rate: 1 });
const log = pino({ level: "silent" });

const DELETE = prepared("test_delete_merchant", "delete from merchants where id = $1");
const FORGET_CLOCK = prepared("test_forget_clock", "delete from merchant_clocks where merchant_id = $1");

test("merchants stored or changed since a mark are found, and unchanged ones are not read again", async () => {
  const [first, second] = [await makeMerchant(db, {}), await makeMerchant(db, {})];
  let mark = (await readChangeMark(db))!;
  // Transactions of other tests that started earlier hold the mark back.
  while ((await changedMerchants(db, mark)).merchants.length > 0) {
    await sleep(20);
    mark = (await readChangeMark(db))!;
  }
  await changeMerchant(db, second.id, { webhookPaused: true }, SECRET_KEYS, ports);
  const third = await makeMerchant(db, {});
  const changed = await changedMerchants(db, mark);
  assert.deepEqual(
    new Map(changed.merchants.map(({ id, webhookPaused }) => [id, webhookPaused])),
    new Map([
      [second.id, true],
      [third.id, false],
    ]),
  );
  assert.ok(!changed.merchants.some(({ id }) => id === first.id));
});

test("a change committed after a mark is found, however early its transaction started", async () => {
  const merchant = await makeMerchant(db, {});
  const [begun, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const changing = db.transaction(async (tx) => {
    await updateMerchant(tx, { ...merchant, webhookCap: 7 }, ports.now());
    begun.resolve();
    await over.promise;
  });
  await begun.promise;
  const mark = (await readChangeMark(db))!;
  over.resolve();
  await changing;
  assert.ok((await changedMerchants(db, mark)).merchants.some(({ id }) => id === merchant.id));
});

test("a merchant gets a lane when it is stored and loses it within a minute of its deletion", async () => {
  let nowMs = 0;
  const lanes = createLanes(db, log, SECRET_KEYS, () => nowMs);
  await lanes.refresh();
  const merchant = await makeMerchant(db, { webhookCap: 3 });
  await lanes.refresh();
  assert.equal(lanes.get(merchant.id)!.merchant.webhookCap, 3);
  await changeMerchant(db, merchant.id, { webhookCap: 4 }, SECRET_KEYS, ports);
  await lanes.refresh();
  assert.equal(lanes.get(merchant.id)!.merchant.webhookCap, 4);
  await db.run(FORGET_CLOCK, [merchant.id]);
  await db.run(DELETE, [merchant.id]);
  nowMs = 60_000;
  await lanes.refresh();
  assert.equal(lanes.get(merchant.id), undefined);
});
