/** Up one line, which is cleared: the only thing that a terminal is told to do. */
export const AGAIN = "\u001b[1A\u001b[2K";

// What is no sign but moves the cursor, colours, answers in the terminal's name, or turns the direction of a text around.
const OBEYED = /(?![\t\n])\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** Text for a terminal, which obeys nothing in it: an endpoint's reply or a customer's id may say what it likes. */
export const harmless = (text: string): string => {
  const shown = text.startsWith(AGAIN) ? text.slice(AGAIN.length) : text;
  const plain = shown.replace(OBEYED, "·");
  return shown === text ? plain : AGAIN + plain;
};
