import assert from "node:assert/strict";
import { test } from "node:test";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { openWorld, readPretrainedModel } from "./open-world.ts";
import { compareRecoveryEstimates } from "./recovery-estimates.ts";
import { runTrial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";

test("recovery estimates of plans and of evenly spaced retries are compared with outcomes in the same cases", async () => {
  const {
    cases,
    plan,
    even: spread,
  } = compareRecoveryEstimates(await openWorld("balances"), fromPretrained(readPretrainedModel()), 71, 400);
  const all = runTrial(await openWorld("balances"), even(), 71, 400).cases;
  const reached = all.filter(({ charges }) => charges.at(-1)!.approved).length;
  assert.ok(cases > 0.8 * all.length && cases <= all.length, `${cases} of ${all.length}`);
  // Cases not worth retrying are recovered less often by evenly spaced retries.
  assert.ok(spread.reached >= reached / all.length && spread.reached < reached / cases, `${spread.reached}`);
  for (const { promised, reached } of [plan, spread])
    assert.ok(Math.abs(promised - reached) < 0.12, `${promised} promised, ${reached} reached`);
  assert.ok(plan.promised > spread.promised);
});
