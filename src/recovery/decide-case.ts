import { hash } from "node:crypto";
import type { DecisionRecord, PreviousDecision } from "../domain/decision.ts";
import type { Engine } from "../domain/merchant.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import { decideLearned, type LearnedDecision } from "../engine/decide-learned.ts";
import { decideStatic } from "../engine/decide-static.ts";
import { buildAccount } from "../engine/decision-account.ts";
import type { Decision, DecisionFacts } from "../engine/decision-facts.ts";
import { outageWaitEnd } from "../engine/detect-outage.ts";
import type { CustomerHistory } from "../engine/infer-posterior.ts";
import type { LearnedModel } from "../engine/learned/learned-model.ts";
import { buildSituation } from "../engine/situation.ts";
import { buildDecisionFacts } from "./build-decision-facts.ts";
import { buildHistory } from "./build-history.ts";
import type { CaseView } from "./case-view.ts";
import type { DeliveredAction } from "./outcome.ts";

/** The knowledge for a decision. */
export interface AvailableModel {
  /** null: the static policy decides. */
  model: { learned: LearnedModel; version: number; isTrained: boolean } | null;
  /** Why there is no model, where one is wanted. */
  trouble: string | null;
}

/** A decision, and the record to keep of it. */
export interface CaseDecision {
  decision: Decision;
  /** All but the action it leads to; null when all is as it was at the last decision. */
  record: Omit<DecisionRecord, "actionId" | "idealTime"> | null;
  /** The learned engine failed on this case, so the static policy decided. */
  error: unknown;
}

/**
 * Returns the next action in a case, by the engine that the merchant chose.
 *
 * A plan stays as long as the facts do, also when something was learned meanwhile: else the moments of all open cases would creep with
 * every outcome of anybody.
 *
 * @param plan  the action that is planned by now
 */
export function decideCase(
  view: CaseView,
  actions: readonly DeliveredAction[],
  plan: RecoveryAction | null,
  { model, trouble }: AvailableModel,
  now: Date,
): CaseDecision {
  const basis = buildDecisionInput(view, actions, model);
  const { issuerDownAt } = basis.known;
  const { lastDecision } = view;
  const notBefore = issuerDownAt === null ? now : new Date(Math.max(now.getTime(), outageWaitEnd(issuerDownAt)));
  const kept = plan && keepPlan(plan, lastDecision, basis.facts, basis.history !== null, notBefore);
  if (kept) return { decision: kept, record: null, error: null };

  const made = runEngine(basis, model, now);
  const { decision, error } = made;
  const at = "at" in decision ? decision.at.getTime() : null;
  const isSame =
    lastDecision?.facts === basis.facts &&
    lastDecision.kind === decision.kind &&
    lastDecision.engine === made.engine &&
    (decision.kind !== "retry" || lastDecision.idealTime?.getTime() === at) &&
    (decision.kind !== "wait" || isSameWait(lastDecision, decision));
  return { decision, record: isSame ? null : buildDecisionRecord(view, basis, made, { model, trouble }, now), error };
}

/**
 * What Dunlin would do next in a case that is left to the merchant's own system. Nobody follows it, so it stands until a fact changes, also when its
 * moment has passed: what that system does next is compared with it.
 *
 * @returns `record`: null when it stands; `until`: when to ask again what is waited for at the latest, null at no time
 */
export function decideInShadow(
  view: CaseView,
  { model, trouble }: AvailableModel,
  now: Date,
): { record: DecisionRecord | null; until: Date | null; error: unknown } {
  const basis = buildDecisionInput(view, [], model);
  const { lastDecision } = view;
  const isKnown = lastDecision?.facts === basis.facts;
  if (isKnown && lastDecision.kind !== "wait") return { record: null, until: null, error: null };
  const made = runEngine(basis, model, now);
  const { decision, error } = made;
  const until = (decision.kind === "wait" && decision.until) || null;
  if (isKnown && decision.kind === "wait" && isSameWait(lastDecision, decision)) return { record: null, until, error };
  const idealTime = "at" in decision ? decision.at : null;
  return {
    record: { ...buildDecisionRecord(view, basis, made, { model, trouble }, now), actionId: null, idealTime },
    until,
    error,
  };
}

