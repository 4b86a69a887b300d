import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { isApproved } from "../domain/transaction.ts";
import { learnOutcome } from "../engine/learn-outcome.ts";
import type { LearnedModel } from "../engine/learned/learned-model.ts";
import { copyMerchantParameters, setMerchantParameters } from "../engine/learned/merchant-parameters.ts";
import { classOf, REASONS } from "../engine/learned/model-layout.ts";
import { LAYOUT_EDITION, layoutEditionOf, splitIntoParts } from "../engine/learned/model-parts.ts";
import { MODEL_LAYOUT, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import { shortfallDeviations } from "../engine/learned/shortfall.ts";
import { findDeclineGroup } from "../engine/rules/interpret-decline.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import { SHORTFALL_MIN_DEVIATIONS } from "../engine/space-evenly.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields, isOutage } from "../postgres/database-errors.ts";
import { buildDecisionFacts, declineCodesOf } from "../recovery/build-decision-facts.ts";
import { buildHistory, viewBefore } from "../recovery/build-history.ts";
import { failureBackoffMs } from "../recovery/failure-backoff.ts";
import { loadCases } from "../recovery/load-cases.ts";
import type { LoadedCase } from "../recovery/loaded-case.ts";
import { arePaymentsReported, observedRetries } from "../recovery/observed-retries.ts";
import { findCases } from "../tables/cases.ts";
import {
  acquireLearnerLease,
  findMerchantTrainingState,
  findModel,
  merchantsWithTrainingExamples,
  modelsOfOtherLayouts,
  releaseLearnerLease,
  replaceModel,
  SHARED_MODEL,
  type StoredPart,
  saveTrainingResult,
  type TrainingExampleRow,
  trainingExamplesAfter,
} from "../tables/learned-models.ts";
import { findMerchant } from "../tables/merchants.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import {
  createPretrainedModel,
  type HeldModel,
  parseMerchantParameters,
  toBytes,
  UnreadableModel,
  updateModel,
} from "./stored-model.ts";

/** After this real time without renewal, another learner takes over. */
const LEASE_MS = 15_000;
/**
 * Service time until an outcome counts. Records pushed with it may arrive a little later and show that the customer paid, or that
 * a failed attempt was none.
 */
const SETTLE_MS = 10 * 60_000;
const MERCHANTS_PER_ROUND = 20;
const OUTCOMES_PER_BATCH = 100;
const MAX_HELD_MODELS = 8;

interface LearnerOptions {
  db: Database;
  ports: Ports;
  log: Log;
  prior: PretrainedModel;
  owner: string;
  /** Lets other work run between two updates. */
  pause?(): Promise<unknown>;
}

export interface Learner {
  /** Returns the number of outcomes. */
  learnDue(): Promise<number>;
  /** So that another process can learn at once. */
  release(): Promise<void>;
}

interface TrainedModel extends HeldModel {
  /** As stored. */
  saved: Map<string, Buffer>;
}

/**
 * Trains on settled outcomes in the order in which they were recorded. Each counts once: the model and the cursor are written
 * together, if no other process wrote meanwhile. It takes no lock that ingest, recovery or delivery need, and lets other work run
 * first.
 */
