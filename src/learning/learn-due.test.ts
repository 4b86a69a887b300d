import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import type { Transaction } from "../domain/transaction.ts";
import { splitIntoParts } from "../engine/learned/model-parts.ts";
import { fromPretrained, MODEL_LAYOUT } from "../engine/learned/pretrained-model.ts";
import { prepared } from "../postgres/database.ts";
import { createFailingDatabase } from "../recovery/failing-database.fixture.ts";
import { createRecoveredCase } from "../recovery/recovered-case.fixture.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import {
  findMerchantTrainingState,
  findModel,
  partsSince,
  replaceModel,
  SHARED_MODEL,
} from "../tables/learned-models.ts";
import { toBytes } from "./stored-model.ts";

const stage = await openStage();
after(() => stage.drop());
const TRUNCATE_MODELS = ["learned_models", "learned_parts", "learned_merchants"].map((table) =>
  prepared(`clear_${table}`, `truncate ${table}`),
);
const RELEASE_LEASE = prepared("hand_over", "update learner_lease set owner = null");
const FIRST_LEARNER = "01900000-0000-7000-8000-00000000000a";
const SECOND_LEARNER = "01900000-0000-7000-8000-00000000000b";

const TRUNCATE_STAGE = prepared("leave_stage", "truncate merchants, recovery_actions, due_cases, case_pokes cascade");

beforeEach(async () => {
  for (const statement of [TRUNCATE_STAGE, ...TRUNCATE_MODELS, RELEASE_LEASE]) await stage.db.run(statement);
});

/** A merchant whose two retries were learned. */
async function trainModel(settings: Parameters<typeof stage.enter>[1] = {}) {
  const merchant = await stage.enter(true, settings);
  await createRecoveredCase(stage);
  stage.wait(HOUR);
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 2);
  return merchant;
}

async function loadStoredModel(modelId = SHARED_MODEL) {
  const parts = await partsSince(stage.db, modelId, 0);
  return new Map(parts.map(({ name, numbers }) => [name, numbers.toString("hex")]));
}

test("each settled retry is learned once, some minutes after it was recorded, and the cursor moves on", async () => {
  const merchant = await stage.enter();
  await createRecoveredCase(stage);
  const learner = stage.learner(FIRST_LEARNER);
  assert.equal(await learner.learnDue(), 1); // the later one was recorded just now
  stage.wait(11 * MINUTE);
  assert.equal(await learner.learnDue(), 1);
  assert.equal(await learner.learnDue(), 0);
  const cursor = await findMerchantTrainingState(stage.db, merchant.id);
  assert.equal(cursor!.lessons, 2);
  assert.equal(cursor!.lessonId, (await stage.actions()).at(-1)!.id);
  assert.equal((await findModel(stage.db, SHARED_MODEL))!.version, 2);
});

test("learning all outcomes again gives the same numbers to the last bit", async () => {
  await trainModel();
  const once = await loadStoredModel();
  for (const statement of TRUNCATE_MODELS) await stage.db.run(statement);
  await stage.learner(FIRST_LEARNER).learnDue();
  assert.deepEqual(await loadStoredModel(), once);
  assert.ok(once.size > 50);
});

test("two processes that learn at once write it once, with or without a lease", async () => {
  const merchant = await stage.enter();
  await createRecoveredCase(stage);
  stage.wait(HOUR);
  const [anne, ben] = [stage.learner(FIRST_LEARNER), stage.learner(SECOND_LEARNER)];
  assert.equal(await anne.learnDue(), 2);
  assert.equal(await ben.learnDue(), 0);
  await createRecoveredCase(stage, "inv_2");
  stage.wait(HOUR);
  // Anne is cut off between reading and writing: Ben takes over, and what Anne still writes is void.
  await stage.db.run(RELEASE_LEASE);
  const counts = await Promise.all([anne.learnDue(), stage.db.run(RELEASE_LEASE).then(() => ben.learnDue())]);
  assert.equal(counts[0] + counts[1], 2);
  assert.equal((await findMerchantTrainingState(stage.db, merchant.id))!.lessons, 4);
});

