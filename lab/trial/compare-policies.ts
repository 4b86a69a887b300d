import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { fromPretrained, type PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";
import type { World } from "../worlds/world.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { oracle } from "./oracle.ts";
import type { Policy } from "./policy.ts";
import { createHourCountsPolicy, expert } from "./rule-policies.ts";
import { runTrial, type Trial } from "./run-trial.ts";
import { even, fixed, ladder } from "./scheduled-policies.ts";
import { createPayDayTeller } from "./told-pay-days.ts";
import { computeFigures, type Figures } from "./trial-figures.ts";

/** The output of `dunlin simulate --json`. */
export interface Comparison {
  world: string;
  seed: number;
  customers: number;
  cases: number;
  policies: Record<string, Figures>;
  /** That warm Dunlin closes, by value. */
  gapClosed: { fromFixed: number | null; fromEven: number | null };
}

const POLICIES: Readonly<Record<string, (world: World, prior: PretrainedModel) => Policy>> = {
  fixed,
  ladder,
  even,
  expert,
  hours: createHourCountsPolicy,
  cold: () => createDunlinPolicy(newLearnedModel()),
  warm: (_, prior) => createDunlinPolicy(fromPretrained(prior)),
  told: (world, prior) => createDunlinPolicy(fromPretrained(prior), { tell: createPayDayTeller(world) }),
  oracle,
};

export const POLICY_NAMES = Object.keys(POLICIES);
export const DEFAULT_POLICY_NAMES = POLICY_NAMES.filter((name) => name !== "told");
export const REQUIRED_POLICY_NAMES = ["fixed", "even", "warm", "oracle"];

export interface ComparisonListener {
  begins?(name: string, number: number, of: number): void;
  /** Called after it. */
  ended?(name: string, trial: Trial): void;
}

/** @param names  those needed for the gap are added */
export function comparePolicies(
  world: World,
  seed: number,
  customers: number,
  prior: PretrainedModel,
  names = DEFAULT_POLICY_NAMES,
  { begins, ended }: ComparisonListener = {},
): Comparison {
  const policies: Record<string, Figures> = {};
  let cases = 0;
  const all = POLICY_NAMES.filter((each) => names.includes(each) || REQUIRED_POLICY_NAMES.includes(each));
  for (const [n, name] of all.entries()) {
    begins?.(name, n + 1, all.length);
    const trial = runTrial(world, POLICIES[name]!(world, prior), seed, customers);
    policies[name] = computeFigures(trial);
    ended?.(name, trial);
    if (name === "warm") cases = trial.cases.length;
  }
  const value = (name: string) => policies[name]!.value;
  const closed = (from: string) => {
    const gap = value("oracle") - value(from);
    return gap > 0 ? (value("warm") - value(from)) / gap : null;
  };
  return {
    world: world.name,
    seed,
    customers,
    cases,
    policies,
    gapClosed: { fromFixed: closed("fixed"), fromEven: closed("even") },
  };
}
