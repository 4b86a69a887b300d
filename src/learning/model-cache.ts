import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
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

/**
 * Outcomes before retries are sampled for merchants that did not choose. Earlier, sampling would only test the pretrained model.
 */
export const EXPLORATION_MIN_OUTCOMES = 500;

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
type ModelLocation = { modelId: string; own: Float64Array | null } | { trouble: string };

interface CachedLocation {
  atMs: number;
  place: ModelLocation;
}

export function createModelCache({ db, ports, log, prior }: ModelCacheOptions): ModelCache {
  const held = new Map<string, HeldModel>();
  const looked = new Map<string, CachedLocation>();
  /** Models with enough outcomes, which never become fewer. */
  const trained = new Set<string>();
  let complained: string | null = null;

  async function look(merchantId: string): Promise<ModelLocation> {
    if (prior === null) return { trouble: "there is no prior" };
    const where = await modelOfMerchant(db, merchantId);
    if (!where) return { trouble: "there is no such merchant" };
    const { modelId } = where;
    const before = held.get(modelId);
    const model = before ?? createPretrainedModel(prior);
    held.delete(modelId);
    try {
      await read(where, model);
    } catch (error) {
      // A model that was not read is unchanged; one read in part is useless.
      if (before && !(error instanceof UnreadableModel)) held.set(modelId, before);
      throw error;
    }
    held.set(modelId, model);
    for (const id of held.keys()) if (held.size > MAX_CACHED_MODELS) held.delete(id);
    if (!trained.has(modelId) && (await countTrainingExamples(db, modelId)) >= EXPLORATION_MIN_OUTCOMES)
      trained.add(modelId);
    const own = parseMerchantParameters(where.merchantParameters);
    return { modelId, own: where.merchantParameters !== null || isSharedModel(where) ? own : null };
  }

  /** null if evicted. */
  function modelAt(place: ModelLocation): MerchantModel | null {
    if ("trouble" in place) return place;
    const model = held.get(place.modelId);
    if (!model) return null;
    // The least recently used model is evicted first.
    held.delete(place.modelId);
    held.set(place.modelId, model);
    return {
      version: model.version,
      isTrained: trained.has(place.modelId),
      learned() {
        if (place.own !== null) setMerchantParameters(model.learned, place.own);
        return model.learned;
      },
    };
  }

  async function read({ modelId, layout, version }: MerchantModelRef, model: HeldModel) {
    if (layout !== null && version !== null) await updateModel(db, modelId, model, { layout, version });
  }

  /** Each problem once. */
  function complain(trouble: string | null, error?: unknown) {
    if (trouble !== null && trouble !== complained)
      log.warn({ trouble, ...(error === undefined ? {} : errorFields(error)) }, "model.unreadable");
    complained = trouble;
  }

  return {
    async of(merchantId) {
      const known = looked.get(merchantId);
      const before = known ? modelAt(known.place) : null;
      if (known && before && ports.monotonicMs() - known.atMs < REFRESH_MS) return before;
      let place: ModelLocation;
      try {
        place = await look(merchantId);
        complain("trouble" in place ? place.trouble : null);
      } catch (error) {
        const trouble = error instanceof UnreadableModel ? error.message : "what was learned could not be read";
        complain(trouble, error);
        // An older model is better than none, unless the stored one is unreadable.
        place = known && !(error instanceof UnreadableModel) ? known.place : { trouble };
      }
      if (looked.size >= MAX_CACHED_LOCATIONS) looked.clear();
      looked.set(merchantId, { atMs: ports.monotonicMs(), place });
      return modelAt(place) ?? { trouble: "what was learned could not be read" };
    },
    hint() {
      for (const each of looked.values()) each.atMs = Number.NEGATIVE_INFINITY;
    },
  };
}

const isSharedModel = ({ modelId }: MerchantModelRef) => modelId === SHARED_MODEL;
