/** One line, no control characters, limited length. */
export function toDisplayText(text: string): string {
  const line = text.trim().replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "·");
  const chars = [...line];
  return chars.length > DISPLAY_CHARS_MAX ? `${chars.slice(0, DISPLAY_CHARS_MAX).join("")}…` : line;
}

/** Longer than any real one; up to 255 characters may arrive. */
const DISPLAY_CHARS_MAX = 40;
