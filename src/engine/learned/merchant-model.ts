import type { LearnedModel } from "./learned-model.ts";

/** The learned model for a merchant, or why there is none. */
export type MerchantModel =
  | {
      version: number;
      /** It has trained on `EXPLORATION_MIN_OUTCOMES` outcomes of this installation. */
      isTrained: boolean;
      learned(): LearnedModel;
    }
  | { trouble: string };

/** The learned models, for decisions. */
export interface ModelCache {
  /**
   * The merchant's model, at most some seconds old. Never throws: without a model the static policy decides. `learned()` has
   * the merchant's own numbers in place until somebody asks for another merchant's.
   */
  of(merchantId: string): Promise<MerchantModel>;
  /** Somebody learned something: look at the next occasion. */
  hint(): void;
}
