import type { LineOutput } from "./command.ts";
import { CLEAR_PREVIOUS_LINE } from "./terminal-text.ts";

export function createProgressLine({ isTerminal, print }: LineOutput): (line: string) => void {
  let shown = "";
  return (line) => {
    if (!isTerminal || line === shown) return;
    print(`${shown === "" ? "" : CLEAR_PREVIOUS_LINE}${line}`);
    shown = line;
  };
}
