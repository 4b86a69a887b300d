import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Arm, Experiment } from "../domain/experiment.ts";
import { assignArms } from "../recovery/assign-arms.ts";
import { DAY, HOUR, openStage, START } from "../recovery/stage.fixture.ts";
import type { NewCase } from "../tables/cases.ts";
import { assignArm } from "./statistics/assignment.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());
beforeEach(() => stage.enter());

/** The first `count` customers that an experiment puts into an arm. */
function customersIn(experiment: Experiment, arm: Arm, count: number): string[] {
  const found: string[] = [];
  for (let n = 0; found.length < count; n++) if (assignArm(experiment, `cus_${n}`).arm === arm) found.push(`cus_${n}`);
  return found;
}

async function start(plan: Parameters<typeof stage.start>[0] = {}): Promise<Experiment> {
  const experiment = await stage.start(plan);
  assert.ok(experiment);
  return experiment;
}

test("in the merchant's arm nothing is sent or planned, and the case is watched until its window is over", async () => {
  const [customerId] = customersIn(await start(), "merchant", 1);
  await stage.invoice({ customerId: customerId! });
  await stage.transaction({ customerId: customerId! });
  await stage.decide();
  assert.deepEqual(await stage.cases(), [{ end: null, due: new Date(+START + 28 * DAY) }]);
  assert.deepEqual(await stage.arms(), ["merchant"]);
  stage.at(+START + 28 * DAY);
  await stage.decide();
  assert.deepEqual((await stage.cases())[0]!.end, "window_over");
  assert.deepEqual(await stage.events(), []);
  assert.deepEqual(await stage.actions(), []);
});

test("not even the end of a subscription is told in the merchant's arm", async () => {
  const [customerId] = customersIn(await start(), "merchant", 1);
  await stage.invoice({ customerId: customerId!, subscriptionId: "sub_1" });
  await stage.subscription("CANCELED");
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "subscription_canceled");
  assert.deepEqual(await stage.events(), []);
});

test("in Dunlin's arm collection is paused first, and a retry is planned", async () => {
  const [customerId] = customersIn(await start(), "dunlin", 1);
  await stage.invoice({ customerId: customerId! });
  await stage.decide();
  assert.deepEqual(
    (await stage.events()).map(({ type }) => type),
    ["pause_collection"],
  );
  assert.equal((await stage.actions()).length, 1);
});

test("all invoices of a customer are in one arm, and stay there when the experiment is stopped", async () => {
  const experiment = await start();
  const [customerId] = customersIn(experiment, "merchant", 1);
  for (const id of ["inv_1", "inv_2"]) await stage.invoice({ id, customerId: customerId! });
  await stage.stop();
  await stage.invoice({ id: "inv_3", customerId: customerId! });
  stage.wait(HOUR);
  await stage.decide();
  assert.deepEqual(await stage.arms(), ["merchant", "merchant", "dunlin"]);
});

test("a customer keeps the arm that is stored, whatever would be drawn by now", async () => {
  const merchant = await stage.enter();
  const experiment = await start();
  const [customerId] = customersIn(experiment, "merchant", 1) as [string];
  await stage.invoice({ customerId });
  const cases = [customerId, "new"].map((customerId) => ({ id: customerId, customerId, unpaidAt: START }) as NewCase);
  // By this one everybody is Dunlin's.
  const { assigned } = await assignArms(stage.db, merchant, { ...experiment, share: 1 }, cases);
  assert.deepEqual(
    assigned.map(({ arm }) => arm),
    ["merchant", "dunlin"],
  );
});

test("during the calibration everybody is left to the merchant's own system", async () => {
  const experiment = await start({ calibrationDays: 14 });
  const [customerId] = customersIn(experiment, "dunlin", 1);
  await stage.invoice({ id: "inv_1", customerId: customerId! });
  stage.wait(14 * DAY);
  await stage.invoice({ id: "inv_2", customerId: customerId!, updatedAt: stage.now() });
  assert.deepEqual(await stage.arms(), ["merchant", "dunlin"]);
  stage.wait(36 * DAY);
  await stage.count(experiment.id);
  const counts = (await stage.tallies(experiment.id)).filter(({ measure }) => measure === "count");
  assert.deepEqual(counts.map(({ phase, arm, due }) => [phase, arm, due]).sort(), [
    ["calibration", "dunlin", 1],
    ["comparison", "dunlin", 1],
  ]);
});

test("a case that was open before the experiment has no part in it", async () => {
  await stage.invoice();
  const experiment = await start();
  await stage.invoice({ updatedAt: new Date(+START + HOUR) });
  stage.wait(60 * DAY);
  await stage.count(experiment.id);
  assert.deepEqual(await stage.tallies(experiment.id), []);
});

test("an invoice that failed before the experiment, and is pushed later, has no part in it; its phase is that of its failure", async () => {
  stage.wait(9 * DAY);
  const experiment = await start({ calibrationDays: 14 });
  const [customerId] = customersIn(experiment, "dunlin", 1) as [string];
  stage.wait(15 * DAY);
  const failed = (id: string, before: number) =>
    stage.invoice({ id, customerId, updatedAt: new Date(+stage.now() - before * DAY) });
  await failed("inv_before", 16);
  await failed("inv_calibration", 2);
  await failed("inv_comparison", 0.5);
  assert.deepEqual((await stage.arms()).sort(), ["dunlin", "dunlin", "merchant"]);
  stage.wait(60 * DAY);
  await stage.count(experiment.id);
  const counts = (await stage.tallies(experiment.id)).filter(({ measure }) => measure === "count");
  assert.deepEqual(counts.map(({ phase, due }) => [phase, due]).sort(), [
    ["calibration", 1],
    ["comparison", 1],
  ]);
});

