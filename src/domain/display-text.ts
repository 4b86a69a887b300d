/**
 * A code or a name from outside as people may be shown it: as it was pushed, but without space around it, on one line, without what a terminal or a page might obey, and cut where
 * it is longer than anything of its kind.
 */
export function toDisplayText(text: string): string {
  const line = text.trim().replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "·");
  const chars = [...line];
  return chars.length > DISPLAY_CHARS_MAX ? `${chars.slice(0, DISPLAY_CHARS_MAX).join("")}…` : line;
}

/** One may have 255. */
const DISPLAY_CHARS_MAX = 40;
