import assert from "node:assert/strict";

/** A fenced block of a document. */
export interface CodeFence {
  language: string;
  text: string;
  /** The paragraph right before it. */
  before: string;
  /** Whether it directly follows another block. */
  follows: boolean;
}

/** Returns the fenced blocks of a document, in order. */
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

/**
 * Asserts that the printed text matches the document. There `…` stands for any text, and spaces are ignored, because long lines
 * are wrapped.
 */
export function assertPrinted(printed: string, shown: string, commands: string) {
  assert.match(withoutSpaces(printed), outputPattern(shown), commands);
}

/** Whether each shown line is somewhere in the printed text. Network output can come in another order. */
export const isPrinted = (printed: string, shown: string) =>
  shown.split("\n").every((line) => new RegExp(outputPattern(line).source.slice(1, -1)).test(withoutSpaces(printed)));

const withoutSpaces = (text: string) => text.replace(/\s+/g, "");
const outputPattern = (shown: string) =>
  new RegExp(`^${withoutSpaces(shown).split("…").map(RegExp.escape).join(".*?")}$`);
