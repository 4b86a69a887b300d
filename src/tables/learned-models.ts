import { type Database, prepared, type Tx } from "../postgres/database.ts";

/** For all merchants that share training data. */
export const SHARED_MODEL = "00000000-0000-0000-0000-000000000000";

export interface StoredModel {
  layout: string;
  version: number;
}

export interface StoredPart {
  name: string;
  numbers: Buffer;
}

/** The last trained example. */
export interface TrainingCursor {
  notedAt: Date;
  lessonId: string;
}

/** With the merchant-specific parameters. */
export interface MerchantTrainingState extends TrainingCursor {
  lessons: number;
  version: number;
  numbers: Buffer;
}

const MODEL = prepared("learned_model", "select layout, version from learned_models where merchant_id = $1");

/** Null before the first training. */
export async function findModel(tx: Tx, modelId: string) {
  return (await tx.run<StoredModel>(MODEL, [modelId])).rows[0] ?? null;
}

const OTHER_LAYOUTS = prepared(
  "models_of_other_layouts",
  "select merchant_id as id from learned_models where layout <> $1",
);

/** Stored by another Dunlin version. */
export async function modelsOfOtherLayouts(tx: Tx, layout: string) {
  return (await tx.run<{ id: string }>(OTHER_LAYOUTS, [layout])).rows.map(({ id }) => id);
}

export interface MerchantModelRef {
  modelId: string;
  /** Null before the first training. */
  layout: string | null;
  version: number | null;
  merchantParameters: Buffer | null;
}

const MODEL_CHOICE = prepared(
  "model_choice_of_merchant",
  `select case when m.shares_learning then '${SHARED_MODEL}' else m.id end as "modelId", l.numbers as "merchantParameters"
   from merchants m left join learned_merchants l on l.merchant_id = m.id and m.shares_learning
   where m.id = $1`,
);
const MODEL_VERSION = prepared("model_version", "select layout, version from learned_models where merchant_id = $1");

export async function modelOfMerchant(tx: Tx, merchantId: string): Promise<MerchantModelRef | null> {
  type Choice = Pick<MerchantModelRef, "modelId" | "merchantParameters">;
  const [choice] = (await tx.run<Choice>(MODEL_CHOICE, [merchantId])).rows;
  if (!choice) return null;
  type Version = Pick<MerchantModelRef, "layout" | "version">;
  // The shared model may be on another server than the merchant.
  const [model] = (await tx.run<Version>(MODEL_VERSION, [choice.modelId])).rows;
  return { ...choice, ...(model ?? { layout: null, version: null }) };
}

const TRAINING_EXAMPLE_COUNT = prepared(
  "lessons_of_model",
  `select coalesce(sum(l.lessons), 0)::int4 as n from learned_merchants l join merchants m on m.id = l.merchant_id
   where $1 = case when m.shares_learning then '${SHARED_MODEL}' else m.id end`,
);

/** Only this installation's outcomes, across the model's merchants. */
export async function countTrainingExamples(tx: Tx, modelId: string) {
  return (await tx.run<{ n: number }>(TRAINING_EXAMPLE_COUNT, [modelId])).rows[0]!.n;
}

const PARTS = prepared(
  "learned_parts",
  "select name, numbers, version from learned_parts where merchant_id = $1 and version > $2",
);

export async function partsSince(tx: Tx, modelId: string, version: number) {
  return (await tx.run<StoredPart & { version: number }>(PARTS, [modelId, version])).rows;
}

const MERCHANT = prepared(
  "learned_merchant",
  `select noted_at as "notedAt", lesson_id as "lessonId", lessons, version, numbers
   from learned_merchants where merchant_id = $1`,
);

/** Null before the first training. */
export async function findMerchantTrainingState(tx: Tx, merchantId: string) {
  return (await tx.run<MerchantTrainingState>(MERCHANT, [merchantId])).rows[0] ?? null;
}

