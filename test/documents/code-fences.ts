import assert from "node:assert/strict";

/** A fenced block of a document. */
export interface CodeFence {
  language: string;
  text: string;
  /** The paragraph right before it. */
  before: string;
  /** It stands right after another block: nothing is between them. */
  follows: boolean;
}

/** The fenced blocks of a document, in their order. */
export function findCodeFences(markdown: string): CodeFence[] {
  const found = [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  let end = 0;
  return found.map((match) => {
    const between = markdown.slice(end, match.index);
    const follows = end > 0 && between.trim() === "";
    end = match.index + match[0].length;
    return {
      language: match[1]!,
      text: match[2]!,
      before: between
        .trim()
        .split(/\n\s*\n/)
        .at(-1)!,
      follows,
    };
  });
}

/** What was printed is what a document shows; there `…` stands for anything, and spaces don't count: a long line is shown broken. */
export function assertPrinted(printed: string, shown: string, commands: string) {
  assert.match(withoutSpaces(printed), outputPattern(shown), commands);
}

/** Each line of what is shown stands somewhere in what was printed: what comes by the network may come in another order. */
export const isPrinted = (printed: string, shown: string) =>
  shown.split("\n").every((line) => new RegExp(outputPattern(line).source.slice(1, -1)).test(withoutSpaces(printed)));

const withoutSpaces = (text: string) => text.replace(/\s+/g, "");
const outputPattern = (shown: string) =>
  new RegExp(`^${withoutSpaces(shown).split("…").map(RegExp.escape).join(".*?")}$`);
