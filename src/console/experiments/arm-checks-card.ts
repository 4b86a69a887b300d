import type { Experiment } from "../../domain/experiment.ts";
import {
  type ArmProblem,
  measureSameTreatment,
  measureSplit,
  type SameTreatmentMeasure,
  type SplitMeasure,
  type TallyLookup,
} from "../../experiments/statistics/arm-checks.ts";
import type { InterimAnalysis } from "../../experiments/statistics/interim-analysis.ts";
import { type Html, html } from "../html.ts";
import { icon } from "../show/icons.ts";
import { formatCount, formatShare } from "../show/number-format.ts";
import { card } from "../show/parts.ts";
import { formatPoints } from "./experiment-effect.ts";

export interface ArmCheck {
  state: "passed" | "failed" | "waiting";
  words: string;
  /** The number behind it. */
  figure: string;
  isOfSplit: boolean;
}

/** A problem that a result has found stays, whatever the numbers say now. */
export function listArmChecks(experiment: Experiment, look: InterimAnalysis | null, tallies: TallyLookup): ArmCheck[] {
  const hasFailed = (problem: ArmProblem) => look?.troubles.includes(problem) ?? false;
  const splits = (["calibration", "comparison"] as const)
    .map((phase) => measureSplit(experiment, tallies, phase))
    .filter(({ phase, customers }) => customers > 0 || phase === "comparison");
  const isCalibrated = experiment.comparedFrom > experiment.startedAt;
  return [
    ...splits.map((split) => splitCheck(experiment, split, hasFailed("split"))),
    ...measureSameTreatment(experiment, tallies)
      .filter(({ problem }) => problem !== "calibration" || isCalibrated)
      .map((measure) => sameTreatmentCheck(measure, hasFailed(measure.problem))),
  ];
}

function splitCheck(
  { share }: Experiment,
  { phase, treated, customers, p, isFailed }: SplitMeasure,
  hasFailed: boolean,
): ArmCheck {
  const isOfSplit = true;
  if (customers === 0)
    return { state: "waiting", words: "The split: no customer is counted yet.", figure: "", isOfSplit };
  const counts = `${formatCount(treated)} and ${formatCount(customers - treated)} customers${phase === "calibration" ? " in the calibration" : ""}, ${formatShare(treated, customers)} against ${formatShare(share, 1)}`;
  const figure = p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(p < 0.01 ? 3 : 2)}`;
  if (isFailed) return { state: "failed", words: `The split is not as planned: ${counts}.`, figure, isOfSplit };
  // Only one phase may have failed.
  const words = hasFailed ? `The split here: ${counts}.` : `The split is as planned: ${counts}.`;
  return { state: "passed", words, figure, isOfSplit };
}

const SAME_TREATMENT_WORDS: Record<SameTreatmentMeasure["problem"], readonly [subject: string, why: string]> = {
  calibration: ["The arms", "in the calibration, when your own system handled both"],
  halves_dunlin: ["Two halves of Dunlin's arm", "although both were treated alike"],
  halves_merchant: ["Two halves of your own arm", "although both were treated alike"],
};

function sameTreatmentCheck(
  { problem, difference, halfWidth, isFailed }: SameTreatmentMeasure,
  hasFailed: boolean,
): ArmCheck {
  const isOfSplit = false;
  const [subject, why] = SAME_TREATMENT_WORDS[problem];
  const figure =
    difference === null
      ? ""
      : `${formatPoints(difference - halfWidth)} to ${formatPoints(difference + halfWidth)} points`;
  if (isFailed || hasFailed) return { state: "failed", words: `${subject} differed ${why}.`, figure, isOfSplit };
  if (difference === null)
    return { state: "waiting", words: `${subject}: too few customers are counted yet.`, figure, isOfSplit };
  return {
    state: "passed",
    words: problem === "calibration" ? `${subject} were alike ${why}.` : `${subject}, treated alike, are alike.`,
    figure,
    isOfSplit,
  };
}

const STATE_PARTS = {
  passed: ["good-i", "ok"],
  failed: ["bad-i", "x"],
  waiting: ["soft", "history"],
} as const;

export function armChecksCard(checks: readonly ArmCheck[], isVoid: boolean): Html {
  // A split of few customers passes by itself, so every check must have enough of them.
  const isChecked = checks.length > 0 && checks.every(({ state }) => state === "passed");
  const tag = isVoid
    ? html`<span class="tag bad">No</span>`
    : isChecked
      ? html`<span class="tag good">Yes</span>`
      : html`<span class="tag">Not known yet</span>`;
  return card(
    { title: "Can the arms be compared?", side: tag },
    html`<div class="in"><ul class="checks plain">${checks.map(
      ({ state, words, figure }) =>
        html`<li class="${STATE_PARTS[state][0]}">${icon(STATE_PARTS[state][1])}<span>${words}</span><span class="soft small">${figure}</span></li>`,
    )}</ul></div>`,
  );
}
