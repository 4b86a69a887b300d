import { hash } from "node:crypto";
import type { DecisionRecord, PreviousDecision } from "../domain/decision.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import { decide } from "../engine/decide.ts";
import { buildAccount } from "../engine/decision-account.ts";
import { buildDecisionContext, type DecisionContext } from "../engine/decision-context.ts";
import type { Decision } from "../engine/decision-facts.ts";
import type { LearnedModel } from "../engine/learned/learned-model.ts";
import { decideRetryAtOnce } from "../engine/retry-at-once.ts";
import { buildDecisionFacts } from "./build-decision-facts.ts";
import { buildHistory } from "./build-history.ts";
import type { LoadedCase } from "./loaded-case.ts";
import type { DeliveredAction } from "./outcome.ts";

export interface AvailableModel {
  /** Null: the static policy decides. */
  model: { learnedModel: LearnedModel; version: number; isTrained: boolean } | null;
  /** Why there is no model, if the merchant wants one. */
  failureReason: string | null;
}

export const NO_MODEL: AvailableModel = { model: null, failureReason: null };

/**
 * The learned policy's plan stays while its facts stay, even if the model was trained meanwhile. Otherwise each outcome would shift the times in all
 * open cases.
 *
 * @param plan  the currently planned action
 * @returns `record`: the decision as stored, without its action; null if it equals the last one. `error`: why the learned policy
 * failed and the static one decided
 */
export function decideCase(
  loaded: LoadedCase,
  actions: readonly DeliveredAction[],
  plan: RecoveryAction | null,
  available: AvailableModel,
  now: Date,
): { decision: Decision; record: Omit<DecisionRecord, "actionId" | "idealTime"> | null; error: unknown } {
  const { context, fingerprint } = decisionContextOf(loaded, actions, available.model, now);
  const { lastDecision } = loaded;
  const notBefore = new Date(Math.max(now.getTime(), context.issuerUpAt));
  const keptDecision = plan && keepPlan(plan, lastDecision, fingerprint, context.history !== null, notBefore);
  if (keptDecision) return { decision: keptDecision, record: null, error: null };

  const result = decide(context, available.model?.learnedModel ?? null);
  const { decision, error } = result;
  const at = "at" in decision ? decision.at.getTime() : null;
  const isSame =
    lastDecision?.facts === fingerprint &&
    lastDecision.kind === decision.kind &&
    lastDecision.engine === result.engine &&
    (decision.kind !== "retry" || lastDecision.idealTime?.getTime() === at) &&
    (decision.kind !== "wait" || isSameWait(lastDecision, decision));
  const record = isSame ? null : buildDecisionRecord(loaded, context, fingerprint, result, available, now);
  return { decision, record, error };
}

/**
 * Decides on a retry at once, which the merchant asks for by hand.
 *
 * @returns a decision to retry now, or the decision that forbids it
 */
export function decideRetryNow(loaded: LoadedCase, actions: readonly DeliveredAction[], now: Date) {
  const { context, fingerprint } = decisionContextOf(loaded, actions, null, now);
  const decision = decideRetryAtOnce(context);
  const result = {
    ...{ decision, isLearned: false, chosen: null, outlook: () => null, engine: "static" as const, error: null },
  };
  const record = buildDecisionRecord(loaded, context, fingerprint, result, NO_MODEL, now);
  return { decision, record, error: null };
}

/**
 * The decision stands until a fact changes, even after its time, and is compared with the next attempt by the merchant's own
 * system.
 *
 * @returns `record`: null if the last decision stands; `until`: the latest time to decide again, null for never
 */
