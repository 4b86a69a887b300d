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

/** The first `count` customers that the experiment assigns to an arm. */
function customersIn(experiment: Experiment, arm: Arm, count: number): string[] {
  const customerIds: string[] = [];
  for (let n = 0; customerIds.length < count; n++)
    if (assignArm(experiment, `cus_${n}`).arm === arm) customerIds.push(`cus_${n}`);
  return customerIds;
}

async function start(plan: Parameters<typeof stage.start>[0] = {}): Promise<Experiment> {
  const experiment = await stage.start(plan);
  assert.ok(experiment);
  return experiment;
}

test("a case in the merchant's arm sends and plans nothing, and stays open until its window is over", async () => {
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

test("a case in the merchant's arm sends no event when its subscription ends", async () => {
  const [customerId] = customersIn(await start(), "merchant", 1);
  await stage.invoice({ customerId: customerId!, subscriptionId: "sub_1" });
  await stage.subscription("CANCELED");
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "subscription_canceled");
  assert.deepEqual(await stage.events(), []);
});

test("a case in Dunlin's arm first pauses collection and plans a retry", async () => {
  const [customerId] = customersIn(await start(), "dunlin", 1);
  await stage.invoice({ customerId: customerId! });
  await stage.decide();
  assert.deepEqual(
    (await stage.events()).map(({ type }) => type),
    ["pause_collection"],
  );
  assert.equal((await stage.actions()).length, 1);
});

test("all invoices of a customer share one arm and keep it when the experiment stops", async () => {
  const experiment = await start();
  const [customerId] = customersIn(experiment, "merchant", 1);
  for (const id of ["inv_1", "inv_2"]) await stage.invoice({ id, customerId: customerId! });
  await stage.stop();
  await stage.invoice({ id: "inv_3", customerId: customerId! });
  stage.wait(HOUR);
  await stage.decide();
  assert.deepEqual(await stage.arms(), ["merchant", "merchant", "dunlin"]);
});

test("a customer keeps the stored arm when the experiment would now assign another one", async () => {
  const merchant = await stage.enter();
  const experiment = await start();
  const [customerId] = customersIn(experiment, "merchant", 1) as [string];
  await stage.invoice({ customerId });
  const cases = [customerId, "new"].map((customerId) => ({ id: customerId, customerId, unpaidAt: START }) as NewCase);
  // A share of 1 assigns every customer to Dunlin.
  const { assigned } = await assignArms(stage.db, merchant, { ...experiment, share: 1 }, cases);
  assert.deepEqual(
    assigned.map(({ arm }) => arm),
    ["merchant", "dunlin"],
  );
});

test("both arms belong to the merchant's own system during the calibration", async () => {
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

test("a case that was open before the experiment does not take part", async () => {
  await stage.invoice();
  const experiment = await start();
  await stage.invoice({ updatedAt: new Date(+START + HOUR) });
  stage.wait(60 * DAY);
  await stage.count(experiment.id);
  assert.deepEqual(await stage.tallies(experiment.id), []);
});

test("the time of the failure, not of the push, decides whether an invoice takes part and in which phase", async () => {
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

test("a case opened at a time before the experiment does not take part when the experiment is already stored", async () => {
  stage.at(+START + DAY);
  const [customerId] = customersIn(await start(), "merchant", 1);
  stage.at(+START + DAY - 1);
  await stage.invoice({ customerId: customerId! });
  assert.deepEqual(await stage.arms(), ["dunlin"]);
});

test("every invoice counts exactly once when it is mature, paid or not", async () => {
  const experiment = await start({ maturityDays: 30 });
  const [first, second] = customersIn(experiment, "dunlin", 2);
  await stage.invoice({ id: "paid", customerId: first!, amount: 1000 });
  await stage.invoice({ id: "paid late", customerId: first!, amount: 300 });
  await stage.invoice({ id: "given up, then paid", customerId: first!, amount: 70, subscriptionId: "sub_1" });
  await stage.invoice({ id: "never", customerId: second!, amount: 20_000 });
  await stage.invoice({ id: "voided", customerId: second!, amount: 500 });
  await stage.subscription("CANCELED");
  await stage.decide();
  stage.wait(DAY);
  await stage.invoice({ id: "paid", customerId: first!, amount: 1000, state: "PAID" });
  await stage.invoice({ id: "voided", customerId: second!, amount: 500, state: "VOIDED" });
  await stage.invoice({ id: "given up, then paid", customerId: first!, amount: 70, state: "PAID" });
  stage.at(+START + 29 * DAY);
  assert.equal((await stage.count(experiment.id))!.invoices.waiting, 5);
  stage.at(+START + 30 * DAY);
  const analysis = await stage.count(experiment.id);
  assert.deepEqual(analysis!.invoices, { counted: 5, waiting: 0 });
  stage.at(+START + 31 * DAY);
  await stage.invoice({ id: "paid late", customerId: first!, amount: 300, state: "PAID" });
  await stage.count(experiment.id);
  const tallies = await stage.tallies(experiment.id);
  const sums = (measure: string) => {
    const cells = tallies.filter((tally) => tally.measure === measure);
    return (["customers", "due", "got"] as const).map((field) => cells.reduce((sum, cell) => sum + cell[field], 0));
  };
  assert.deepEqual(sums("count"), [2, 5, 2]);
  assert.deepEqual(sums("EUR"), [2, 21_870, 1070]);
});

test("an invoice whose recovery a person stopped counts in its arm as not recovered", async () => {
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

test("counting in two rounds gives the same tallies as counting once", async () => {
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

test("a paid attempt counts as recovered, and an invoice that became unpaid again does not", async () => {
  const experiment = await start({ maturityDays: 30 });
  const [first, second] = customersIn(experiment, "dunlin", 2);
  await stage.invoice({ id: "by attempt", customerId: first! });
  await stage.invoice({ id: "came back", customerId: second! });
  stage.wait(DAY);
  await stage.transaction({ id: "t1", invoiceId: "by attempt", customerId: first!, state: "PAID" });
  await stage.invoice({ id: "came back", customerId: second!, state: "PAID" });
  stage.wait(DAY);
  await stage.invoice({ id: "came back", customerId: second! });
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

test("a merchant runs one experiment at a time, and a stopped one is analyzed until its last invoice is counted", async () => {
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