test("a crash at any statement of a round neither loses nor repeats an outcome", async () => {
  const merchant = await stage.enter();
  await createRecoveredCase(stage);
  stage.wait(HOUR);
  const { made, crashPoints } = await learnUntil(Number.POSITIVE_INFINITY);
  const wholeModel = await loadStoredModel();
  assert.ok(made() > 10);
  // A crash between two reads leaves what a crash before them left.
  const points = crashPoints();
  assert.ok(points.length > 4, `${points}`);
  for (const dieAt of points) {
    for (const statement of [...TRUNCATE_MODELS, RELEASE_LEASE]) await stage.db.run(statement);
    await learnUntil(dieAt);
    await stage.db.run(RELEASE_LEASE);
    await stage.learner(SECOND_LEARNER).learnDue();
    assert.equal((await findMerchantTrainingState(stage.db, merchant.id))!.lessons, 2, `died at statement ${dieAt}`);
    assert.deepEqual(await loadStoredModel(), wholeModel, `died at statement ${dieAt}`);
  }
});

/** One round of a learner that dies after so many statements. */
async function learnUntil(dieAfter: number) {
  const failing = createFailingDatabase(stage.db, dieAfter);
  await stage
    .learner(FIRST_LEARNER, failing.db)
    .learnDue()
    .catch(() => {});
  return failing;
}

test("a merchant whose outcomes fail delays no other, and is tried again a minute later", async () => {
  const broken = await trainModel();
  await createRecoveredCase(stage, "inv_2");
  await stage.db.run(prepared("break_own", "update learned_merchants set numbers = '\\x00'"));
  const next = await stage.enter();
  await createRecoveredCase(stage);
  // The one that is broken has waited longest.
  stage.wait(60 * DAY);
  const learner = stage.learner(FIRST_LEARNER);
  assert.equal(await learner.learnDue(), 2);
  assert.equal((await findMerchantTrainingState(stage.db, next.id))!.lessons, 2);
  assert.equal((await findMerchantTrainingState(stage.db, broken.id))!.lessons, 2);

  await stage.db.run(
    prepared(
      "mend_own",
      "update learned_merchants set numbers = (select numbers from learned_merchants where merchant_id = $1)",
    ),
    [next.id],
  );
  stage.wait(MINUTE - 1);
  assert.equal(await learner.learnDue(), 0);
  stage.wait(1);
  assert.equal(await learner.learnDue(), 2);
  assert.equal((await findMerchantTrainingState(stage.db, broken.id))!.lessons, 4);
});

test("an outcome without facts is skipped, and later ones are learned", async () => {
  const merchant = await stage.enter();
  await createRecoveredCase(stage);
  await createRecoveredCase(stage, "inv_2");
  await stage.db.run(prepared("forget_invoice", "delete from invoices where id = 'inv_1'"));
  stage.wait(HOUR);
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 4);
  assert.equal((await findMerchantTrainingState(stage.db, merchant.id))!.lessons, 4);
  assert.equal((await findModel(stage.db, SHARED_MODEL))!.version, 1);
});

test("a merchant that does not share has its own model, and the shared one does not learn from it", async () => {
  const merchant = await trainModel({ sharesLearning: false });
  assert.equal(await findModel(stage.db, SHARED_MODEL), null);
  assert.equal((await findModel(stage.db, merchant.id))!.version, 1);
});

test("the model also learns from invoices without attempts", async () => {
  const merchant = await stage.enter();
  await stage.invoice();
  await stage.decide();
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + MINUTE);
  await stage.invoice();
  await stage.decide();
  stage.wait(DAY);
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 1);
  assert.equal((await findMerchantTrainingState(stage.db, merchant.id))!.lessons, 1);
});

for (const sharesLearning of [true, false])
  test(`numbers of another layout are dropped, and everything is learned again${sharesLearning ? "" : ", also for a merchant that does not share"}`, async () => {
    const merchant = await trainModel({ sharesLearning });
    const modelId = sharesLearning ? SHARED_MODEL : merchant.id;
    const before = await loadStoredModel(modelId);
    assert.ok(before.size > 50);
    await stage.db.run(prepared("age_layout", "update learned_models set layout = '1:7'"));
    // There is nothing new to learn, and yet it is learned anew.
    assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 2);
    assert.equal((await findMerchantTrainingState(stage.db, merchant.id))!.lessons, 2);
    assert.deepEqual(await loadStoredModel(modelId), before);
  });

