import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { assignArm } from "../experiments/statistics/assignment.ts";
import { prepared } from "../postgres/database.ts";
import { createFailingDatabase } from "../recovery/failing-database.fixture.ts";
import { openObservedStage } from "../recovery/observed.fixture.ts";
import { DAY, HOUR, MINUTE, START } from "../recovery/stage.fixture.ts";
import { findModel, SHARED_MODEL } from "../tables/learned-models.ts";

const OUTDATE_LAYOUT = prepared("age_watched", "update learned_models set layout = '1:7'");
const FIRST_LEARNER = "01900000-0000-7000-8000-00000000000a";
const SECOND_LEARNER = "01900000-0000-7000-8000-00000000000b";

let stage: Awaited<ReturnType<typeof openObservedStage>>;
before(async () => {
  stage = await openObservedStage();
});
after(() => stage.drop());
beforeEach(() => stage.begin());

test("in shadow mode each retry of the merchant trains once, and nothing is listed or sent", async () => {
  await stage.recovered();
  assert.deepEqual(await stage.noted(), ["txn_3", "txn_5"]);
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 1); // the later one was noted just now
  assert.equal(await stage.learn(), 1);
  assert.equal(await stage.learn(), 0);
  assert.equal(await stage.lessons(), 2);
  assert.deepEqual(await stage.actions(), []);
  assert.deepEqual(await stage.events(), []);
  assert.equal((await stage.outcomes())[0]!.outcome, "watched");
});

test("a merchant's retry trains the model exactly as the same retry of Dunlin does", async () => {
  await stage.begin(false);
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const days: number[] = [];
  for (const state of ["FAILED", "PAID"] as const) {
    const { ideal } = await stage.untilSent();
    days.push((+ideal - +START) / DAY);
    stage.at(ideal);
    await stage.transaction({ state });
    await stage.decide();
  }
  assert.equal(await stage.learn(), 2);
  const retries = await stage.stored();
  await stage.begin();
  await stage.invoice();
  await stage.tried(0);
  await stage.tried(days[0]!);
  await stage.tried(days[1]!, { state: "PAID" });
  assert.equal(await stage.learn(), 2);
  assert.deepEqual(await stage.stored(), retries);
  assert.ok(retries.size > 50);
});

test("in an experiment the holdout trains too, and its members do not change", async () => {
  await stage.set({ shadow: false });
  const experiment = (await stage.start())!;
  const customers = Array.from({ length: 12 }, (_, n) => `cus_${n}`);
  const arms = customers.map((customerId) => assignArm(experiment, customerId).arm);
  await stage.recovered(customers[arms.indexOf("merchant")]);
  assert.equal(await stage.learn(), 2);
  for (const [n, customerId] of customers.entries()) await stage.invoice({ id: `inv_1${n}`, customerId });
  assert.deepEqual((await stage.arms()).slice(1), arms);
});

test("failed retries train nothing when invoices are paid without reported attempts", async () => {
  const taughtBy = async (isReported: boolean, days: readonly number[]) => {
    await stage.begin();
    await stage.invoice({ id: "inv_paid", state: "PAID" });
    if (isReported) await stage.transaction({ id: "txn_paid", invoiceId: "inv_paid", state: "PAID" });
    await stage.invoice();
    for (const day of [0, ...days]) await stage.tried(day);
    assert.equal(await stage.learn(), 2, "the cursor moves on");
    return await stage.stored();
  };
  assert.deepEqual(await taughtBy(false, [3, 5]), await taughtBy(false, [6, 12]));
  assert.notDeepEqual(await taughtBy(true, [3, 5]), await taughtBy(true, [6, 12]));
});

test("a retry trains once when it has ended, whatever versions come before and after", async () => {
  await stage.invoice();
  await stage.tried(0);
  await stage.tried(3, { state: "PENDING" });
  assert.deepEqual(await stage.noted(), []);
  await stage.tried(3, { state: "PENDING", updatedAt: new Date(+START + 4 * DAY) });
  stage.at(+START + 5 * DAY);
  await stage.tried(3, { state: "FAILED" });
  assert.equal(await stage.learn(), 1);
  await stage.tried(3, { state: "FAILED", networkDeclineCode: "05" });
  assert.equal(await stage.learn(), 0);
  assert.deepEqual([await stage.noted(), await stage.lessons()], [["txn_3"], 1]);
});

test("a correction within ten minutes is learned as corrected", async () => {
  await stage.recovered();
  await stage.learn();
  const paid = await stage.stored();
  await stage.begin();
  await stage.invoice();
  await stage.tried(0);
  await stage.tried(3);
  await stage.tried(5);
  stage.wait(MINUTE);
  await stage.tried(5, { state: "PAID" });
  assert.equal(await stage.learn(), 2);
  assert.deepEqual(await stage.stored(), paid);
});

