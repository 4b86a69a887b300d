import { DAY_MS } from "../domain/durations.ts";

/** Few histories have enough long gaps, so these are combined. */
export const RETRY_GAPS = [
  { from: 0, words: "the same day" },
  { from: 1, words: "1 day" },
  { from: 2, words: "2 days" },
  { from: 3, words: "3 days" },
  { from: 4, words: "4 days" },
  { from: 5, words: "5 to 6 days" },
  { from: 7, words: "7 to 9 days" },
  { from: 10, words: "10 to 13 days" },
  { from: 14, words: "14 days or more" },
] as const;

export const STOP_CHOICE = RETRY_GAPS.length;
export const CHOICE_COUNT = RETRY_GAPS.length + 1;

export function retryGapOf(failedAt: Date, nextAt: Date): number {
  const days = Math.round((nextAt.getTime() - failedAt.getTime()) / DAY_MS);
  return RETRY_GAPS.findLastIndex(({ from }) => days >= from);
}

export const gapText = (choice: number) => RETRY_GAPS[choice]?.words ?? "never";
