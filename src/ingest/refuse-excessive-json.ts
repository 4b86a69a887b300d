import { ApiError } from "../http/errors.ts";
import { DEPTH_MAX, findClosingQuote } from "./scan-json.ts";

/**
 * Commas and opening brackets outside of strings, which approximates the number of values. More would block the event loop for
 * too long.
 */
export const STRUCTURAL_CHARS_MAX = 20_000;

/** Shorter texts cannot exceed the limit: each comma needs a value. */
const CHECKED_CHARS_MIN = 2 * STRUCTURAL_CHARS_MAX;

export const tooDeepError = () => new ApiError(400, `the body must not be nested deeper than ${DEPTH_MAX} levels`);
const tooManyValuesError = () =>
  new ApiError(400, `the body must not hold more than ${STRUCTURAL_CHARS_MAX} commas and opening brackets`);

/** Throws a 400 for too many values or levels, before a large text is parsed. */
export function refuseExcessiveJson(text: string) {
  if (text.length < CHECKED_CHARS_MIN) return;
  let structuralChars = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22: // "
        index = findClosingQuote(text, index);
        if (index < 0) return; // unterminated: JSON.parse reports the position
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > DEPTH_MAX) throw tooDeepError();
        structuralChars++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x2c: // ,
        structuralChars++;
    }
    if (structuralChars > STRUCTURAL_CHARS_MAX) throw tooManyValuesError();
  }
}
