import assert from "node:assert/strict";
import { test } from "node:test";
import { createDunlinPolicy } from "../../lab/trial/dunlin-policy.ts";
import { openWorld, readPretrainedModel } from "../../lab/trial/open-world.ts";
import { runTrial } from "../../lab/trial/run-trial.ts";
import { even } from "../../lab/trial/scheduled-policies.ts";
import { computeFigures } from "../../lab/trial/trial-figures.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { createTestDatabase } from "../database.ts";
import { runWorldThroughService } from "./world-through-service.ts";

const seed = 1;
const prior = readPretrainedModel();
/** With so few cases, random differences reach at most this share of the money. */
const APART_MAX = 0.04;

// For other worlds and more customers: npm run lab -- service.
for (const [name, customers, seed] of [["debits", 50, 1]] as const)
  test(`a year of ${name} through the service recovers as much as a trial of its engine, more than evenly spaced retries, and breaks no rule`, async (t) => {
    const database = await createTestDatabase();
    try {
      const lived = await runWorldThroughService(database.db, await openWorld(name), { seed, customers, prior });
      const [service, trial, spread] = [
        computeFigures(lived),
        computeFigures(runTrial(await openWorld(name), createDunlinPolicy(fromPretrained(prior)), seed, customers)),
        computeFigures(runTrial(await openWorld(name), even(), seed, customers)),
      ];
      const said = `service ${service.value.toFixed(3)}, trial ${trial.value.toFixed(3)}, even tries ${spread.value.toFixed(3)}`;
      t.diagnostic(`${said}; ${lived.cases.length} cases, ${lived.retries.length} tries`);
      assert.equal(service.brokenRules, 0);
      assert.equal(lived.retries.length, lived.asked.retries, "whatever was asked for came while the bill was unpaid");
      assert.ok(service.value > trial.value - APART_MAX && service.value > spread.value, said);
    } finally {
      await database.drop();
    }
  });

test("a merchant gets retry instructions when it pushes only invoices and refuses to retry blocked cards", async (t) => {
  const database = await createTestDatabase();
  try {
    const lived = await runWorldThroughService(database.db, await openWorld("balances"), {
      seed,
      customers: 40,
      prior,
      alone: true,
    });
    const spread = computeFigures(runTrial(await openWorld("balances"), even(), seed, 40));
    const { value } = computeFigures(lived);
    t.diagnostic(`service ${value.toFixed(3)}, even tries ${spread.value.toFixed(3)}`);
    assert.equal(lived.retries.length + lived.asked.refused, lived.asked.retries);
    assert.ok(value > spread.value - APART_MAX);
  } finally {
    await database.drop();
  }
});
