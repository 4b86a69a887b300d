import type { LearnedModel } from "./learned-model.ts";

/** A merchant's learned model, or the reason why there is none. */
export type MerchantModel =
  | {
      version: number;
      /** Whether it was trained on `EXPLORATION_MIN_OUTCOMES` outcomes of this installation. */
      isTrained: boolean;
      learnedModel(): LearnedModel;
    }
  | { failureReason: string };

export interface ModelCache {
  /**
   * Returns the merchant's model, at most a few seconds old. Never throws: without a model, the static policy decides.
   * `learnedModel()` holds this merchant's parameters until another merchant's model is requested.
   */
  of(merchantId: string): Promise<MerchantModel>;
  /** Signals that a model has learned, so the next request checks for a newer one. */
  hint(): void;
}
