import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { DAY, MINUTE, openStage, START } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
beforeEach(async () => {
  await stage.enter(true, { sendsRecoveryEnded: true });
});

const notices = async () => (await stage.events()).filter(({ type }) => type === "recovery_ended");
const endReasons = async () => (await notices()).map(({ body }) => JSON.parse(body).data);

async function fail() {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
}

test("recovery_ended names the invoice and the reason when it is paid, once", async () => {
  await fail();
  stage.wait(MINUTE);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.deepEqual(await endReasons(), [{ invoiceId: "inv_1", endReason: "END_REASON_PAID" }]);
  stage.wait(MINUTE);
  await stage.invoice({ state: "REFUNDED" });
  await stage.decide();
  assert.equal((await notices()).length, 1);
});

test("recovery_ended comes at the end of a window, for which no complete_dunning is sent", async () => {
  await fail();
  await stage.deliver();
  stage.at(START.getTime() + 28 * DAY);
  await stage.decide();
  assert.deepEqual(await endReasons(), [{ invoiceId: "inv_1", endReason: "END_REASON_WINDOW_OVER" }]);
  assert.ok((await stage.events()).every(({ type }) => type !== "complete_dunning"));
});

test("recovery_ended comes beside complete_dunning when a person stops a case", async () => {
  await fail();
  await stage.stopRecovery();
  const open = (await stage.events()).filter(({ waiting }) => waiting).map(({ type }) => type);
  assert.deepEqual(open.toSorted(), ["complete_dunning", "recovery_ended"]);
});

test("a later payment withdraws complete_dunning, but not the notice that recovery has ended", async () => {
  await fail();
  await stage.stopRecovery();
  stage.wait(MINUTE);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  const [ended] = await notices();
  assert.deepEqual([ended!.withdrawn, ended!.waiting], [false, true]);
  const complete = (await stage.events()).find(({ type }) => type === "complete_dunning")!;
  assert.equal(complete.withdrawn, true);
});

test("an exhausted recovery_ended can be replayed although the invoice is paid", async () => {
  await fail();
  stage.wait(MINUTE);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  await stage.exhaust();
  const [ended] = await notices();
  assert.deepEqual(await stage.replay(ended!.id), { eventId: ended!.id, skip: null });
});

test("each case of an invoice has its own recovery_ended", async () => {
  await fail();
  for (const state of ["PAID", "UNPAID", "PAID"] as const) {
    stage.wait(DAY);
    await stage.invoice({ state });
    await stage.decide();
  }
  assert.equal((await notices()).length, 2);
});

test("no recovery_ended is sent without the setting, without an endpoint, or in shadow mode", async () => {
  for (const [endpoint, settings] of [
    [true, {}],
    [false, { sendsRecoveryEnded: true }],
    [true, { sendsRecoveryEnded: true, shadow: true }],
  ] as const) {
    await stage.enter(endpoint, settings);
    await fail();
    stage.wait(MINUTE);
    await stage.invoice({ state: "PAID" });
    await stage.decide();
    assert.deepEqual(await notices(), []);
  }
});
