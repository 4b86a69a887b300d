import type { Lines } from "./command.ts";
import { AGAIN } from "./harmless.ts";

/** A line that is printed again in place of itself, on a terminal; elsewhere nothing is. */
export function growingLine({ isTerminal, print }: Lines): (line: string) => void {
  let shown = "";
  return (line) => {
    if (!isTerminal || line === shown) return;
    print(`${shown === "" ? "" : AGAIN}${line}`);
    shown = line;
  };
}
