import type { LearnedModel } from "./learned-model.ts";

export type MerchantModel =
  | {
      version: number;
      /** On `EXPLORATION_MIN_OUTCOMES` outcomes of this installation. */
      isTrained: boolean;
      learnedModel(): LearnedModel;
    }
  | { failureReason: string };

export interface ModelCache {
  /**
   * At most a few seconds old. Never throws: without a model, the static policy decides. `learnedModel()` holds this merchant's
   * parameters until another merchant's model is requested.
   */
  of(merchantId: string): Promise<MerchantModel>;
  /** Makes the next request check for a newer model. */
  hint(): void;
}
