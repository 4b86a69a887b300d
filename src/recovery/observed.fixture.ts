import type { Transaction } from "../domain/transaction.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { findMerchantTrainingState, partsSince, SHARED_MODEL } from "../tables/learned-models.ts";
import { DAY, MINUTE, openStage, START } from "./stage.fixture.ts";

const TRUNCATE_STAGE = prepared(
  "leave_watched",
  "truncate merchants, recovery_actions, due_cases, case_pokes, watched_retries cascade",
);
const TRUNCATE_MODELS = prepared("forget_learned", "truncate learned_models, learned_parts, learned_merchants");
const RELEASE_LEASE = prepared("hand_over_learner", "update learner_lease set owner = null");
const TRUNCATE_OBSERVED = prepared("forget_noted", "truncate watched_retries");
const SELECT_OBSERVED = prepared(
  "test_noted",
  `select transaction_id as id, case_id as "caseId" from watched_retries where merchant_id = $1 order by noted_at, id`,
);
const ENQUEUE_CASES = prepared(
  "test_poke",
  `insert into case_pokes (merchant_id, id, part, case_ids)
   select merchant_id, $1, 0, array_agg(id) from cases group by merchant_id`,
);
const LEARNER = "01900000-0000-7000-8000-00000000000a";

/** A stage on which the merchant's own system retries, and Dunlin only observes. */
export async function openObservedStage() {
  const stage = await openStage();
  const { db } = stage;
  let merchantId: string;
  const rows = async () => (await db.run<{ id: string; caseId: string }>(SELECT_OBSERVED, [merchantId])).rows;

  const watched = {
    ...stage,
    /** Starts over with a new merchant and an untrained model. */
    async begin(shadow = true) {
      for (const statement of [TRUNCATE_STAGE, TRUNCATE_MODELS, RELEASE_LEASE]) await db.run(statement);
      merchantId = (await stage.enter(true, { shadow })).id;
    },
    /** Makes an attempt this many days after the invoice failed, and steps the case. */
    async tried(day: number, overrides: Partial<Transaction> = {}) {
      stage.at(Math.max(+stage.now(), +START + day * DAY));
      const createdAt = new Date(+START + day * DAY);
      await stage.transaction({ id: `txn_${day}`, createdAt, updatedAt: stage.now(), ...overrides });
      await stage.decide();
    },
    /** Creates a case that the merchant's own system recovered with its second retry. */
    async recovered(customerId = "cus_1") {
      await stage.invoice({ customerId });
      for (const day of [0, 3]) await watched.tried(day, { customerId });
      await watched.tried(5, { customerId, state: "PAID" });
    },
    /** Queues every case for reevaluation. */
    poke: () => db.run(ENQUEUE_CASES, [stage.ports.newId()]),
    /** The recorded attempts in order, and their cases. */
    noted: async () => (await rows()).map(({ id }) => id),
    notedCases: async () => (await rows()).map(({ caseId }) => caseId),
    /** Learns all settled outcomes that were not learned yet. */
    async learn(on: Database = db, owner = LEARNER) {
      stage.wait(11 * MINUTE);
      return await stage.learner(owner, on).learnDue();
    },
    lessons: async () => (await findMerchantTrainingState(db, merchantId))?.lessons ?? 0,
    /** The shared model's numbers, by part. */
    async stored() {
      const parts = await partsSince(db, SHARED_MODEL, 0);
      return new Map(parts.map(({ name, numbers }) => [name, numbers.toString("hex")]));
    },
    /** Releases the learner's lease. */
    handOver: () => db.run(RELEASE_LEASE),
    async forgetNoted() {
      for (const statement of [TRUNCATE_OBSERVED, TRUNCATE_MODELS, RELEASE_LEASE]) await db.run(statement);
    },
  };
  return watched;
}
