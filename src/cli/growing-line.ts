import type { Lines } from "./command.ts";

/** Up one line, which is cleared. */
const AGAIN = "\u001b[1A\u001b[2K";

/** A line that is printed again in place of itself, on a terminal; elsewhere nothing is. */
export function growingLine({ isTerminal, print }: Lines): (line: string) => void {
  let shown = "";
  return (line) => {
    if (!isTerminal || line === shown) return;
    print(`${shown === "" ? "" : AGAIN}${line}`);
    shown = line;
  };
}