test("a case that is opened by a moment before the experiment began has no part in it, although that is stored by then", async () => {
  stage.at(+START + DAY);
  const [customerId] = customersIn(await start(), "merchant", 1);
  stage.at(+START + DAY - 1);
  await stage.invoice({ customerId: customerId! });
  assert.deepEqual(await stage.arms(), ["dunlin"]);
});

test("every invoice counts once, when it is old enough and not before, whatever became of it", async () => {
  const experiment = await start({ maturityDays: 30 });
  const [one, two] = customersIn(experiment, "dunlin", 2);
  await stage.invoice({ id: "paid", customerId: one!, amount: 1000 });
  await stage.invoice({ id: "paid late", customerId: one!, amount: 300 });
  await stage.invoice({ id: "given up, then paid", customerId: one!, amount: 70, subscriptionId: "sub_1" });
  await stage.invoice({ id: "never", customerId: two!, amount: 20_000 });
  await stage.invoice({ id: "voided", customerId: two!, amount: 500 });
  await stage.subscription("CANCELED");
  await stage.decide();
  stage.wait(DAY);
  await stage.invoice({ id: "paid", customerId: one!, amount: 1000, state: "PAID" });
  await stage.invoice({ id: "voided", customerId: two!, amount: 500, state: "VOIDED" });
  await stage.invoice({ id: "given up, then paid", customerId: one!, amount: 70, state: "PAID" });
  stage.at(+START + 29 * DAY);
  assert.equal((await stage.count(experiment.id))!.invoices.waiting, 5);
  stage.at(+START + 30 * DAY);
  const look = await stage.count(experiment.id);
  assert.deepEqual(look!.invoices, { counted: 5, waiting: 0 });
  stage.at(+START + 31 * DAY);
  await stage.invoice({ id: "paid late", customerId: one!, amount: 300, state: "PAID" });
  await stage.count(experiment.id);
  const tallies = await stage.tallies(experiment.id);
  const sums = (measure: string) => {
    const cells = tallies.filter((tally) => tally.measure === measure);
    return (["customers", "due", "got"] as const).map((field) => cells.reduce((sum, cell) => sum + cell[field], 0));
  };
  assert.deepEqual(sums("count"), [2, 5, 2]);
  assert.deepEqual(sums("EUR"), [2, 21_870, 1070]);
});

test("an invoice whose recovery a person stopped counts with its arm, as one that was not recovered", async () => {
  const experiment = await start({ maturityDays: 30 });
  const [customerId] = customersIn(experiment, "dunlin", 1);
  for (const id of ["inv_1", "inv_2"]) await stage.invoice({ id, customerId: customerId! });
  await stage.stopRecovery();
  stage.wait(DAY);
  await stage.invoice({ id: "inv_2", customerId: customerId!, state: "PAID" });
  stage.wait(30 * DAY);
  await stage.count(experiment.id);
  const [counted] = (await stage.tallies(experiment.id)).filter(({ measure }) => measure === "count");
  assert.deepEqual([counted!.arm, counted!.due, counted!.got], ["dunlin", 2, 1]);
});

test("counting in two goes is the same as counting at once", async () => {
  const experiment = await start({ maturityDays: 30 });
  const [customerId] = customersIn(experiment, "dunlin", 1);
  await stage.invoice({ id: "inv_1", customerId: customerId!, amount: 300 });
  stage.wait(5 * DAY);
  await stage.invoice({ id: "inv_2", customerId: customerId!, amount: 500 });
  await stage.invoice({
    id: "inv_2",
    customerId: customerId!,
    amount: 500,
    state: "PAID",
    updatedAt: new Date(+START + 6 * DAY),
  });
  stage.at(+START + 31 * DAY);
  await stage.count(experiment.id);
  stage.at(+START + 36 * DAY);
  await stage.count(experiment.id);
  const [euros] = (await stage.tallies(experiment.id)).filter(({ measure }) => measure === "EUR");
  const { customers, due, got, dueDue, dueGot, gotGot } = euros!;
  assert.deepEqual([customers, due, got], [1, 800, 500]);
  assert.deepEqual([dueDue, dueGot, gotGot], [800 * 800, 800 * 500, 500 * 500]);
});

test("an attempt that paid is enough, and an invoice that came back unpaid is not recovered", async () => {
  const experiment = await start({ maturityDays: 30 });
  const [one, two] = customersIn(experiment, "dunlin", 2);
  await stage.invoice({ id: "by attempt", customerId: one! });
  await stage.invoice({ id: "came back", customerId: two! });
  stage.wait(DAY);
  await stage.transaction({ id: "t1", invoiceId: "by attempt", customerId: one!, state: "PAID" });
  await stage.invoice({ id: "came back", customerId: two!, state: "PAID" });
  stage.wait(DAY);
  await stage.invoice({ id: "came back", customerId: two! });
  stage.wait(40 * DAY);
  await stage.count(experiment.id);
  const counts = (await stage.tallies(experiment.id)).filter(({ measure }) => measure === "count");
  assert.equal(
    counts.reduce((sum, { due }) => sum + due, 0),
    2,
  );
  assert.equal(
    counts.reduce((sum, { got }) => sum + got, 0),
    1,
  );
});

test("one experiment at a time; a stopped one is looked at until its last invoice is counted", async () => {
  const experiment = await start();
  assert.equal(await stage.start(), null);
  await stage.invoice();
  await stage.stop();
  for (let days = 0; days < 40; days++) {
    stage.wait(DAY);
    await stage.count(experiment.id);
  }
  const last = await stage.count(experiment.id);
  assert.deepEqual(last!.invoices, { counted: 1, waiting: 0 });
  stage.wait(5 * DAY);
  assert.deepEqual((await stage.count(experiment.id))!.at, last!.at);
  assert.ok(await stage.start());
});