export function createLearner({ db, ports, log, prior, owner, pause = yieldToOthers }: LearnerOptions): Learner {
  const models = new Map<string, TrainedModel>();
  const pretrained = createPretrainedModel(prior).learnedModel;
  /** Postponed merchants, until when. Not stored: the next process retries at once. */
  const postponed = new Map<string, { failures: number; until: Date }>();
  let areModelsChecked = false;
  let isNewerLayoutLogged = false;

  async function learnDue() {
    const realNow = ports.realNow();
    if (!(await acquireLearnerLease(db, owner, realNow, new Date(realNow.getTime() + LEASE_MS)))) return 0;
    // Unreadable models are replaced at the start, even if there is nothing to learn.
    if (!areModelsChecked)
      for (const modelId of new Set([SHARED_MODEL, ...(await modelsOfOtherLayouts(db, MODEL_LAYOUT))]))
        await modelOf(modelId);
    areModelsChecked = true;
    const now = ports.now();
    const until = new Date(now.getTime() - SETTLE_MS);
    const postponedIds = [...postponed].flatMap(([merchantId, failed]) => (failed.until > now ? [merchantId] : []));
    let learnedCount = 0;
    for (const merchantId of await merchantsWithTrainingExamples(db, until, postponedIds, MERCHANTS_PER_ROUND))
      learnedCount += await learnOrPostpone(merchantId, until);
    return learnedCount;
  }

  /** Each round starts with the merchant that is furthest behind. Without postponing, one that fails would block all others. */
  async function learnOrPostpone(merchantId: string, until: Date): Promise<number> {
    try {
      const merchant = await findMerchant(db, merchantId);
      const learnedCount = merchant ? await learnFrom(merchant, until) : 0;
      postponed.delete(merchantId);
      return learnedCount;
    } catch (error) {
      if (isOutage(error)) throw error;
      const failures = postponed.get(merchantId)?.failures ?? 0;
      log.error({ ...errorFields(error), merchantId, failures: failures + 1 }, "learning.failed");
      const retryAt = new Date(ports.now().getTime() + failureBackoffMs(failures));
      postponed.set(merchantId, { failures: failures + 1, until: retryAt });
      return 0;
    }
  }

  async function learnFrom(merchant: Merchant, until: Date): Promise<number> {
    const modelId = merchant.sharesLearning ? SHARED_MODEL : merchant.id;
    const model = await modelOf(modelId);
    if (!model) return 0;
    const before = await findMerchantTrainingState(db, merchant.id);
    const rows = await trainingExamplesAfter(db, merchant.id, until, before, OUTCOMES_PER_BATCH);
    const last = rows.at(-1);
    if (!last) return 0;
    // The model in memory differs from the stored one until it is written.
    models.delete(modelId);
    if (merchant.sharesLearning)
      setMerchantParameters(model.learnedModel, parseMerchantParameters(before?.numbers ?? null));
    const shortfallReasonsBefore = findShortfallReasons(model.learnedModel, ports.now());
    await trainOnOutcomes(model.learnedModel, merchant, rows);
    const shortfallReasons = findShortfallReasons(model.learnedModel, ports.now());
    const merchantParameters = toBytes(copyMerchantParameters(model.learnedModel));
    if (merchant.sharesLearning) setMerchantParameters(model.learnedModel, parseMerchantParameters(null));
    const parts = findChangedParts(model);
    const isSaved = await saveTrainingResult(
      db,
      {
        modelId,
        layout: MODEL_LAYOUT,
        modelVersion: model.version,
        merchantVersion: before?.version ?? 0,
        parts,
        merchantId: merchant.id,
        cursor: { notedAt: last.notedAt, lessonId: last.id },
        lessons: rows.length,
        merchantParameters,
      },
      ports.now(),
    );
    if (!isSaved) {
      log.warn({ merchantId: merchant.id }, "learning.superseded");
      return 0;
    }
    model.version++;
    for (const { name, numbers } of parts) model.saved.set(name, numbers);
    models.set(modelId, model);
    for (const id of models.keys()) if (models.size > MAX_HELD_MODELS) models.delete(id);
    log.info({ merchantId: merchant.id, lessons: rows.length, version: model.version }, "outcome.learned");
    for (const reasons of shortfallReasons.difference(shortfallReasonsBefore))
      log.warn({ merchantId: merchant.id, reasons }, "chances.fall_short");
    for (const reasons of shortfallReasonsBefore.difference(shortfallReasons))
      log.info({ merchantId: merchant.id, reasons }, "chances.come_true");
    return rows.length;
  }

  async function trainOnOutcomes(model: LearnedModel, merchant: Merchant, rows: readonly TrainingExampleRow[]) {
    const cases = await findCases(db, merchant.id, [...new Set(rows.map(({ caseId }) => caseId))]);
    const now = ports.now();
    const facts = await loadCases(db, { ...merchant, engine: "learned" }, cases);
    const caseById = new Map(cases.map((recoveryCase) => [recoveryCase.id, recoveryCase]));
    const views = new Map<string, LoadedCase>();
    for (const example of rows) {
      const { id, caseId, transactionId } = example;
      try {
        const view = views.get(caseId) ?? facts.view(caseById.get(caseId)!);
        views.set(caseId, view);
        learnFromRetry(model, pretrained, view, example, now);
      } catch (error) {
        // An unreadable outcome must not block later ones.
        const outcomeId = transactionId === null ? { actionId: id } : { transactionId };
        log.error({ ...errorFields(error), merchantId: merchant.id, ...outcomeId }, "lesson.failed");
      }
      await pause();
    }
  }

  async function modelOf(modelId: string): Promise<TrainedModel | null> {
    const held = models.get(modelId);
    if (held) return held;
    const stored = await findModel(db, modelId);
    const model: TrainedModel = { ...createPretrainedModel(prior), saved: new Map() };
    if (!stored) return model;
    if (layoutEditionOf(stored.layout) > LAYOUT_EDITION) {
      if (!isNewerLayoutLogged) log.warn({ layout: stored.layout }, "learning.left_to_newer");
      isNewerLayoutLogged = true;
      return null;
    }
    try {
      await updateModel(db, modelId, model, stored);
      for (const [name, numbers] of splitIntoParts(model.learnedModel)) model.saved.set(name, toBytes(numbers));
      return model;
    } catch (error) {
      if (!(error instanceof UnreadableModel)) throw error;
      log.warn({ modelId, trouble: error.message }, "model.learned_anew");
      return await replaceUnreadable(modelId, stored.version);
    }
  }

  /**
   * Stores the pretrained model in place of an unreadable one: decisions use it until everything is learned again. null: another
   * process wrote meanwhile.
   */
  async function replaceUnreadable(modelId: string, version: number): Promise<TrainedModel | null> {
    const model: TrainedModel = { ...createPretrainedModel(prior), version: version + 1, saved: new Map() };
    const parts = findChangedParts(model);
    if (!(await replaceModel(db, { modelId, layout: MODEL_LAYOUT, version, parts }, ports.now()))) return null;
    for (const { name, numbers } of parts) model.saved.set(name, numbers);
    return model;
  }

  return { learnDue, release: () => releaseLearnerLease(db, owner) };
}

