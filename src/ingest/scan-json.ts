/** Real records need five levels. */
export const DEPTH_MAX = 32;

/** Object keys and array indexes. The scanner reuses the array: copy it to keep it. */
export type JsonPath = readonly (string | number)[];

interface ScanListener {
  /** A number that JavaScript would write differently: 5.0, 1e3, -0, 9007199254740993. */
  onNumber(path: JsonPath, source: string): void;
  onDuplicate(path: JsonPath): void;
}

/**
 * Finds what `JSON.parse` silently loses in valid JSON: duplicate keys and the form of numbers.
 *
 * @returns false if the text is nested too deeply
 */
export function scanJson(text: string, { onNumber, onDuplicate }: ScanListener): boolean {
  const path: (string | number)[] = [];
  // Each open object's keys; null for an array.
  const open: (Set<string> | null)[] = [];
  let at = 0;
  while (at < text.length) {
    switch (text.charCodeAt(at)) {
      case 0x7b: // {
      case 0x5b: // [
        if (open.length === DEPTH_MAX) return false;
        open.push(text[at] === "{" ? new Set() : null);
        path.push(0);
        at++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        open.pop();
        path.pop();
        at++;
        break;
      case 0x2c: // ,
        if (open.at(-1) === null) (path[path.length - 1] as number)++;
        at++;
        break;
      case 0x22: {
        // "
        const end = findClosingQuote(text, at) + 1;
        if (isKey(text, end)) {
          const key = keyOf(text, at, end);
          const keys = open.at(-1)!;
          path[path.length - 1] = key;
          if (keys.has(key)) onDuplicate(path);
          keys.add(key);
        }
        at = end;
        break;
      }
      default: {
        const end = findNumberEnd(text, at);
        if (end > at && !isShortInteger(text, at, end)) {
          const source = text.slice(at, end);
          if (String(Number(source)) !== source) onNumber(path, source);
        }
        at = Math.max(end, at + 1); // whitespace, and the letters of true, false and null
      }
    }
  }
  return true;
}

/** The index, or -1. */
export function findClosingQuote(text: string, at: number) {
  const quote = text.indexOf('"', at + 1);
  if (quote < 0 || text.charCodeAt(quote - 1) !== 0x5c) return quote;
  // Searching for quotes would be several times slower in a text full of escaped ones.
  for (let index = at + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === 0x22) return index;
    if (code === 0x5c) index++;
  }
  return -1;
}

function isKey(text: string, end: number) {
  let index = end;
  while (isSpace(text.charCodeAt(index))) index++;
  return text[index] === ":";
}

const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

function keyOf(text: string, at: number, end: number): string {
  const inner = text.slice(at + 1, end - 1);
  return inner.includes("\\") ? JSON.parse(text.slice(at, end)) : inner;
}

/** Or `at` if there is no number. */
function findNumberEnd(text: string, at: number) {
  const first = text.charCodeAt(at);
  if (first !== 0x2d && !(first >= 0x30 && first <= 0x39)) return at;
  let index = at + 1;
  // In valid JSON, none of these characters can directly follow a number.
  while (isNumberCharacter(text.charCodeAt(index))) index++;
  return index;
}

/** JavaScript preserves integers of up to this length. */
const EXACT_DIGITS_MAX = 15;

function isShortInteger(text: string, at: number, end: number) {
  if (end - at > EXACT_DIGITS_MAX) return false;
  for (let index = at; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

const isNumberCharacter = (code: number) =>
  (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === 0x2d;
