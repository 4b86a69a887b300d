import { ApiError } from "../http/errors.ts";
import { DEPTH_MAX, findClosingQuote } from "./scan-json.ts";

/**
 * Commas and opening brackets outside of strings, which are about as many as values: 200 records of 100 each. Parsing,
 * comparing and looking through so many takes 20 to 50 ms of the event loop; a megabyte of `{}` would take 200.
 */
export const STRUCTURAL_CHARS_MAX = 20_000;

/** The shortest text that can be too much: a comma and what it parts. */
const CHECKED_CHARS_MIN = 2 * STRUCTURAL_CHARS_MAX;

export const tooDeepError = () => new ApiError(400, `the body must not be nested deeper than ${DEPTH_MAX} levels`);
const tooManyValuesError = () =>
  new ApiError(400, `the body must not hold more than ${STRUCTURAL_CHARS_MAX} commas and opening brackets`);

/** Throws a 400, before anybody parses it, when a large text holds more values or levels than any batch needs. */
export function refuseExcessiveJson(text: string) {
  if (text.length < CHECKED_CHARS_MIN) return;
  let marks = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22: // "
        index = findClosingQuote(text, index);
        if (index < 0) return; // it has no end: JSON.parse says where
        break;
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > DEPTH_MAX) throw tooDeepError();
        marks++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x2c: // ,
        marks++;
    }
    if (marks > STRUCTURAL_CHARS_MAX) throw tooManyValuesError();
  }
}
