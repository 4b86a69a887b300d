import { MIN_GAP_MS } from "./candidate-times.ts";
import type { DecisionContext } from "./decision-context.ts";
import type { Decision } from "./decision-facts.ts";
import { giveUp } from "./give-up.ts";
import { buildRetryDecision, describeDecline } from "./reasons.ts";
import { RETRY_AT_ONCE_REASON } from "./requests-by-hand.ts";
import { findForbiddingRule } from "./rules/guard.ts";

/** Returns a retry now, or the decision of the rules that forbid it, with their reasons. */
export function decideRetryAtOnce(context: DecisionContext): Decision {
  const { facts, now, guard, decline, isNewCard } = context;
  const forbidding = giveUp(context);
  if (forbidding) return forbidding;
  const rule = findForbiddingRule(guard, now);
  if (rule) return { kind: "wait", reasons: [describeDecline(decline, isNewCard), rule.sentence] };
  return buildRetryDecision(context, now, [RETRY_AT_ONCE_REASON], null, (+facts.windowEndsAt - now) / MIN_GAP_MS);
}
