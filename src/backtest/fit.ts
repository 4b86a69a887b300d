import { CHOICES } from "./gaps.ts";

/**
 * What was known at a decision, coarse to fine: each number names a group of decisions that are alike so far. Every group belongs to
 * one level, and all situations have the same number of levels.
 */
export type Situation = readonly number[];

/** Where a fine group has few decisions, its coarser one counts as so many. */
const BORROWED = 10;
/** The level whose groups are still large, and already tell what the merchant's system looks at. */
const SEEN_LEVEL = 1;
const WIDTH = CHOICES + 1;
const ALL = CHOICES;

/** How often each choice was made in a situation. */
export interface Habits {
  /** The chance that the merchant's own system makes this choice. */
  chance(situation: Situation, choice: number): number;
  /** How often it did. */
  seen(situation: Situation, choice: number): number;
}

/** The merchant's own habits, from what it did. `groups`: more than any number of a group. */
export function habitsOf(decisions: Iterable<{ situation: Situation; choice: number }>, groups: number): Habits {
  const counts = new Float64Array(groups * WIDTH);
  for (const { situation, choice } of decisions)
    for (const group of situation) {
      counts[group * WIDTH + choice]!++;
      counts[group * WIDTH + ALL]!++;
    }
  return {
    chance(situation, choice) {
      let chance = 1 / CHOICES;
      let borrowed = 0;
      for (const group of situation) {
        const [made, all] = [counts[group * WIDTH + choice]!, counts[group * WIDTH + ALL]!];
        if (all > 0) chance = (made + borrowed * chance) / (all + borrowed);
        borrowed = BORROWED;
      }
      return chance;
    },
    seen: (situation, choice) => counts[situation[SEEN_LEVEL]! * WIDTH + choice]!,
  };
}

/** What a choice in a situation is worth, from what followed where it was made. */
export interface Worths {
  add(situation: Situation, choice: number, worth: number): void;
  /** Between the overall mean and the mean of this choice in this situation, by how much there is of it. */
  expected(situation: Situation, choice: number): number;
}

/** @param groups  how many groups of situations there are; each situation belongs to several */
export function newWorths(groups: number): Worths {
  const counts = new Float64Array(groups * CHOICES);
  const sums = new Float64Array(groups * CHOICES);
  let [count, total] = [0, 0];
  return {
    add(situation, choice, worth) {
      count++;
      total += worth;
      for (const group of situation) {
        counts[group * CHOICES + choice]!++;
        sums[group * CHOICES + choice]! += worth;
      }
    },
    expected(situation, choice) {
      let expected = count === 0 ? 0 : total / count;
      for (const group of situation) {
        const at = group * CHOICES + choice;
        if (counts[at]! > 0) expected = (sums[at]! + BORROWED * expected) / (counts[at]! + BORROWED);
      }
      return expected;
    },
  };
}
