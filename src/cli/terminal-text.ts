/** Up one line, which is cleared: the only thing that a terminal is told to do. */
export const CLEAR_PREVIOUS_LINE = "\u001b[1A\u001b[2K";

// What is no sign but moves the cursor, colours, answers in the terminal's name, or turns the direction of a text around.
const CONTROL_CHARACTERS = /(?![\t\n])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text for a terminal, which obeys nothing in it: an endpoint's reply or a customer's id may say what it likes. */
export const escapeTerminalText = (text: string): string => {
  const shown = text.startsWith(CLEAR_PREVIOUS_LINE) ? text.slice(CLEAR_PREVIOUS_LINE.length) : text;
  const plain = shown.replace(CONTROL_CHARACTERS, "·");
  return shown === text ? plain : CLEAR_PREVIOUS_LINE + plain;
};
