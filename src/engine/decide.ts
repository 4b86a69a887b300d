import type { Engine } from "../domain/merchant.ts";
import { decideLearned, type PolicyDecision } from "./decide-learned.ts";
import { decideStatic } from "./decide-static.ts";
import type { DecisionContext } from "./decision-context.ts";
import type { LearnedModel } from "./learned/learned-model.ts";

/**
 * Returns the next action in a case, by the learned policy if there are a model and a history, else by the static one. If the
 * learned policy throws, the static one decides and `error` is the error: a fault of the model must not prevent a decision.
 */
export function decide(
  context: DecisionContext,
  learned: LearnedModel | null,
): PolicyDecision & { engine: Engine; error: unknown } {
  let error: unknown = null;
  if (context.history && learned) {
    try {
      return { ...decideLearned(context, context.history, learned), engine: "learned", error };
    } catch (thrown) {
      error = thrown;
    }
  }
  const decision = decideStatic(context);
  return { decision, isLearned: false, chosen: null, outlook: () => null, engine: "static", error };
}
