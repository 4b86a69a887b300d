import type { LineOutput } from "./command.ts";
import { CLEAR_PREVIOUS_LINE } from "./terminal-text.ts";

/** A line that is printed again in place of itself, on a terminal; elsewhere nothing is. */
export function createProgressLine({ isTerminal, print }: LineOutput): (line: string) => void {
  let shown = "";
  return (line) => {
    if (!isTerminal || line === shown) return;
    print(`${shown === "" ? "" : CLEAR_PREVIOUS_LINE}${line}`);
    shown = line;
  };
}