// Uses the index. With `exists`, PostgreSQL reads the whole table for merchants that have nothing to train on.
const WAITING = prepared(
  "merchants_with_lessons",
  `select m.id
   from merchants m left join learned_merchants l on l.merchant_id = m.id
   where (
     (select r.id from listed_actions r
      where r.merchant_id = m.id and r.executed_at <= $1 and r.executed_at >= coalesce(l.noted_at, '-infinity')
        and (r.executed_at, r.id) > (coalesce(l.noted_at, '-infinity'), coalesce(l.lesson_id, m.id))
      order by r.executed_at, r.id limit 1) is not null
     or
     (select r.id from watched_retries r
      where r.merchant_id = m.id and r.noted_at <= $1 and r.noted_at >= coalesce(l.noted_at, '-infinity')
        and (r.noted_at, r.id) > (coalesce(l.noted_at, '-infinity'), coalesce(l.lesson_id, m.id))
      order by r.noted_at, r.id limit 1) is not null
   ) and m.id <> all($3::uuid[])
   order by l.noted_at nulls first, m.id limit $2`,
);

/** Furthest behind first. */
export async function merchantsWithTrainingExamples(
  tx: Tx,
  until: Date,
  excludedIds: readonly string[],
  limit: number,
) {
  return (await tx.run<{ id: string }>(WAITING, [until, limit, excludedIds])).rows.map(({ id }) => id);
}

// One order for both tables: their times come from the merchant's clock. Ids break ties.
const TRAINING_EXAMPLES = prepared(
  "lessons",
  `with executed as (
     select l.id, r.case_id as "caseId", l.executed_at as "notedAt", null as "transactionId"
     from (
       select id, executed_at from listed_actions
       where merchant_id = $1 and executed_at <= $2 and (executed_at, id) > ($3, $4)
       order by executed_at, id limit $5
     ) l
     join recovery_actions r on r.merchant_id = $1 and r.id = l.id
   ), observed as (
     select id, case_id as "caseId", noted_at as "notedAt", transaction_id as "transactionId" from watched_retries
     where merchant_id = $1 and noted_at <= $2 and (noted_at, id) > ($3, $4)
     order by noted_at, id limit $5
   ), examples as (
     select * from (select * from executed union all select * from observed) every order by "notedAt", id limit $5
   )
   select examples.*,
     (select chance from decisions
      where merchant_id = $1 and case_id = examples."caseId" and action_id = examples.id
      order by number desc limit 1) as "predictedChance"
   from examples
   order by "notedAt", id`,
);

export interface TrainingExampleRow {
  /** Action or observed retry. */
  id: string;
  caseId: string;
  notedAt: Date;
  /** Null for a retry by Dunlin. */
  transactionId: string | null;
  /** At the decision; null if unknown. */
  predictedChance: number | null;
}

/** In order, up to `until`. */
export async function trainingExamplesAfter(
  tx: Tx,
  merchantId: string,
  until: Date,
  cursor: TrainingCursor | null,
  limit: number,
) {
  const after = cursor ? [cursor.notedAt, cursor.lessonId] : [new Date(0), SHARED_MODEL];
  return (await tx.run<TrainingExampleRow>(TRAINING_EXAMPLES, [merchantId, until, ...after, limit])).rows;
}

const FIRST_MODEL = prepared(
  "insert_learned_model",
  `insert into learned_models (merchant_id, layout, version, changed_at) values ($1, $2, 1, $3)
   on conflict (merchant_id) do nothing`,
);
const NEXT_MODEL = prepared(
  "advance_learned_model",
  "update learned_models set version = version + 1, changed_at = $3 where merchant_id = $1 and layout = $2 and version = $4",
);
const SAVE_PARTS = prepared(
  "save_learned_parts",
  `insert into learned_parts (merchant_id, name, version, numbers)
   select $1::uuid, p.name, $2::int8, p.numbers from unnest($3::text[], $4::bytea[]) as p (name, numbers)
   on conflict (merchant_id, name) do update set version = excluded.version, numbers = excluded.numbers`,
);
const FIRST_MERCHANT = prepared(
  "insert_learned_merchant",
  `insert into learned_merchants (merchant_id, noted_at, lesson_id, lessons, version, numbers)
   values ($1, $2, $3, $4, 1, $5) on conflict (merchant_id) do nothing`,
);
const NEXT_MERCHANT = prepared(
  "advance_learned_merchant",
  `update learned_merchants set noted_at = $2, lesson_id = $3, lessons = lessons + $4, version = version + 1, numbers = $5
   where merchant_id = $1 and version = $6`,
);

