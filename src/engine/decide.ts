import type { Engine } from "../domain/merchant.ts";
import { decideLearned, type PolicyDecision } from "./decide-learned.ts";
import { decideStatic } from "./decide-static.ts";
import type { DecisionContext } from "./decision-context.ts";
import type { LearnedModel } from "./learned/learned-model.ts";

/** If the learned policy throws, the static one decides and `error` is set: a model fault must not prevent a decision. */
export function decide(
  context: DecisionContext,
  model: LearnedModel | null,
): PolicyDecision & { engine: Engine; error: unknown } {
  let error: unknown = null;
  if (context.history && model) {
    try {
      return { ...decideLearned(context, context.history, model), engine: "learned", error };
    } catch (thrown) {
      error = thrown;
    }
  }
  const decision = decideStatic(context);
  return { decision, isLearned: false, chosen: null, outlook: () => null, engine: "static", error };
}
