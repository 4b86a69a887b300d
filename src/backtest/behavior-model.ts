import { CHOICE_COUNT } from "./retry-gaps.ts";

/**
 * What was known at a decision, coarse to fine: each number names a group of decisions that are alike so far. Every group belongs to
 * one level, and all situations have the same number of levels.
 */
export type DecisionContext = readonly number[];

/** Where a fine group has few decisions, its coarser one counts as so many. */
const PRIOR_WEIGHT = 10;
/** The level whose groups are still large, and already tell what the merchant's system looks at. */
const SUPPORT_LEVEL = 1;
const CHOICE_COLUMNS = CHOICE_COUNT + 1;
const TOTAL_COLUMN = CHOICE_COUNT;

/** How often each choice was made in a situation. */
export interface BehaviorModel {
  /** The chance that the merchant's own system makes this choice. */
  chance(situation: DecisionContext, choice: number): number;
  /** How often it did. */
  seen(situation: DecisionContext, choice: number): number;
}

/** The merchant's own habits, from what it did. `groups`: more than any number of a group. */
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
    chance(situation, choice) {
      let chance = 1 / CHOICE_COUNT;
      let borrowed = 0;
      for (const group of situation) {
        const [made, all] = [counts[group * CHOICE_COLUMNS + choice]!, counts[group * CHOICE_COLUMNS + TOTAL_COLUMN]!];
        if (all > 0) chance = (made + borrowed * chance) / (all + borrowed);
        borrowed = PRIOR_WEIGHT;
      }
      return chance;
    },
    seen: (situation, choice) => counts[situation[SUPPORT_LEVEL]! * CHOICE_COLUMNS + choice]!,
  };
}

/** What a choice in a situation is worth, from what followed where it was made. */
export interface ChoiceValues {
  add(situation: DecisionContext, choice: number, worth: number): void;
  /** Between the overall mean and the mean of this choice in this situation, by how much there is of it. */
  expected(situation: DecisionContext, choice: number): number;
}

/** @param groups  how many groups of situations there are; each situation belongs to several */
export function createChoiceValues(groups: number): ChoiceValues {
  const counts = new Float64Array(groups * CHOICE_COUNT);
  const sums = new Float64Array(groups * CHOICE_COUNT);
  let [count, total] = [0, 0];
  return {
    add(situation, choice, worth) {
      count++;
      total += worth;
      for (const group of situation) {
        counts[group * CHOICE_COUNT + choice]!++;
        sums[group * CHOICE_COUNT + choice]! += worth;
      }
    },
    expected(situation, choice) {
      let expected = count === 0 ? 0 : total / count;
      for (const group of situation) {
        const at = group * CHOICE_COUNT + choice;
        if (counts[at]! > 0) expected = (sums[at]! + PRIOR_WEIGHT * expected) / (counts[at]! + PRIOR_WEIGHT);
      }
      return expected;
    },
  };
}
