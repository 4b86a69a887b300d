import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { comparePolicies } from "./compare-policies.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { openWorld, readPretrainedModel } from "./open-world.ts";
import type { Policy } from "./policy.ts";
import { runTrial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";
import { computeFigures } from "./trial-figures.ts";

test("Dunlin beats six evenly spaced retries in the balances world, with fewer retries and no rule broken", async () => {
  const names = ["fixed", "even", "warm", "oracle"];
  const { policies, gapClosed } = comparePolicies(await openWorld("balances"), 71, 1500, readPretrainedModel(), names);
  const { even: evenFigures, warm } = policies as { even: typeof policies.even; warm: typeof policies.warm };
  assert.ok(gapClosed.fromEven! > 0.35, `${gapClosed.fromEven} of the gap from evenly spaced retries`);
  assert.ok(gapClosed.fromFixed! > 0.75, `${gapClosed.fromFixed} of the gap from fixed retries`);
  assert.ok(warm!.attemptsPerRecovery! < 0.9 * evenFigures!.attemptsPerRecovery!);
  assert.ok(Object.values(policies).every(({ brokenRules }) => brokenRules === 0));
  assert.ok(warm!.ece! < 0.05, `${warm!.ece}`);
});

test("bank debits are presented at good times and no more often than their scheme allows", async () => {
  const { policies, gapClosed } = comparePolicies(await openWorld("debits"), 72, 300, readPretrainedModel(), [
    "even",
    "warm",
  ]);
  assert.ok(gapClosed.fromEven! > 0.35, `${gapClosed.fromEven}`);
  assert.ok(policies.warm!.attempts <= 6 && policies.warm!.brokenRules === 0);
});

test("a new model is at most one point behind six evenly spaced retries", async () => {
  const world = await openWorld("balances");
  const valueWith = (policy: Policy, seed: number) => computeFigures(runTrial(world, policy, seed, 250)).value;
  const ahead = [74, 75].map(
    (seed) => valueWith(createDunlinPolicy(newLearnedModel()), seed) - valueWith(even(), seed),
  );
  assert.ok(ahead[0]! + ahead[1]! > -0.02, `${ahead}`);
});
