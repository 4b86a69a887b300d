import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { openWorld, readPretrainedModel } from "./open-world.ts";
import { measurePredictionLoss } from "./prediction-loss.ts";
import { runTrial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";

test("the engine predicts another policy's attempts better than their mean, worse than the world itself, and warm better than cold", async () => {
  const measure = async (model = fromPretrained(readPretrainedModel())) =>
    measurePredictionLoss(await openWorld("balances"), model, 71, 400);
  const [warm, again, cold] = [await measure(), await measure(), await measure(newLearnedModel())];
  assert.ok(warm.tries > 400);
  assert.deepEqual(again, warm);
  assert.ok(warm.engine < 0.95 * warm.share, `${warm.engine} of ${warm.share}`);
  assert.ok(warm.world < warm.engine, `${warm.world} of ${warm.engine}`);
  assert.ok(warm.early < cold.early, `${warm.early}, cold ${cold.early}`);
  assert.deepEqual([cold.tries, cold.share, cold.world], [warm.tries, warm.share, warm.world], "the same tries");
  const unwatched = runTrial(await openWorld("balances"), even(), 71, 400);
  assert.equal(warm.tries, unwatched.retries.length, "which nobody who looks on changes");
});