export interface TrainingResult {
  modelId: string;
  layout: string;
  /** As read; 0 if there was none. */
  modelVersion: number;
  merchantVersion: number;
  /** Only changed parts. */
  parts: readonly StoredPart[];
  merchantId: string;
  cursor: TrainingCursor;
  lessons: number;
  merchantParameters: Buffer;
}

/** @returns false if another process trained meanwhile: then nothing is stored */
export async function saveTrainingResult(db: Database, learning: TrainingResult, now: Date): Promise<boolean> {
  const { modelId, layout, modelVersion, merchantId, merchantVersion, parts, cursor, lessons, merchantParameters } =
    learning;
  try {
    await db.transaction(async (tx) => {
      const model =
        modelVersion === 0
          ? await tx.run(FIRST_MODEL, [modelId, layout, now])
          : await tx.run(NEXT_MODEL, [modelId, layout, now, modelVersion]);
      const values = [merchantId, cursor.notedAt, cursor.lessonId, lessons, merchantParameters];
      const merchant =
        merchantVersion === 0
          ? await tx.run(FIRST_MERCHANT, values)
          : await tx.run(NEXT_MERCHANT, [...values, merchantVersion]);
      if (model.rowCount + merchant.rowCount !== 2) throw new ConcurrentTraining();
      await tx.run(SAVE_PARTS, partValues(modelId, modelVersion + 1, parts));
    });
    return true;
  } catch (error) {
    if (error instanceof ConcurrentTraining) return false;
    throw error;
  }
}

class ConcurrentTraining extends Error {}

const partValues = (modelId: string, version: number, parts: readonly StoredPart[]) => [
  modelId,
  version,
  parts.map(({ name }) => name),
  parts.map(({ numbers }) => numbers),
];

const REPLACE_MODEL = prepared(
  "renew_learned_model",
  "update learned_models set layout = $2, version = version + 1, changed_at = $3 where merchant_id = $1 and version = $4",
);
const DROP_PARTS = prepared("drop_learned_parts", "delete from learned_parts where merchant_id = $1");
const DROP_CURSORS = prepared(
  "drop_learned_cursors",
  `delete from learned_merchants l using merchants m
   where m.id = l.merchant_id and $1 = case when m.shares_learning then '${SHARED_MODEL}' else m.id end`,
);

/**
 * Also deletes its merchants' cursors, so that it is trained on their outcomes again.
 *
 * @param renewed.version  the replaced model's
 * @returns false if the model changed after that version
 */
export async function replaceModel(
  db: Database,
  renewed: { modelId: string; layout: string; version: number; parts: readonly StoredPart[] },
  now: Date,
): Promise<boolean> {
  const { modelId, layout, version, parts } = renewed;
  return await db.transaction(async (tx) => {
    if ((await tx.run(REPLACE_MODEL, [modelId, layout, now, version])).rowCount === 0) return false;
    await tx.run(DROP_PARTS, [modelId]);
    await tx.run(DROP_CURSORS, [modelId]);
    await tx.run(SAVE_PARTS, partValues(modelId, version + 1, parts));
    return true;
  });
}

const ACQUIRE_LEASE = prepared(
  "take_learner_lease",
  `update learner_lease set owner = $1, expires_at = $3
   where id = 1 and (owner is not distinct from $1 or owner is null or expires_at <= $2)`,
);
const RELEASE_LEASE = prepared(
  "release_learner_lease",
  "update learner_lease set owner = null, expires_at = null where id = 1 and owner = $1",
);

/** Or extends it. False if another process has it. Times are real. */
export async function acquireLearnerLease(tx: Tx, owner: string, realNow: Date, expiresAt: Date): Promise<boolean> {
  return (await tx.run(ACQUIRE_LEASE, [owner, realNow, expiresAt])).rowCount === 1;
}

export async function releaseLearnerLease(tx: Tx, owner: string) {
  await tx.run(RELEASE_LEASE, [owner]);
}
