import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Experiment } from "../domain/experiment.ts";
import type { Merchant } from "../domain/merchant.ts";
import { assignArm } from "../experiments/statistics/assignment.ts";
import { countImmatureByArm, failedWeeks } from "../tables/experiment-invoices.ts";
import { DAY, openStage, START } from "./stage.fixture.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter();
});

const MATURITY_DAYS = 30;

/** Runs an experiment, and a second one ten days later; `during` runs while the first is active. */
async function runTwoExperiments(during: (first: Experiment) => Promise<void>) {
  const first = (await stage.start({ maturityDays: MATURITY_DAYS }))!;
  await during(first);
  stage.at(+START + 10 * DAY);
  await stage.stop();
  const second = (await stage.start({ maturityDays: MATURITY_DAYS }))!;
  return { first, second };
}

test("a second experiment assigns its own arms, also to customers of the first", async () => {
  const customers = Array.from({ length: 20 }, (_, n) => `cus_${n}`);
  const { first, second } = await runTwoExperiments(async () => {
    for (const customerId of customers) await stage.invoice({ id: `first of ${customerId}`, customerId });
  });
  for (const customerId of customers) await stage.invoice({ id: `second of ${customerId}`, customerId });
  const armsIn = (experiment: Experiment) => customers.map((id) => assignArm(experiment, id).arm);
  assert.notDeepEqual(armsIn(first), armsIn(second));
  assert.deepEqual(await stage.arms(), [...armsIn(first), ...armsIn(second)]);
});

for (const lookDays of [[45], [35, 45]])
  test(`each experiment counts its own invoices, analyzed after ${lookDays.join(" and ")} days`, async () => {
    const { first, second } = await runTwoExperiments(async () => {
      await stage.invoice({ amount: 300 });
      stage.wait(DAY);
      await stage.invoice({ amount: 300, state: "PAID" });
    });
    await stage.invoice({ id: "inv_2", amount: 500 });
    // This customer was in the first experiment and is also in the second.
    await stage.invoice({ amount: 300 });
    for (const days of lookDays) {
      stage.at(+START + days * DAY);
      const analysis = await stage.count(first.id);
      assert.deepEqual(analysis!.invoices, { counted: 1, waiting: 0 });
    }
    const eurosOf = async ({ id }: Experiment) => (await stage.tallies(id)).filter(({ measure }) => measure === "EUR");
    const sums = async (experiment: Experiment) =>
      (await eurosOf(experiment)).map(({ customers, due, got, dueDue }) => ({ customers, due, got, dueDue }));
    assert.deepEqual(await sums(first), [{ customers: 1, due: 300, got: 0, dueDue: 300 * 300 }]);
    assert.deepEqual(await sums(second), [{ customers: 1, due: 800, got: 0, dueDue: 800 * 800 }]);
  });

test("an experiment's pages count its own invoices", async () => {
  const { first, second } = await runTwoExperiments(async () => {
    await stage.invoice();
  });
  for (const id of ["inv_2", "inv_3"]) await stage.invoice({ id });
  const young = async ({ id }: Experiment) => (await countImmatureByArm(stage.db, merchant.id, id)).map(({ n }) => n);
  assert.deepEqual([await young(first), await young(second)], [[1], [2]]);
  const failed = async ({ id }: Experiment) =>
    (await failedWeeks(stage.db, merchant.id, id, "UTC", START)).map(({ failed }) => failed);
  assert.deepEqual([await failed(first), await failed(second)], [[1], [2]]);
});