for (const sharesLearning of [true, false])
  test(`numbers of a later layout stay untouched${sharesLearning ? "" : ", also for a merchant that does not share"}`, async () => {
    const merchant = await trainModel({ sharesLearning });
    await stage.db.run(prepared("newer_layout", "update learned_models set layout = '999:7'"));
    await createRecoveredCase(stage, "inv_2");
    stage.wait(HOUR);
    assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 0);
    const { layout, version } = (await findModel(stage.db, sharesLearning ? SHARED_MODEL : merchant.id))!;
    assert.deepEqual({ layout, version }, { layout: "999:7", version: 1 });
  });

test("a replaced model is the pretrained one at once, even if nothing is left to learn", async () => {
  await trainModel();
  await stage.db.run(prepared("age_layout", "update learned_models set layout = '1:7'"));
  await stage.db.run(prepared("no_more_lessons", "truncate recovery_actions"));
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 0);
  assert.deepEqual(await findModel(stage.db, SHARED_MODEL), { layout: MODEL_LAYOUT, version: 2 });
  const prior = [...splitIntoParts(fromPretrained(readPretrainedModel()))].map(([name, numbers]) => [
    name,
    toBytes(numbers).toString("hex"),
  ]);
  assert.deepEqual(await loadStoredModel(), new Map(prior as [string, string][]));
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 0);
  assert.equal((await findModel(stage.db, SHARED_MODEL))!.version, 2);
});

test("a model is not replaced when another process wrote it meanwhile", async () => {
  const merchant = await trainModel();
  const before = await loadStoredModel();
  assert.equal(
    await replaceModel(stage.db, { modelId: SHARED_MODEL, layout: MODEL_LAYOUT, version: 0, parts: [] }, START),
    false,
  );
  assert.deepEqual(await loadStoredModel(), before);
  assert.equal((await findMerchantTrainingState(stage.db, merchant.id))!.lessons, 2);
});

test("the shared model keeps a merchant's outcomes when that merchant's former own model is replaced", async () => {
  const merchant = await trainModel({ sharesLearning: false });
  await stage.db.run(prepared("share", "update merchants set shares_learning = true"));
  await createRecoveredCase(stage, "inv_2");
  stage.wait(HOUR);
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 2);
  await stage.db.run(
    prepared("age_own", `update learned_models set layout = '1:7' where merchant_id <> '${SHARED_MODEL}'`),
  );
  assert.equal(await stage.learner(FIRST_LEARNER).learnDue(), 0);
  assert.equal((await findModel(stage.db, merchant.id))!.layout, MODEL_LAYOUT);
  assert.equal((await findMerchantTrainingState(stage.db, merchant.id))!.lessons, 4);
});

test("a retry of Dunlin that the gateway blocked trains nothing", async () => {
  const taughtBy = async (answers: Partial<Transaction>[]) => {
    for (const statement of [TRUNCATE_STAGE, ...TRUNCATE_MODELS, RELEASE_LEASE]) await stage.db.run(statement);
    await stage.enter();
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    for (const answer of answers) {
      stage.at((await stage.untilSent()).ideal.getTime());
      await stage.transaction(answer);
      await stage.decide();
    }
    stage.wait(HOUR);
    const learnedCount = await stage.learner(FIRST_LEARNER).learnDue();
    return { learned: learnedCount, numbers: await loadStoredModel() };
  };
  const blocked = { paymentGatewayStatus: "not_sent_to_network", networkDeclineCode: undefined };
  const untrainedResult = await taughtBy([blocked]);
  assert.equal(untrainedResult.learned, 1, "the cursor moves on");
  const untaught = fromPretrained(readPretrainedModel());
  for (const [name, values] of splitIntoParts(untaught))
    if (untrainedResult.numbers.has(name))
      assert.equal(untrainedResult.numbers.get(name), toBytes(values).toString("hex"), name);
  const failed = await taughtBy([{}]);
  assert.notDeepEqual(failed.numbers, untrainedResult.numbers);
});
