/** The only control sequence that Dunlin prints. */
export const CLEAR_PREVIOUS_LINE = "\u001b[1A\u001b[2K";

// They move the cursor, set colors, answer on the terminal's behalf or change the text direction.
const CONTROL_CHARACTERS = /(?![\t\n])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** An endpoint's reply or a customer's id may contain control characters. */
export const escapeTerminalText = (text: string): string => {
  const shown = text.startsWith(CLEAR_PREVIOUS_LINE) ? text.slice(CLEAR_PREVIOUS_LINE.length) : text;
  const plain = shown.replace(CONTROL_CHARACTERS, "·");
  return shown === text ? plain : CLEAR_PREVIOUS_LINE + plain;
};
