import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import pino from "pino";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { createDeliverer } from "../delivery/deliverer.ts";
import type { Send } from "../delivery/https/https-sender.ts";
import type { CaseArm } from "../domain/case.ts";
import type { OnWithdrawn } from "../domain/event.ts";
import type { Experiment } from "../domain/experiment.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Subscription, SubscriptionState } from "../domain/subscription.ts";
import type { Transaction } from "../domain/transaction.ts";
import type { LearnedModel } from "../engine/learned/learned-model.ts";
import { copyMerchantParameters } from "../engine/learned/merchant-parameters.ts";
import { countMatureInvoices } from "../experiments/count-mature-invoices.ts";
import { type ExperimentPlan, startExperiment, stopRunningExperiment } from "../experiments/experiments.ts";
import type { InterimAnalysis } from "../experiments/statistics/interim-analysis.ts";
import { ingestSubscriptions, ingestTransactions } from "../ingest/ingest.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { createLearner } from "../learning/learn-due.ts";
import { createModelCache } from "../learning/model-cache.ts";
import { toBytes } from "../learning/stored-model.ts";
import { changeMerchant, createMerchant, type MerchantSettings } from "../merchants/merchant-settings.ts";
import { type ProposedRule, parseRecoveryRules, type RuleJson } from "../merchants/parse-recovery-rules.ts";
import { postponeRecovery, requestRetryNow, stopRecovery } from "../merchants/recovery-requests.ts";
import { changeRecoveryRules } from "../merchants/recovery-rules.ts";
import { replayExhausted } from "../merchants/replay.ts";
import { testRules } from "../merchants/test-recovery-rules.ts";
import { prepared } from "../postgres/database.ts";
import type { ReplayVerdict } from "../tables/delivery-states.ts";
import { listInterimAnalyses, talliesOf } from "../tables/experiment-results.ts";
import { processDueCases } from "./process-due-cases.ts";

export const START = new Date("2026-03-02T10:00:00Z");
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const log = pino({ level: "silent" });
const SECRET_KEYS = [Buffer.alloc(32, 1)];

export interface ActionRow {
  id: string;
  type: string;
  status: string;
  ideal: Date;
  executed: boolean;
  attempted: Date | null;
  transaction: string | null;
  country: string | null;
  decided: boolean;
}

interface EventRow {
  id: string;
  type: string;
  body: string;
  withdrawn: boolean;
  waiting: boolean;
}

const ACTIONS = prepared(
  "test_actions",
  `select id, type, status, ideal_retry_time as ideal, executed_at is not null as executed, attempted_at as attempted,
     transaction_id as transaction, card_country as country, decided_at is not null as decided
   from recovery_actions where merchant_id = $1 order by created_at, id`,
);

const EVENTS = prepared(
  "test_events",
  `select e.id, e.type, e.body, e.withdrawn_at is not null as withdrawn, d.event_id is not null as waiting
   from events e left join deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
   where e.merchant_id = $1 order by e.created_at, e.type desc`,
);

const CASES = prepared(
  "test_cases",
  `select c.end_reason as end, d.due_at as due
   from cases c left join due_cases d on d.merchant_id = c.merchant_id and d.case_id = c.id
   where c.merchant_id = $1 order by c.opened_at, c.id`,
);

const OUTCOMES = prepared(
  "test_outcomes",
  "select outcome, amount, currency from cases where merchant_id = $1 order by opened_at, id",
);

const ARMS = prepared("test_arms", "select id, arm from cases where merchant_id = $1 order by opened_at, id");

const DELETE_DELIVERIES = prepared(
  "test_delivered",
  `with gone as (delete from deliveries where merchant_id = $1 returning event_id, round),
     logged as (insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends, status)
       select $1, event_id, round, $3::int2, $2::timestamptz, $2::timestamptz, 5, case when $3 = 1 then 'delivered' else 'exhausted' end, 200 from gone)
   update events set exhausted_at = $2 from gone where $3 > 1 and merchant_id = $1 and id = gone.event_id`,
);
const POKE_CASES = prepared(
  "test_delivered_cases",
  `insert into case_pokes (merchant_id, id, part, case_ids)
   select merchant_id, $2::uuid, 0, array_agg(id) from cases where merchant_id = $1 group by 1`,
);

const INSERT_LEARNED = prepared(
  "test_taught",
  `insert into learned_merchants (merchant_id, noted_at, lesson_id, lessons, version, numbers)
   values ($1, '2026-01-01', $1, $3, 1, $2)`,
);

/** Otherwise each test would also decide all cases of the tests before it. */
const FORGET_DUE = [
  prepared("test_forget_due", "delete from due_cases"),
  prepared("test_forget_pokes", "delete from case_pokes"),
];

