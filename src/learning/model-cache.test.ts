import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import pino from "pino";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import type { Merchant } from "../domain/merchant.ts";
import { EXPLORATION_MIN_OUTCOMES } from "../engine/explore-first-retry.ts";
import { type LearnedModel, newLearnedModel } from "../engine/learned/learned-model.ts";
import type { MerchantModel } from "../engine/learned/merchant-model.ts";
import { copyMerchantParameters, MERCHANT_PARAMETER_COUNT } from "../engine/learned/merchant-parameters.ts";
import { splitIntoParts } from "../engine/learned/model-parts.ts";
import { fromPretrained, MODEL_LAYOUT } from "../engine/learned/pretrained-model.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { HOUR, openStage, START } from "../recovery/stage.fixture.ts";
import { SHARED_MODEL, saveTrainingResult } from "../tables/learned-models.ts";
import { createModelCache } from "./model-cache.ts";
import { DEFAULT_MERCHANT_PARAMETERS, parseMerchantParameters, toBytes } from "./stored-model.ts";

const stage = await openStage();
after(() => stage.drop());
let merchant: Merchant;
let nowMs = 0;
before(async () => {
  merchant = await stage.enter();
});
const TRUNCATE_MODELS = prepared("clear_learning", "truncate learned_models, learned_parts, learned_merchants");
beforeEach(() => stage.db.run(TRUNCATE_MODELS));

function createReader(
  db: Database = stage.db,
  prior = readPretrainedModel() as ReturnType<typeof readPretrainedModel> | null,
) {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const ports = { ...stage.ports, monotonicMs: () => nowMs };
  return { lines, models: createModelCache({ db, ports, log, prior }) };
}

/** Store a model whose first weight is `first`, and `ownLevel` for the merchant. */
async function storeModel(version: number, first: number, ownLevel = 0, lessonCount = 1) {
  const model = fromPretrained(readPretrainedModel());
  model.mean[0] = first;
  const parts = [...splitIntoParts(model)].map(([name, numbers]) => ({ name, numbers: toBytes(numbers) }));
  const saved = await saveTrainingResult(
    stage.db,
    {
      modelId: SHARED_MODEL,
      layout: MODEL_LAYOUT,
      modelVersion: version,
      merchantVersion: version,
      parts: version === 0 ? parts : parts.filter(({ name }) => name === "mean/0"),
      merchantId: merchant.id,
      cursor: { notedAt: START, lessonId: merchant.id },
      lessons: lessonCount,
      merchantParameters: toBytes(new Float64Array(MERCHANT_PARAMETER_COUNT).fill(ownLevel)),
    },
    START,
  );
  assert.ok(saved);
}

const learnedOf = (model: MerchantModel) => {
  assert.ok("learnedModel" in model, JSON.stringify(model));
  return model.learnedModel();
};

test("the pretrained model is used before anything was learned", async () => {
  const { models, lines } = createReader();
  const model = await models.of(merchant.id);
  assert.deepEqual(learnedOf(model), fromPretrained(readPretrainedModel()));
  assert.deepEqual(lines, []);
});

test("a new version is there after two seconds, or at once after a hint", async () => {
  const { models } = createReader();
  await storeModel(0, 7);
  assert.equal(learnedOf(await models.of(merchant.id)).mean[0], 7);
  await storeModel(1, 8);
  assert.equal(learnedOf(await models.of(merchant.id)).mean[0], 7);
  nowMs += 2_000;
  assert.equal(learnedOf(await models.of(merchant.id)).mean[0], 8);
  await storeModel(2, 9);
  models.hint();
  assert.equal(learnedOf(await models.of(merchant.id)).mean[0], 9);
});

test("a model has trained enough after 500 outcomes of its merchants, and these do not count for another model", async () => {
  const { models } = createReader();
  const isTrained = async (id: string) => ((await models.of(id)) as { isTrained: boolean }).isTrained;
  await storeModel(0, 7, 0, EXPLORATION_MIN_OUTCOMES - 1);
  const [sharing, alone] = [await stage.enter(), await stage.enter(true, { sharesLearning: false })];
  const all = [merchant.id, sharing.id, alone.id];
  assert.deepEqual(await Promise.all(all.map(isTrained)), [false, false, false]);
  await storeModel(1, 7);
  models.hint();
  assert.deepEqual(await Promise.all(all.map(isTrained)), [true, true, false]);
});

