import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, beforeEach, test } from "node:test";
import { waitForLockWait } from "../../test/database.ts";
import type { Merchant } from "../domain/merchant.ts";
import { openStage } from "../recovery/stage.fixture.ts";
import { endCases } from "../tables/cases.ts";
import type { ReplayVerdict } from "../tables/delivery-states.ts";

const stage = await openStage();
after(() => stage.drop());
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter();
});

test("a replay waits for a payment that locks its case, and skips the event when the payment commits", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.deliver();
  await stage.untilExhausted();
  const [undelivered] = await stage.actions();
  const [id] = (await stage.caseIds()) as [string];
  let replayed: Promise<ReplayVerdict> | undefined;
  await stage.db.transaction(async (tx) => {
    const paid = { id, endReason: "paid", paidAt: stage.now(), amount: null, currency: null } as const;
    await endCases(tx, merchant.id, [paid], stage.now(), randomUUID());
    replayed = stage.replay(undelivered!.id);
    await waitForLockWait(stage.db);
  });
  assert.equal((await replayed)!.skip, "the invoice was paid meanwhile");
  assert.equal((await stage.events()).find(({ id }) => id === undelivered!.id)!.waiting, false);
});
