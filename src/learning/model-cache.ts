import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { EXPLORATION_MIN_OUTCOMES } from "../engine/explore-first-retry.ts";
import type { MerchantModel, ModelCache } from "../engine/learned/merchant-model.ts";
import { setMerchantParameters } from "../engine/learned/merchant-parameters.ts";
import type { PretrainedModel } from "../engine/learned/pretrained-model.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import {
  countTrainingExamples,
  type MerchantModelRef,
  modelOfMerchant,
  SHARED_MODEL,
} from "../tables/learned-models.ts";
import {
  createPretrainedModel,
  type HeldModel,
  parseMerchantParameters,
  UnreadableModel,
  updateModel,
} from "./stored-model.ts";

interface ModelCacheOptions {
  db: Database;
  ports: Ports;
  log: Log;
  /** null: there is none, and `of` says so. */
  prior: PretrainedModel | null;
}

/** The latest time to find a new version. */
const REFRESH_MS = 2_000;
/** Of merchants that do not share: 1.2 MB each. */
const MAX_CACHED_MODELS = 40;
const MAX_CACHED_LOCATIONS = 10_000;

/**
 * A model's location and merchant-specific parameters, or why there is none. Only `held` refers to the model itself, so that it
 * can be freed there.
 */
type ModelLocation = { modelId: string; merchantParameters: Float64Array | null } | { failureReason: string };

interface CachedLocation {
  atMs: number;
  location: ModelLocation;
}

export function createModelCache({ db, ports, log, prior }: ModelCacheOptions): ModelCache {
  const held = new Map<string, HeldModel>();
  const locations = new Map<string, CachedLocation>();
  /** Models with enough outcomes, which never become fewer. */
  const trained = new Set<string>();
  let reportedFailure: string | null = null;

  async function findLocation(merchantId: string): Promise<ModelLocation> {
    if (prior === null) return { failureReason: "there is no prior" };
    const modelRef = await modelOfMerchant(db, merchantId);
    if (!modelRef) return { failureReason: "there is no such merchant" };
    const { modelId } = modelRef;
    const before = held.get(modelId);
    const model = before ?? createPretrainedModel(prior);
    held.delete(modelId);
    try {
      await read(modelRef, model);
    } catch (error) {
      // A model that was not read is unchanged; one read in part is useless.
      if (before && !(error instanceof UnreadableModel)) held.set(modelId, before);
      throw error;
    }
    held.set(modelId, model);
    for (const id of held.keys()) if (held.size > MAX_CACHED_MODELS) held.delete(id);
    if (!trained.has(modelId) && (await countTrainingExamples(db, modelId)) >= EXPLORATION_MIN_OUTCOMES)
      trained.add(modelId);
    const merchantParameters = parseMerchantParameters(modelRef.merchantParameters);
    return {
      modelId,
      merchantParameters: modelRef.merchantParameters !== null || isSharedModel(modelRef) ? merchantParameters : null,
    };
  }

  /** null if evicted. */
  function modelAt(location: ModelLocation): MerchantModel | null {
    if ("failureReason" in location) return location;
    const model = held.get(location.modelId);
    if (!model) return null;
    // The least recently used model is evicted first.
    held.delete(location.modelId);
    held.set(location.modelId, model);
    return {
      version: model.version,
      isTrained: trained.has(location.modelId),
      learnedModel() {
        if (location.merchantParameters !== null)
          setMerchantParameters(model.learnedModel, location.merchantParameters);
        return model.learnedModel;
      },
    };
  }

  async function read({ modelId, layout, version }: MerchantModelRef, model: HeldModel) {
    if (layout !== null && version !== null) await updateModel(db, modelId, model, { layout, version });
  }

  /** Each problem once. */
  function reportFailure(failureReason: string | null, error?: unknown) {
    if (failureReason !== null && failureReason !== reportedFailure)
      log.warn({ trouble: failureReason, ...(error === undefined ? {} : errorFields(error)) }, "model.unreadable");
    reportedFailure = failureReason;
  }

  return {
    async of(merchantId) {
      const cached = locations.get(merchantId);
      const before = cached ? modelAt(cached.location) : null;
      if (cached && before && ports.monotonicMs() - cached.atMs < REFRESH_MS) return before;
      let location: ModelLocation;
      try {
        location = await findLocation(merchantId);
        reportFailure("failureReason" in location ? location.failureReason : null);
      } catch (error) {
        const failureReason = error instanceof UnreadableModel ? error.message : "what was learned could not be read";
        reportFailure(failureReason, error);
        // An older model is better than none, unless the stored one is unreadable.
        location = cached && !(error instanceof UnreadableModel) ? cached.location : { failureReason };
      }
      if (locations.size >= MAX_CACHED_LOCATIONS) locations.clear();
      locations.set(merchantId, { atMs: ports.monotonicMs(), location });
      return modelAt(location) ?? { failureReason: "what was learned could not be read" };
    },
    hint() {
      for (const each of locations.values()) each.atMs = Number.NEGATIVE_INFINITY;
    },
  };
}

const isSharedModel = ({ modelId }: MerchantModelRef) => modelId === SHARED_MODEL;