test("a retry reported weeks late still trains, also after later ones and after the end of its case", async () => {
  await stage.invoice();
  await stage.tried(0);
  await stage.tried(6);
  assert.equal(await stage.learn(), 1);
  await stage.tried(2);
  assert.equal(await stage.learn(), 1);
  stage.at(+START + 28 * DAY);
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "window_over");
  await stage.tried(4);
  await stage.tried(40);
  assert.equal(await stage.learn(), 1);
  assert.deepEqual(await stage.noted(), ["txn_6", "txn_2", "txn_4"]);
});

test("records that are pushed or imported again train nothing again", async () => {
  await stage.recovered();
  assert.equal(await stage.learn(), 2);
  for (const day of [0, 3]) await stage.tried(day);
  await stage.tried(5, { state: "PAID" });
  await stage.poke();
  await stage.decide();
  assert.equal(await stage.learn(), 0);
  assert.equal(await stage.lessons(), 2);
});

test("a replaced model learns observed retries and those of Dunlin again, in recorded order", async () => {
  // Planned before the watched retries are noted, and executed between them.
  await stage.set({ shadow: false });
  await stage.invoice({ id: "inv_2", customerId: "cus_2" });
  await stage.decide();
  const { ideal } = await stage.untilSent();
  await stage.set({ shadow: true });
  await stage.invoice({ updatedAt: START });
  await stage.tried(0);
  await stage.tried(0.1);
  stage.at(ideal);
  await stage.transaction({ invoiceId: "inv_2", customerId: "cus_2", cardFingerprint: "fp_2" });
  await stage.decide();
  assert.equal(await stage.learn(), 2);
  await stage.tried(0.2);
  assert.equal(await stage.learn(), 1);
  const once = await stage.stored();
  await stage.db.run(OUTDATE_LAYOUT);
  assert.equal(await stage.learn(), 3);
  assert.equal(await stage.learn(), 0);
  assert.equal(await stage.lessons(), 3);
  assert.equal((await findModel(stage.db, SHARED_MODEL))!.version, 4);
  assert.deepEqual(await stage.stored(), once);
});

test("no retry is left out when more retries share a time than one batch holds", async () => {
  await stage.invoice();
  for (let n = 0; n <= 103; n++) await stage.transaction({ id: `txn_${n}`, createdAt: new Date(+START + n * MINUTE) });
  await stage.decide();
  assert.deepEqual([await stage.learn(), await stage.learn(), await stage.learn()], [100, 3, 0]);
});

test("a crash at any statement of a step or a round neither loses nor repeats an observed retry", async () => {
  await stage.invoice();
  await stage.tried(0);
  stage.at(+START + 5 * DAY);
  await stage.transaction({ id: "late_3", createdAt: new Date(+START + 3 * DAY) });
  await stage.transaction({ id: "late_5" });
  /** A step and a round of a process that dies after so many statements. */
  const trainUntil = async (dieAfter: number) => {
    const failingDb = createFailingDatabase(stage.db, dieAfter);
    await stage
      .decide(failingDb.db)
      .then(() => stage.learn(failingDb.db))
      .catch(() => {});
    return failingDb;
  };
  // A crash between two reads leaves what a crash before them left.
  const points = (await trainUntil(Number.POSITIVE_INFINITY)).crashPoints();
  assert.ok(points.length > 12, `${points}`);
  const storedResult = await stage.stored();
  assert.equal(await stage.lessons(), 2);
  for (const dieAt of points) {
    await stage.forgetNoted();
    await stage.poke();
    await trainUntil(dieAt);
    await stage.handOver();
    await stage.decide();
    await stage.learn();
    assert.deepEqual(await stage.noted(), ["late_3", "late_5"], `died at statement ${dieAt}`);
    assert.equal(await stage.lessons(), 2, `died at statement ${dieAt}`);
    assert.deepEqual(await stage.stored(), storedResult, `died at statement ${dieAt}`);
  }
});

test("two processes that learn at once write an observed retry once", async () => {
  await stage.recovered();
  stage.wait(HOUR);
  const [anne, ben] = [stage.learner(FIRST_LEARNER), stage.learner(SECOND_LEARNER)];
  const counts = await Promise.all([anne.learnDue(), stage.handOver().then(() => ben.learnDue())]);
  assert.equal(counts[0] + counts[1], 2);
  assert.equal(await stage.lessons(), 2);
});

test("a retry that the gateway blocked trains nothing and is not recorded", async () => {
  await stage.invoice();
  await stage.tried(0);
  await stage.tried(3);
  await stage.learn();
  const before = await stage.stored();
  await stage.tried(5, { paymentGatewayStatus: "not_sent_to_network", networkDeclineCode: undefined });
  assert.deepEqual(await stage.noted(), ["txn_3"]);
  await stage.learn();
  assert.deepEqual(await stage.stored(), before);
});