export function decideInShadow(
  loaded: LoadedCase,
  available: AvailableModel,
  now: Date,
): { record: DecisionRecord | null; until: Date | null; error: unknown } {
  const { context, fingerprint } = decisionContextOf(loaded, [], available.model, now);
  const { lastDecision } = loaded;
  const isKnown = lastDecision?.facts === fingerprint;
  if (isKnown && lastDecision.kind !== "wait") return { record: null, until: null, error: null };
  const result = decide(context, available.model?.learnedModel ?? null);
  const { decision, error } = result;
  const until = (decision.kind === "wait" && decision.until) || null;
  if (isKnown && decision.kind === "wait" && isSameWait(lastDecision, decision)) return { record: null, until, error };
  const idealTime = "at" in decision ? decision.at : null;
  const record = buildDecisionRecord(loaded, context, fingerprint, result, available, now);
  return { record: { ...record, actionId: null, idealTime }, until, error };
}

/** News expected of other invoices, which is in the last reason, is not a fact of the case. */
const isSameWait = ({ lastReason }: PreviousDecision, { reasons }: Decision) => lastReason === reasons.at(-1);

/**
 * The fingerprint covers the facts that keep a plan in place. It leaves out three:
 * - an outage, because its end moves no plan
 * - expected news, because it matters only if no retry is worth making
 * - whether retries are sampled, because that counts from the next plan on
 */
function decisionContextOf(
  loaded: LoadedCase,
  actions: readonly DeliveredAction[],
  model: AvailableModel["model"],
  now: Date,
): { context: DecisionContext; fingerprint: string } {
  const facts = buildDecisionFacts(loaded, actions, model?.isTrained ?? false);
  const history = loaded.merchant.engine === "learned" && model ? buildHistory(loaded, facts, actions) : null;
  const {
    issuerDownAt: _,
    billed: __,
    othersPlanned: ___,
    explores: ____,
    pending,
    postponedUntil,
    quietTimes,
    ...lasting
  } = facts;
  // Without these three the fingerprint equals earlier versions', so plans survive an upgrade.
  const rare = [
    ...(pending ? [pending] : []),
    ...(postponedUntil ? [{ postponedUntil }] : []),
    ...(quietTimes ? [{ quietTimes }] : []),
  ];
  const all = [lasting, history?.invoices, history?.traits, ...rare];
  return {
    context: buildDecisionContext(facts, now, history),
    fingerprint: hash("sha1", JSON.stringify(all), "hex").slice(0, 20),
  };
}

function buildDecisionRecord(
  { case: recoveryCase, merchant, lastDecision }: LoadedCase,
  context: DecisionContext,
  fingerprint: string,
  result: ReturnType<typeof decide>,
  { model, failureReason }: AvailableModel,
  now: Date,
): Omit<DecisionRecord, "actionId" | "idealTime"> {
  const { decision, error, engine, isLearned, chosen } = result;
  const fallback = error === null ? failureReason : "the learned engine failed on this case";
  return {
    caseId: recoveryCase.id,
    number: (lastDecision?.number ?? 0) + 1,
    madeAt: now,
    engine,
    modelVersion: isLearned ? model!.version : null,
    kind: decision.kind,
    chance: chosen?.chance ?? null,
    propensity: chosen?.propensity ?? null,
    facts: fingerprint,
    account: buildAccount(
      context,
      result,
      merchant.engine === "learned" && engine === "static" ? fallback : null,
      lastDecision,
    ),
  };
}

/** Returns the plan if it is still ahead, later than any outage, and made by the learned policy from the same facts. */
function keepPlan(
  plan: RecoveryAction,
  lastDecision: PreviousDecision | null,
  fingerprint: string,
  isLearned: boolean,
  notBefore: Date,
): Decision | null {
  if (
    !isLearned ||
    lastDecision?.engine !== "learned" ||
    lastDecision.actionId !== plan.id ||
    lastDecision.facts !== fingerprint
  )
    return null;
  if (plan.type !== "RETRY" || plan.idealRetryTime < notBefore) return null;
  const suggestion = plan.actionSuggestion === "UNSPECIFIED" ? "UNSPECIFIED" : "RETRY";
  return { kind: "retry", at: plan.idealRetryTime, suggestion, reasons: plan.reasons, rules: [] };
}
