import assert from "node:assert/strict";
import { after, test } from "node:test";
import pino from "pino";
import { newLearnedModel } from "../engine/learned/learned-model.ts";
import { classOf } from "../engine/learned/model-layout.ts";
import { prepared } from "../postgres/database.ts";
import { decisionsOfCase } from "../tables/decisions.ts";
import { trainingExamplesAfter } from "../tables/learned-models.ts";
import { createRecoveredCase } from "./recovered-case.fixture.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());
const LEARNER = "01900000-0000-7000-8000-00000000000a";
const UPDATE_DECISION = prepared(
  "test_decided_again",
  `insert into decisions (merchant_id, case_id, number, made_at, engine, model_version, kind, action_id, ideal_time, chance, propensity, facts, account)
   select merchant_id, case_id, number + 100, made_at, engine, model_version, kind, action_id, ideal_time, 0.123, propensity, facts, account
   from decisions where merchant_id = $1 and action_id = $2`,
);

test("the calibration compares a retry's outcome with the probability of its last decision", async () => {
  const merchant = await stage.enter();
  await createRecoveredCase(stage);
  stage.wait(HOUR);
  const examples = await trainingExamplesAfter(stage.db, merchant.id, stage.now(), null, 10);
  const decisions = await stage.db.transaction((tx) => decisionsOfCase(tx, merchant.id, examples[0]!.caseId));
  const predictions = examples.map(({ id }) => decisions.findLast(({ actionId }) => actionId === id)!.chance!);
  assert.ok(predictions.length === 2 && predictions.every((chance) => chance > 0 && chance < 1));
  assert.deepEqual(
    examples.map((example) => example.predictedChance),
    predictions,
  );
  await stage.db.run(UPDATE_DECISION, [merchant.id, examples[0]!.id]);
  const again = await trainingExamplesAfter(stage.db, merchant.id, stage.now(), null, 10);
  assert.deepEqual(
    again.map((example) => example.predictedChance),
    [0.123, predictions[1]],
    "what was said last, in the order of lessons",
  );
  // Leaves nothing to learn for the next test.
  assert.equal(await stage.learner(LEARNER).learnDue(), 2);
});

test("the log reports when far fewer retries are approved than predicted, and when that is over", async () => {
  const merchant = await stage.enter();
  await createRecoveredCase(stage);
  // Just below the threshold: one more failure is enough.
  const model = newLearnedModel();
  const [short, open, since, latest] = [10.499, 9, +START - 2 * DAY, +START - HOUR];
  model.shortfalls.set([short, open, since, latest], classOf("FUNDS") * 4);
  const logged: unknown[] = [];
  const log = pino(
    {},
    {
      write(line: string) {
        const { msg, merchantId, reasons } = JSON.parse(line) as Record<string, string>;
        if (msg!.startsWith("chances.")) logged.push([msg, merchantId, reasons]);
      },
    },
  );
  const learner = stage.learner(LEARNER, stage.db, log);
  await stage.storeLearned(model);
  assert.equal(await learner.learnDue(), 1);
  assert.deepEqual(logged, [["chances.fall_short", merchant.id, "FUNDS"]]);
  stage.wait(11 * MINUTE);
  assert.equal(await learner.learnDue(), 1);
  assert.deepEqual(logged.slice(1), [["chances.come_true", merchant.id, "FUNDS"]]);
});
