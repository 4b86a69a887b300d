import { COUNT_MEASURE, type Measure } from "../../domain/experiment.ts";
import { formatMarginPoints } from "../../experiments/statistics/percentage-points.ts";
import type { VerdictOutcome } from "../../experiments/statistics/verdict.ts";

export interface MeasureVerdict {
  measure: Measure;
  outcome: Exclude<VerdictOutcome, "void">;
}

/** Says how clear each measure is: "Dunlin recovers more invoices than your own retries; whether …". */
export function verdictSentence(verdicts: readonly MeasureVerdict[], margin: number): string {
  const hasOneCurrency = verdicts.filter(({ measure }) => measure !== COUNT_MEASURE).length === 1;
  const nouns = (outcome: VerdictOutcome, [count, money]: readonly [string, string]) =>
    verdicts
      .filter((each) => each.outcome === outcome)
      .map(({ measure }) => (measure === COUNT_MEASURE ? count : hasOneCurrency ? money : `${money} in ${measure}`));
  const more = joinWords(nouns("better", ["more invoices", "more money"]), "and");
  const less = joinWords(nouns("worse", ["fewer invoices", "less money"]), "and");
  const alike = joinWords(nouns("alike", ["recovered invoices", "recovered money"]), "or");
  const moving = joinWords(nouns("moving", ["recovered invoices", "recovered money"]), "and");
  const open = joinWords(nouns("open", ["more invoices", "more money"]), "or");
  const clear = [more, less].filter((each) => each !== "").join(", but ");
  const clauses = [
    clear && `Dunlin recovers ${clear} than your own retries`,
    alike && `there is no difference of ${formatMarginPoints(margin)} points or more in ${alike}`,
    moving && `the difference in ${moving} changed during the experiment`,
    open && `whether Dunlin recovers ${open} is not clear yet`,
  ].filter((each) => each !== "");
  const text = clauses.join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function joinWords(words: readonly string[], last: "and" | "or"): string {
  if (words.length < 2) return words[0] ?? "";
  return `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
