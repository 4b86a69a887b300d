import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Merchant } from "../domain/merchant.ts";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import { listAuditEntries } from "../tables/audit-log.ts";

const stage = await openStage();
after(() => stage.drop());
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter();
});

async function fail(codes: object = {}) {
  await stage.invoice();
  await stage.transaction(codes);
  await stage.decide();
}
const actionStatuses = async () => (await stage.actions()).map(({ type, status }) => `${type} ${status}`);
const retries = async () => (await stage.events()).filter(({ type }) => type === "recovery_action");
const audited = async () =>
  (await listAuditEntries(stage.db, merchant.id, { noun: "recovery" }, 10)).map(({ operation, object, details }) => ({
    ...{ operation, object, details },
  }));

test("a retry at once replaces the plan, is sent and audited, says who wanted it, and its outcome counts", async () => {
  await fail();
  const [plan] = await stage.actions();
  stage.wait(HOUR);
  const result = await stage.retryNow();
  assert.ok(typeof result === "object" && result !== null);
  const [action] = await stage.actions();
  assert.deepEqual([action!.id, action!.decided, action!.ideal], [plan!.id, true, stage.now()]);
  assert.equal(result.actionId, action!.id);
  const [event] = await retries();
  assert.equal(JSON.parse(event!.body).data.idealRetryTime, stage.now().toISOString());
  assert.deepEqual(await audited(), [{ operation: "recovery.retried", object: "inv_1", details: {} }]);
  const explained = (await loadExplainedCase(stage.db, merchant.id, "inv_1", stage.now()))!;
  assert.match(JSON.stringify(buildExplanation(explained)), /A retry at once was requested by hand/);
  await stage.deliver();
  stage.wait(MINUTE);
  await stage.transaction({ state: "PAID", recoveryActionId: result.actionId });
  await stage.decide();
  assert.deepEqual(await actionStatuses(), ["RETRY SUCCEEDED"]);
  assert.equal((await stage.cases())[0]!.end, "paid");
});

test("no second retry is requested while the outcome of the first one is awaited", async () => {
  await fail();
  await stage.retryNow();
  assert.equal(
    await stage.retryNow(),
    "No retry was requested. A retry was requested already, and its outcome is awaited.",
  );
  assert.equal((await retries()).length, 1);
});

test("a retry at once is refused with the rule that forbids it, and changes nothing", async () => {
  await stage.invoice();
  for (let attempts = 0; attempts < 21; attempts++) {
    await stage.transaction({ cardBrand: "visa" });
    stage.wait(MINUTE);
  }
  await stage.decide();
  const before = [await stage.actions(), await stage.events()];
  assert.match(String(await stage.retryNow()), /^No retry was requested\. .*Visa allows at most /);
  assert.deepEqual([await stage.actions(), await stage.events()], before);
  assert.deepEqual(await audited(), []);
});

test("a card that was reported stolen is not retried at once either", async () => {
  await fail({ networkDeclineCode: "43" });
  assert.match(String(await stage.retryNow()), /^No retry was requested\. .*stolen/);
  assert.ok((await stage.actions()).every(({ type }) => type !== "RETRY"));
});

test("no retry at once is requested when facts contradict, the case is over, or no endpoint is set", async () => {
  await fail();
  stage.wait(MINUTE);
  await stage.transaction({ state: "PAID" });
  assert.match(
    String(await stage.retryNow()),
    /^No retry was requested\. The case ended already: the invoice is paid\.$/,
  );
  stage.wait(MINUTE);
  await stage.invoice({ state: "UNPAID" });
  await stage.decide();
  assert.match(String(await stage.retryNow()), /^No retry was requested\. /);
  assert.equal(await stage.retryNow("inv_9"), null);
  merchant = await stage.enter(false);
  await fail();
  assert.match(String(await stage.retryNow()), /The merchant has no endpoint/);
});

test("postponed retries are planned after the time, which the reasons give, and the audit log has it", async () => {
  await fail();
  const until = new Date(START.getTime() + 12 * DAY);
  assert.ok((await stage.actions())[0]!.ideal < until);
  assert.deepEqual(Object.keys((await stage.postpone(until)) as object), ["caseId", "until"]);
  await stage.decide();
  const [action] = await stage.actions();
  assert.ok(action!.ideal.getTime() - 49 * MINUTE >= until.getTime(), `${action!.ideal}`);
  const explained = (await loadExplainedCase(stage.db, merchant.id, "inv_1", stage.now()))!;
  assert.match(JSON.stringify(buildExplanation(explained)), /Retries were postponed by hand until/);
  assert.deepEqual(await audited(), [
    { operation: "recovery.postponed", object: "inv_1", details: { until: until.toISOString() } },
  ]);
});

test("new facts do not end a postponement, and a retry at once does", async () => {
  await fail();
  const until = new Date(START.getTime() + 12 * DAY);
  await stage.postpone(until);
  stage.wait(DAY);
  await stage.transaction({ initiator: "CUSTOMER" });
  await stage.decide();
  assert.ok((await stage.actions()).at(-1)!.ideal > until);
  stage.wait(DAY);
  assert.equal(typeof (await stage.retryNow()), "object");
  const sent = await retries();
  assert.equal(sent.length, 1);
  await stage.deliver();
  stage.wait(MINUTE);
  await stage.transaction({ recoveryActionId: sent[0]!.id });
  await stage.decide();
  assert.ok((await stage.actions()).at(-1)!.ideal < until, "the next one is planned as usual");
});

test("a case is not postponed to the past, beyond its window, or while an outcome is awaited", async () => {
  await fail();
  assert.match(String(await stage.postpone(stage.now())), /^Nothing was postponed\. The time is over already\.$/);
  const end = new Date(START.getTime() + 28 * DAY);
  assert.match(String(await stage.postpone(end)), /^Nothing was postponed\. The recovery window ends on 2026-03-30T/);
  await stage.retryNow();
  const later = new Date(START.getTime() + 9 * DAY);
  assert.match(String(await stage.postpone(later)), /^Nothing was postponed\. A retry was requested already/);
  assert.equal(await stage.postpone(later, "inv_9"), null);
});