/** What is waited for of other bills is no fact of a case, and stands in the last reason. */
const isSameWait = ({ lastReason }: PreviousDecision, { reasons }: Decision) => lastReason === reasons.at(-1);

/** The grounds of a decision. */
interface DecisionInput {
  known: DecisionFacts;
  /** null: the static policy decides, and looks at no other bill. */
  history: CustomerHistory | null;
  /** A fingerprint of both. */
  facts: string;
}

function buildDecisionInput(
  view: CaseView,
  actions: readonly DeliveredAction[],
  model: AvailableModel["model"],
): DecisionInput {
  const known = buildDecisionFacts(view, actions, model?.isTrained ?? false);
  const history = view.merchant.engine === "learned" && model ? buildHistory(view, known, actions) : null;
  // An outage moves a plan that lies within it, and its end moves none. Expected news of other invoices matters only when no retry is worth making.
  // Whether retries are sampled counts from the next plan on.
  const { issuerDownAt: _, billed: __, othersPlanned: ___, explores: ____, pending, ...lasting } = known;
  // Without a pending attempt the facts are those of earlier versions, so plans survive an upgrade.
  const all = [lasting, history?.bills, history?.traits, ...(pending ? [pending] : [])];
  const facts = hash("sha1", JSON.stringify(all), "hex").slice(0, 20);
  return { known, history, facts };
}

function buildDecisionRecord(
  { case: kase, merchant, lastDecision }: CaseView,
  { history, facts }: DecisionInput,
  made: EngineDecision,
  { model, trouble }: AvailableModel,
  now: Date,
): Omit<DecisionRecord, "actionId" | "idealTime"> {
  const { decision, error, engine, isLearned, chosen } = made;
  const fallback = error === null ? trouble : "the learned engine failed on this case";
  return {
    caseId: kase.id,
    number: (lastDecision?.number ?? 0) + 1,
    madeAt: now,
    engine,
    modelVersion: isLearned ? model!.version : null,
    kind: decision.kind,
    chance: chosen?.chance ?? null,
    propensity: chosen?.propensity ?? null,
    facts,
    account: buildAccount(
      made,
      history,
      merchant.engine === "learned" && engine === "static" ? fallback : null,
      lastDecision,
    ),
  };
}

type EngineDecision = LearnedDecision & { engine: Engine; error: unknown };

function runEngine({ known, history }: DecisionInput, model: AvailableModel["model"], now: Date): EngineDecision {
  let error: unknown = null;
  if (history && model) {
    try {
      return { ...decideLearned(known, history, model.learned, now), engine: "learned", error };
    } catch (thrown) {
      // A fault of the model must never prevent a decision.
      error = thrown;
    }
  }
  const situation = buildSituation(known, now);
  return {
    decision: decideStatic(known, now),
    situation,
    isLearned: false,
    chosen: null,
    outlook: () => null,
    engine: "static",
    error,
  };
}

/** The plan as it is, when it still lies ahead, past any outage, and rests on the same facts and the same engine. */
function keepPlan(
  plan: RecoveryAction,
  last: PreviousDecision | null,
  facts: string,
  isLearned: boolean,
  notBefore: Date,
): Decision | null {
  if (!isLearned || last?.engine !== "learned" || last.actionId !== plan.id || last.facts !== facts) return null;
  if (plan.type !== "RETRY" || plan.idealRetryTime < notBefore) return null;
  const suggestion = plan.actionSuggestion === "UNSPECIFIED" ? "UNSPECIFIED" : "RETRY";
  return { kind: "retry", at: plan.idealRetryTime, suggestion, reasons: plan.reasons, rules: [] };
}
