/** No row holds one: PostgreSQL stores no NUL, and the others would break lines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is its purpose
export const CONTROL_CHARACTER = /[\u0000-\u001f\u007f-\u009f]/;

/** One line, no control characters, limited length. */
export function toDisplayText(text: string): string {
  const line = text.trim().replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "·");
  const chars = [...line];
  return chars.length > DISPLAY_CHARS_MAX ? `${chars.slice(0, DISPLAY_CHARS_MAX).join("")}…` : line;
}

/** Longer than any real one; up to 255 characters may arrive. */
const DISPLAY_CHARS_MAX = 40;