const SELECT_OUT_OF_ORDER = prepared(
  "test_out_of_order",
  "select id from recovery_actions where executed_at < created_at or updated_at < executed_at or updated_at < created_at",
);

/** An invoice that is unpaid since `START`. */
export const buildInvoice = (overrides: Partial<Invoice> = {}): Invoice => ({
  ...{ id: "inv_1", state: "UNPAID", customerId: "cus_1", amount: 4900, currency: "EUR" },
  ...{ createdAt: START, updatedAt: START },
  ...overrides,
});

/** A merchant with an endpoint, a separate database, and a clock that tests move. */
export async function openStage() {
  const database: TestDatabase = await createTestDatabase();
  const { db } = database;
  let now = START;
  let ids = 0;
  let draws = 0;
  const ports: Ports = {
    now: () => now,
    realNow: () => now,
    monotonicMs: () => now.getTime(),
    clockRate: 1,
    randomBytes: (size) => Buffer.alloc(size, ++draws),
    newId: () => `01900000-0000-7000-8000-${(++ids).toString(16).padStart(12, "0")}`,
  };
  let merchant: Merchant;
  const models = createModelCache({ db, ports, log, prior: readPretrainedModel() });

  const parseRules = (rules: readonly RuleJson[]) => {
    const parsed = parseRecoveryRules(rules.map((rule, index) => ({ name: `rule ${index + 1}`, ...rule })));
    assert.ok(Array.isArray(parsed), JSON.stringify(parsed));
    return parsed as ProposedRule[];
  };
  /** Ends all deliveries after so many attempts: one is a success. */
  const endDeliveries = (attempts: number) =>
    db.transaction(async (tx) => {
      await tx.run(DELETE_DELIVERIES, [merchant.id, now, attempts]);
      await tx.run(POKE_CASES, [merchant.id, ports.newId()]);
    });
  const requests = () => ({ db, ports, log, onEvents() {}, onWithdrawn() {} });
  const stage = {
    ...database,
    /**
     * Checks an invariant after every test: lists by time require that an action is planned before it is executed, and last
     * changed at or after that.
     */
    async drop() {
      const { rows } = await db.run(SELECT_OUT_OF_ORDER);
      await database.drop();
      assert.deepEqual(rows, []);
    },
    ports,
    now: () => now,
    /** Starts over at START with another merchant. Cases of earlier merchants are not decided any more. */
    async enter(withEndpoint = true, settings: MerchantSettings = {}) {
      for (const statement of FORGET_DUE) await db.run(statement);
      return await stage.enterBeside(withEndpoint, settings);
    },
    /** Like `enter`, but cases of earlier merchants are still decided. */
    async enterBeside(withEndpoint = true, settings: MerchantSettings = {}) {
      now = START;
      const endpoint = {
        webhookUrl: "https://shop.example/hooks",
        credential: { auth: "bearer", secret: "t" },
      } as const;
      const given = { ...(withEndpoint ? endpoint : {}), ...settings };
      merchant = await createMerchant(db, "Shop", given, SECRET_KEYS, ports);
      return merchant;
    },
    /** Stores a model's merchant-specific parameters as if they had been learned. */
    storeLearned: (model: LearnedModel, lessons = 80) =>
      db.run(INSERT_LEARNED, [merchant.id, toBytes(copyMerchantParameters(model)), lessons]),
    learner: (owner: string, on = db, logTo = log) =>
      createLearner({ db: on, ports, log: logTo, prior: readPretrainedModel(), owner }),
    at(time: Date | number) {
      now = new Date(time);
    },
    wait(ms: number) {
      now = new Date(now.getTime() + ms);
    },
    /** Steps cases until none is due. */
    async decide(on = db) {
      const deciding = { db: on, ports, log, onEvents() {}, onWithdrawn() {}, models };
      while ((await processDueCases(deciding)).processedCount > 0) stage.wait(1);
    },
    /** Pushes a version of the invoice dated now; returns its id if the version was known. */
    invoice: (overrides: Partial<Invoice> = {}, on = db) =>
      ingestInvoices(on, merchant, [[buildInvoice({ updatedAt: now, ...overrides })]], ports, () => {}),
    /** Pushes an attempt made now, by default declined for lack of money. */
    transaction: (overrides: Partial<Transaction> = {}) =>
      ingestTransactions(
        db,
        merchant,
        [
          [
            {
              id: `txn_${++ids}`,
              state: "FAILED",
              invoiceId: "inv_1",
              customerId: "cus_1",
              amount: 4900,
              currency: "EUR",
              createdAt: now,
              updatedAt: now,
              paymentMethodType: "card",
              cardBrand: "visa",
              cardCountry: "DE",
              cardFingerprint: "fp_1",
              networkDeclineCode: "51",
              ...overrides,
            },
          ],
        ],
        ports,
        () => {},
      ),
    subscription: (state: SubscriptionState, overrides: Partial<Subscription> = {}) =>
      ingestSubscriptions(
        db,
        merchant,
        [
          [
            {
              id: "sub_1",
              state,
              customerId: "cus_1",
              amount: 1,
              currency: "EUR",
              createdAt: START,
              updatedAt: now,
              ...overrides,
            },
          ],
        ],
        ports,
        () => {},
      ),
    actions: async () => (await db.run<ActionRow>(ACTIONS, [merchant.id])).rows,
    events: async () => (await db.run<EventRow>(EVENTS, [merchant.id])).rows,
    cases: async () => (await db.run<{ end: string | null; due: Date | null }>(CASES, [merchant.id])).rows,
    outcomes: async () =>
      (await db.run<{ outcome: string; amount: number; currency: string }>(OUTCOMES, [merchant.id])).rows,
    arms: async () => (await db.run<{ arm: CaseArm }>(ARMS, [merchant.id])).rows.map(({ arm }) => arm),
    caseIds: async () => (await db.run<{ id: string }>(ARMS, [merchant.id])).rows.map(({ id }) => id),
    async set(settings: MerchantSettings) {
      merchant = (await changeMerchant(db, merchant.id, settings, SECRET_KEYS, ports))!;
    },
    /** Replaces the recovery rules. */
    setRules: (...rules: RuleJson[]) =>
      changeRecoveryRules(db, merchant.id, parseRules(rules), COMMAND_LINE_ACTOR, ports),
    testRules: (...rules: RuleJson[]) => testRules(db, merchant.id, parseRules(rules)),
    /** Marks every waiting event as delivered. */
    deliver: () => endDeliveries(1),
    /** Sends due events with this function. */
    async send(send: Send) {
      const deliverer = createDeliverer({ db, ports, log, secretKeys: SECRET_KEYS, owner: randomUUID(), send });
      await deliverer.deliverDue();
      await deliverer.stop(0);
    },
    /** Marks every waiting event as exhausted. */
    exhaust: () => endDeliveries(6),
    /** Replays one event, if allowed. */
    async replay(eventId: string): Promise<ReplayVerdict> {
      const { replayed, skipped } = await replayExhausted(db, merchant.id, { eventIds: [eventId] }, ports);
      return skipped[0] ?? { eventId: replayed[0]!, skip: null };
    },
    /** Stops the recovery of the invoice as a person would. */
    stopRecovery(onWithdrawn: OnWithdrawn = () => {}, on = db, invoiceId = "inv_1") {
      const request = { invoiceId, actor: COMMAND_LINE_ACTOR, reason: "they complained" };
      return stopRecovery({ db: on, ports, log, onEvents() {}, onWithdrawn }, merchant.id, request);
    },
    /** Requests a retry at once, or postpones retries, as a person would. */
    retryNow: (invoiceId = "inv_1") =>
      requestRetryNow(requests(), merchant.id, { invoiceId, actor: COMMAND_LINE_ACTOR }),
    postpone: (until: Date, invoiceId = "inv_1") =>
      postponeRecovery(requests(), merchant.id, { invoiceId, actor: COMMAND_LINE_ACTOR }, until),
    /** Starts an experiment on the merchant's customers. */
    async start(plan: Partial<ExperimentPlan> = {}) {
      const named = { name: "test", ...plan };
      const started = await db.transaction((tx) => startExperiment(tx, merchant.id, named, COMMAND_LINE_ACTOR, ports));
      assert.notEqual(typeof started, "string", `${started}`);
      return started as Experiment | null;
    },
    stop: () => db.transaction((tx) => stopRunningExperiment(tx, merchant.id, COMMAND_LINE_ACTOR, ports)),
    /** Counts mature invoices; returns the experiment's latest interim analysis. */
    async count(experimentId: string): Promise<InterimAnalysis | null> {
      await countMatureInvoices({ db, ports, log });
      return (await listInterimAnalyses<InterimAnalysis>(db, merchant.id, experimentId, 1))[0] ?? null;
    },
    tallies: (experimentId: string) => talliesOf(db, merchant.id, experimentId),
    /** Waits until the planned action is due for its decision, and decides it. */
    async untilDecided() {
      const planned = (await stage.actions()).at(-1)!;
      stage.at(planned.ideal.getTime() - 49 * MINUTE);
      await stage.decide();
    },
    /** Like `untilDecided`, then exhausts its webhook. */
    async untilExhausted() {
      await stage.untilDecided();
      stage.wait(46 * MINUTE);
      await stage.exhaust();
      await stage.decide();
    },
    /** Like `untilDecided`, then delivers it. */
    async untilSent(): Promise<ActionRow> {
      await stage.untilDecided();
      stage.wait(1000);
      await stage.deliver();
      await stage.decide();
      return (await stage.actions()).at(-1)!;
    },
  };
  return stage;
}