test("a new installation samples no retry until its model has trained on 500 outcomes or its merchant asks for it", async () => {
  const sampled = async (settings: { explore?: boolean }) => {
    const { id } = await stage.enter(true, settings);
    for (let n = 0; n < 3; n++) {
      await stage.invoice({ id: `inv_${n}`, customerId: `cus_${n}` });
      await stage.transaction({ invoiceId: `inv_${n}`, customerId: `cus_${n}`, cardFingerprint: `fp_${n}` });
    }
    await stage.decide();
    const cases = await Promise.all(
      Array.from({ length: 3 }, (_, n) => loadExplainedCase(stage.db, id, `inv_${n}`, stage.now())),
    );
    return cases.filter((each) => each!.decisions[0]!.propensity !== 1).length;
  };
  assert.equal(await sampled({}), 0);
  assert.equal(await sampled({ explore: true }), 3);
  await stage.storeLearned(fromPretrained(readPretrainedModel()), 500);
  stage.wait(HOUR);
  assert.equal(await sampled({ explore: false }), 0);
  assert.equal(await sampled({}), 3);
});

test("merchant-specific parameters apply to their merchant only", async () => {
  const { models } = createReader();
  await storeModel(0, 7, 0.5);
  const other = await stage.enter();
  const [ownModel, otherModel] = [await models.of(merchant.id), await models.of(other.id)];
  assert.ok(copyMerchantParameters(learnedOf(ownModel)).every((number) => number === 0.5));
  assert.deepEqual(copyMerchantParameters(learnedOf(otherModel)), copyMerchantParameters(newLearnedModel()));
  assert.ok(copyMerchantParameters(learnedOf(ownModel)).every((number) => number === 0.5));
});

test("an unreadable model is not used, and the log says so once", async () => {
  await storeModel(0, Number.NaN);
  const { models, lines } = createReader();
  for (let round = 0; round < 3; round++) {
    assert.match(JSON.stringify(await models.of(merchant.id)), /mean\/0/);
    models.hint();
  }
  assert.deepEqual(lines, ["model.unreadable"]);
  await stage.db.run(prepared("some_parts", "delete from learned_parts where name = 'mean/256'"));
  assert.match(JSON.stringify(await createReader().models.of(merchant.id)), /not complete/);
  await stage.db.run(prepared("other_layout", "update learned_models set layout = '1:2'"));
  assert.match(JSON.stringify(await createReader().models.of(merchant.id)), /layout 1:2/);
  assert.deepEqual(await createReader(stage.db, null).models.of(merchant.id), { failureReason: "there is no prior" });
});

test("the model in memory stays in use while the database does not answer", async () => {
  await storeModel(0, 7);
  let isAway = false;
  const db: Database = {
    ...stage.db,
    run: (statement, values) => {
      if (isAway) throw Object.assign(new Error("away"), { code: "ECONNREFUSED" });
      return stage.db.run(statement, values);
    },
  };
  const { models, lines } = createReader(db);
  await models.of(merchant.id);
  isAway = true;
  nowMs += 10_000;
  assert.equal(learnedOf(await models.of(merchant.id)).mean[0], 7);
  assert.ok("failureReason" in (await models.of("01900000-0000-7000-8000-0000000000ff")));
  assert.deepEqual(lines, ["model.unreadable"]);
});

test("the least recently used model is evicted, and read again", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const { models } = createReader();
  await storeModel(0, 7);
  const alone: string[] = [];
  for (let n = 0; n < 60; n++) alone.push((await stage.enter(false, { sharesLearning: false })).id);
  const references: WeakRef<LearnedModel>[] = [];
  const readModel = async (id: string) => learnedOf(await models.of(id));
  for (const id of alone) {
    references.push(new WeakRef(await readModel(id)));
    assert.equal((await readModel(merchant.id)).mean[0], 7);
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
  collect();
  const isKept = references.map((model) => model.deref() !== undefined);
  assert.equal(isKept.filter(Boolean).length, 39);
  assert.deepEqual(isKept.slice(0, 20), new Array(20).fill(false));
  assert.deepEqual(await readModel(alone[0]!), fromPretrained(readPretrainedModel()));
});

test("merchant-specific parameters of an earlier layout are ignored, and damaged ones are refused", () => {
  assert.deepEqual(
    parseMerchantParameters(toBytes(new Float64Array(MERCHANT_PARAMETER_COUNT - 2).fill(0.5))),
    DEFAULT_MERCHANT_PARAMETERS,
  );
  assert.throws(
    () => parseMerchantParameters(toBytes(new Float64Array(MERCHANT_PARAMETER_COUNT).fill(Number.NaN))),
    /unreadable/,
  );
});
