import { CHOICE_COUNT } from "./retry-gaps.ts";

/**
 * Group numbers, from coarse to fine. Decisions in a group are alike at that level. Each group belongs to one level, and all
 * situations have the same number of levels.
 */
export type DecisionContext = readonly number[];

/** A coarser group counts as this many decisions, to smooth small groups. */
const PRIOR_WEIGHT = 10;
/** The finest level with groups large enough to count choices. */
const SUPPORT_LEVEL = 1;
const CHOICE_COLUMNS = CHOICE_COUNT + 1;
const TOTAL_COLUMN = CHOICE_COUNT;

export interface BehaviorModel {
  /** The probability that the merchant's system makes this choice. */
  propensity(situation: DecisionContext, choice: number): number;
  /** In a similar situation. */
  count(situation: DecisionContext, choice: number): number;
}

/** @param groups  greater than any group number */
export function fitBehaviorModel(
  decisions: Iterable<{ situation: DecisionContext; choice: number }>,
  groups: number,
): BehaviorModel {
  const counts = new Float64Array(groups * CHOICE_COLUMNS);
  for (const { situation, choice } of decisions)
    for (const group of situation) {
      counts[group * CHOICE_COLUMNS + choice]!++;
      counts[group * CHOICE_COLUMNS + TOTAL_COLUMN]!++;
    }
  return {
    propensity(situation, choice) {
      let propensity = 1 / CHOICE_COUNT;
      let priorWeight = 0;
      for (const group of situation) {
        const count = counts[group * CHOICE_COLUMNS + choice]!;
        const total = counts[group * CHOICE_COLUMNS + TOTAL_COLUMN]!;
        if (total > 0) propensity = (count + priorWeight * propensity) / (total + priorWeight);
        priorWeight = PRIOR_WEIGHT;
      }
      return propensity;
    },
    count: (situation, choice) => counts[situation[SUPPORT_LEVEL]! * CHOICE_COLUMNS + choice]!,
  };
}

/** Estimated from what followed a choice. */
export interface ChoiceValues {
  add(situation: DecisionContext, choice: number, value: number): void;
  /** Shrunk toward the overall mean by the number of observations. */
  expected(situation: DecisionContext, choice: number): number;
}

/** @param groups  their number */
export function createChoiceValues(groups: number): ChoiceValues {
  const counts = new Float64Array(groups * CHOICE_COUNT);
  const sums = new Float64Array(groups * CHOICE_COUNT);
  let [count, total] = [0, 0];
  return {
    add(situation, choice, value) {
      count++;
      total += value;
      for (const group of situation) {
        counts[group * CHOICE_COUNT + choice]!++;
        sums[group * CHOICE_COUNT + choice]! += value;
      }
    },
    expected(situation, choice) {
      let expected = count === 0 ? 0 : total / count;
      for (const group of situation) {
        const index = group * CHOICE_COUNT + choice;
        if (counts[index]! > 0) expected = (sums[index]! + PRIOR_WEIGHT * expected) / (counts[index]! + PRIOR_WEIGHT);
      }
      return expected;
    },
  };
}
