import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { DAY, HOUR, MINUTE, openStage } from "../recovery/stage.fixture.ts";
import { findAnswer } from "./answers.fixture.ts";
import { buildHeadline, joinHeadline } from "./invoice-headline.ts";
import { loadExplainedCase } from "./load-explained-case.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const headline = async () => {
  const built = buildHeadline((await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!);
  if (built.time !== null) assert.ok(built.rest.includes(built.time), built.rest);
  return joinHeadline(built);
};
async function fail(over: Parameters<typeof stage.transaction>[0] = {}) {
  await stage.invoice();
  await stage.transaction(over);
  await stage.decide();
}
const TIME = String.raw`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ \w+, \d\d:\d\d`;
const NO_MONEY = String.raw`there was not enough money \(code 51\)`;
const matches = async (pattern: string) => assert.match(await headline(), new RegExp(`^${pattern}$`));

test("a planned retry: amount, age, why it failed, and the time of the next attempt", async () => {
  await fail();
  stage.wait(2 * HOUR);
  await matches(
    `EUR 49\\.00 has been unpaid for 2 hours\\. The first attempt failed: ${NO_MONEY}\\. The next attempt is planned for ${TIME}\\.`,
  );
});

test("several failures are counted, with their common reason or the latest one", async () => {
  await fail();
  stage.wait(DAY + HOUR);
  await stage.transaction();
  await stage.decide();
  await matches(`EUR 49\\.00 has been unpaid for 1 day\\. Both attempts failed: ${NO_MONEY}\\. The next .*`);
  stage.wait(DAY);
  await stage.transaction();
  await stage.decide();
  await matches(`EUR 49\\.00 has been unpaid for 2 days\\. All 3 attempts failed: ${NO_MONEY}\\. The next .*`);
  stage.wait(DAY);
  await stage.transaction({ networkDeclineCode: "61" });
  await stage.decide();
  await matches("EUR 49\\.00 has been unpaid for 3 days\\. The last of 4 attempts failed: .*\\(code 61\\)\\. The .*");
});

test("a requested retry first waits for delivery, and then for its outcome", async () => {
  await fail();
  await stage.untilDecided();
  await matches(`.* The instruction to retry on ${TIME} is waiting for delivery\\.`);
  await stage.deliver();
  await stage.decide();
  await matches(`.* A retry was requested for ${TIME}, and its outcome is awaited\\.`);
});

test("a request for another card says when it was made", async () => {
  await fail({ networkDeclineCode: "41" });
  await stage.untilSent();
  await matches(
    `.* failed: .*\\(code 41\\)\\. Another card or payment method was requested on ${TIME}, and may still come\\.`,
  );
});

test("a part that is left to pay is named with the whole amount", async () => {
  await fail();
  stage.wait(MINUTE);
  await stage.transaction({ state: "PAID", amount: 1900 });
  await stage.decide();
  await matches("EUR 30\\.00 of EUR 49\\.00 has been unpaid for .*");
});

test("a contradiction is not stated as a debt", async () => {
  await fail();
  stage.wait(MINUTE);
  await stage.transaction({ state: "PAID", currency: "USD" });
  await stage.decide();
  await matches("It is not clear whether EUR 49\\.00 is unpaid\\. The facts about it contradict each other, .*");
});

test("a wait names its reason without the time zone", async () => {
  await fail();
  stage.wait(HOUR);
  await stage.transaction({ state: "PENDING" });
  await stage.decide();
  await matches(`.* Dunlin waits\\. An attempt was made on ${TIME} and may still succeed, .*`);
  assert.doesNotMatch(await headline(), /Europe\/Berlin/);
});

test("a paid invoice says when it was paid, and whether a retry of Dunlin brought it", async () => {
  await fail();
  stage.wait(HOUR);
  const requested = await stage.retryNow();
  await stage.deliver();
  stage.wait(MINUTE);
  await stage.transaction({ state: "PAID", recoveryActionId: (requested as { actionId: string }).actionId });
  await stage.decide();
  await matches(
    `EUR 49\\.00 was paid on ${TIME}\\. A retry that Dunlin requested succeeded, after 1 failed attempt\\.`,
  );
  merchantId = (await stage.enter()).id;
  await fail();
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  await matches(
    `EUR 49\\.00 was paid on ${TIME}\\. It was paid without an instruction of Dunlin, after 1 failed attempt\\.`,
  );
});

test("a lost invoice says why it failed and how recovery ended", async () => {
  await fail();
  stage.wait(40 * DAY);
  await stage.decide();
  await matches(
    `EUR 49\\.00 was not recovered\\. The first attempt failed: ${NO_MONEY}\\. The case ended on ${TIME}: the recovery window was over\\.`,
  );
});

test("a lost invoice says that another card was requested, and that none came", async () => {
  await fail({ networkDeclineCode: "41" });
  await stage.untilSent();
  stage.wait(40 * DAY);
  await stage.decide();
  const asked = `Another card or payment method was requested on ${TIME}, and no answer came\\.`;
  await matches(
    `EUR 49\\.00 was not recovered\\. The first attempt failed: .*\\(code 41\\)\\. ${asked} The case ended on ${TIME}: the recovery window was over\\.`,
  );
  const why = await findAnswer(stage, merchantId, "Why did it stop?");
  assert.match(why, new RegExp(`^The case ended: the recovery window was over\\.\n${asked}$`));
});

test("a customer whose new card failed is said to have answered without a payment", async () => {
  await fail({ networkDeclineCode: "41" });
  await stage.untilSent();
  stage.wait(HOUR);
  await stage.transaction({ initiator: "CUSTOMER", cardFingerprint: "fp_new" });
  stage.wait(40 * DAY);
  await stage.decide();
  assert.match(await headline(), / was requested on [^.]*, and no payment followed\. The case ended/);
});

test("a stopped recovery says so, and a voided invoice is no longer due", async () => {
  await fail();
  await stage.stopRecovery();
  await matches(
    `Recovery of EUR 49\\.00 was stopped by the command line on ${TIME}\\. The first attempt failed: ${NO_MONEY}\\.`,
  );
  merchantId = (await stage.enter()).id;
  await fail();
  stage.wait(HOUR);
  await stage.invoice({ state: "VOIDED" });
  await stage.decide();
  await matches(`EUR 49\\.00 is no longer due\\. The case ended on ${TIME}: the invoice was voided\\.`);
});

test("in shadow mode and in the holdout, Dunlin only would act or only observes", async () => {
  merchantId = (await stage.enter(true, { shadow: true })).id;
  await fail();
  await matches(`.* Shadow mode: Dunlin would request a retry on ${TIME}\\. The merchant's own system retries\\.`);
  merchantId = (await stage.enter()).id;
  await stage.start({ share: 0.01 });
  await fail();
  await matches(".* An experiment assigned this customer to the merchant's own system, so Dunlin only observes\\.");
});

test("an invoice without a case is not called unpaid", async () => {
  await stage.invoice({ state: "PAID" });
  await stage.transaction({ state: "PAID" });
  await matches("EUR 49\\.00 is paid\\. It was paid at the first attempt, so there was nothing to decide\\.");
});