/** Its outcome is known. */
interface FinishedRetry {
  at: Date;
  approved: boolean;
  /** null if no transaction reports it. */
  transaction: TransactionFacts | null;
}

/** With the facts from before it. */
function learnFromRetry(
  model: LearnedModel,
  pretrained: LearnedModel,
  view: LoadedCase,
  { id, transactionId, predictedChance }: TrainingExampleRow,
  now: Date,
) {
  const retry = transactionId === null ? findRequestedRetry(view, id) : findObservedRetry(view, transactionId, now);
  if (!retry || (retry.transaction && isUnsent(retry.transaction))) return;
  const { at, approved, transaction } = retry;
  const before = viewBefore(view, id, at);
  const facts = buildDecisionFacts(before, before.actions);
  const reason = approved ? null : transaction ? findDeclineGroup(declineCodesOf(transaction), facts) : "UNKNOWN";
  const unsent = new Set(before.transactions.filter(isUnsent).map(({ id }) => id));
  const hadRetry = before.actions.some(
    (a) => a.type === "RETRY" && a.executedAt !== null && !unsent.has(a.transactionId ?? ""),
  );
  const isFirst = !hadRetry && observedRetries(before).length === 0;
  learnOutcome(model, pretrained, buildHistory(before, facts, before.actions), {
    at,
    reason,
    isFirst,
    predictedChance,
  });
}

/** Dunlin requested it. */
function findRequestedRetry({ actions, transactions }: LoadedCase, actionId: string): FinishedRetry | null {
  const action = actions.find(({ id }) => id === actionId);
  if (action?.type !== "RETRY") return null;
  return {
    at: action.attemptedAt ?? action.idealRetryTime,
    approved: action.status === "SUCCEEDED",
    transaction: transactions.find(({ id }) => id === action.transactionId) ?? null,
  };
}

/** The merchant's own retry; null if a newer version is no retry, or if the merchant pushes only failures. */
function findObservedRetry(view: LoadedCase, transactionId: string, now: Date): FinishedRetry | null {
  if (!arePaymentsReported(view, now)) return null;
  const transaction = observedRetries(view).find(({ id }) => id === transactionId);
  return transaction ? { at: transaction.createdAt, approved: isApproved(transaction), transaction } : null;
}

/** First declines' reasons by class, as text. */
const REASONS_BY_CLASS = [...Map.groupBy(REASONS, classOf).values()].map(([first, ...others]) => ({
  firstReason: first!,
  words: [first, ...others].join(", "),
}));

/** Reasons with far fewer approvals lately than predicted. Some of their retries are evenly spaced. */
const findShortfallReasons = (model: LearnedModel, now: Date): ReadonlySet<string> =>
  new Set(
    REASONS_BY_CLASS.filter(
      (reasonClass) => shortfallDeviations(model, reasonClass, now.getTime()) >= SHORTFALL_MIN_DEVIATIONS,
    ).map(({ words }) => words),
  );

function findChangedParts({ learnedModel, saved }: TrainedModel): StoredPart[] {
  const parts: StoredPart[] = [];
  for (const [name, values] of splitIntoParts(learnedModel)) {
    const numbers = toBytes(values);
    if (!saved.get(name)?.equals(numbers)) parts.push({ name, numbers });
  }
  return parts;
}
