// First digits from, to, and lengths.
const LONG_LENGTHS = [14, 15, 16, 17, 18, 19];
const CARD_RANGES: readonly (readonly [from: string, to: string, lengths: readonly number[]])[] = [
  ["2200", "2205", [16, 17, 18, 19]], // Mir
  ["2221", "2720", [16]], // Mastercard
  ["300", "305", LONG_LENGTHS], // Diners Club
  ["309", "309", LONG_LENGTHS],
  ["34", "34", [15]], // American Express
  ["3528", "3589", [16, 17, 18, 19]], // JCB
  ["36", "36", LONG_LENGTHS], // Diners Club
  ["37", "37", [15]], // American Express
  ["38", "39", LONG_LENGTHS], // Diners Club
  ["4", "4", [13, 16, 18, 19]], // Visa
  ["50", "50", [13, ...LONG_LENGTHS]], // Maestro, Verve, RuPay
  ["51", "55", [16]], // Mastercard
  ["56", "58", [13, ...LONG_LENGTHS]], // Maestro
  ["60", "60", [13, ...LONG_LENGTHS]], // Discover, RuPay, Maestro
  ["62", "62", LONG_LENGTHS], // UnionPay
  ["63", "63", [13, ...LONG_LENGTHS]], // Maestro
  ["64", "65", [16, 17, 18, 19]], // Discover
  ["67", "67", [13, ...LONG_LENGTHS]], // Maestro
  ["81", "82", [16, 17, 18, 19]], // UnionPay, RuPay
  ["9792", "9792", [16]], // Troy
];

const CARD_DIGITS_MIN = 13;
const CARD_DIGITS_MAX = 19;
const PREFIX_DIGITS = 4;

/** As bit sets. */
const LENGTHS_BY_PREFIX = new Uint32Array(10 ** PREFIX_DIGITS);
for (const [from, to, lengths] of CARD_RANGES)
  for (let prefix = Number(from.padEnd(PREFIX_DIGITS, "0")); prefix <= Number(to.padEnd(PREFIX_DIGITS, "9")); prefix++)
    for (const length of lengths) LENGTHS_BY_PREFIX[prefix]! |= 1 << length;

const hasLength = (lengths: number, length: number) => ((lengths >> length) & 1) === 1;

const ZERO = 0x30;

/** 13 to 19 digits in a card range that pass Luhn. */
export function isCardNumber(digits: string): boolean {
  const { length } = digits;
  if (length < CARD_DIGITS_MIN || length > CARD_DIGITS_MAX) return false;
  let [sum, first] = [0, 0];
  for (let index = 0; index < length; index++) {
    const digit = digits.charCodeAt(index) - ZERO;
    if (digit < 0 || digit > 9) return false;
    if (index < PREFIX_DIGITS) first = first * 10 + digit;
    if (index === PREFIX_DIGITS && !hasLength(LENGTHS_BY_PREFIX[first]!, length)) return false;
    sum += (length - index) % 2 === 1 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

// Starts at a hyphen, because hyphens are rare.
const BEHIND_UUID_START = /(?<=[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const UUID_START_CHARS = 8;
const UUID_CHARS = 36;

/** One in 30,000 random UUIDs looks like a grouped card number. */
function withoutUuids(text: string) {
  let result = "";
  let from = 0;
  for (const { index, 0: rest } of text.matchAll(BEHIND_UUID_START)) {
    const start = index - UUID_START_CHARS;
    if (start < from) continue;
    result += `${text.slice(from, start)}u`;
    from = index + rest.length;
  }
  return from === 0 ? text : result + text.slice(from);
}

/** Neither a digit nor a separator. */
const END_CODE = 0x7a;
const SEPARATORS_MAX = 3;
const SEPARATORS_TOO_MANY = SEPARATORS_MAX + 1;

/** Includes invisible characters. */
const SEPARATOR = /[\s./\u00ad\u200b-\u200d\u2010-\u2015\u2060\u2212\ufeff-]/;
const TWO_GROUPS = new RegExp(`\\d${SEPARATOR.source}{1,${SEPARATORS_MAX}}\\d`);
/** Indexed by UTF-16 code unit. */
const SEPARATOR_FLAGS = Uint8Array.from({ length: 0x10000 }, (_, code) =>
  Number(SEPARATOR.test(String.fromCharCode(code))),
);

// Ring buffers; a card number is shorter.
const DIGIT_WINDOW = 32;
const WINDOW_MASK = DIGIT_WINDOW - 1;
const windowDigits = new Uint8Array(DIGIT_WINDOW);
/**
 * For a group's first digit: the last digit of the Luhn sum of all digits before it, with the odd-numbered ones doubled. The
 * other array doubles the even-numbered ones.
 */
const luhnOddDoubled = new Uint8Array(DIGIT_WINDOW);
const luhnEvenDoubled = new Uint8Array(DIGIT_WINDOW);
/** Other digits. */
const NO_GROUP_START = 10;

function readPrefixAt(start: number) {
  let prefix = 0;
  for (let digit = start; digit < start + PREFIX_DIGITS; digit++)
    prefix = prefix * 10 + windowDigits[digit & WINDOW_MASK]!;
  return prefix;
}

/**
 * Finds one run of digits in any script, or groups with up to three separators between them. A longer number does not count, even
 * if it contains one. Walks the text once, because a body may be two megabytes of single digits.
 *
 * @param groupsMin  1 for free text; 2 for identifiers, because one in ten order numbers passes Luhn
 */
export function holdsCardNumber(text: string, groupsMin: 1 | 2): boolean {
  if (text.length < CARD_DIGITS_MIN) return false;
  if (NOT_ASCII.test(text)) return holdsAsciiCardNumber(text.replace(NON_ASCII_DIGIT, toAsciiDigit), groupsMin);
  return holdsAsciiCardNumber(text, groupsMin);
}

const NOT_ASCII = /[^\0-\x7f]/;
const NON_ASCII_DIGIT = /(?![0-9])\p{Nd}/gu;
const isDigit = /^\p{Nd}$/u;

/** Every script's digits are ten consecutive code points, from zero. */
function toAsciiDigit(digit: string): string {
  const code = digit.codePointAt(0)!;
  let before = 0;
  while (isDigit.test(String.fromCodePoint(code - before - 1))) before++;
  return String(before % 10);
}

function holdsAsciiCardNumber(text: string, groupsMin: 1 | 2): boolean {
  // Fast, and most texts have no match.
  if (!(groupsMin === 1 ? /\d/ : TWO_GROUPS).test(text)) return false;
  return scanForCardNumber(text.length < UUID_CHARS ? text : withoutUuids(text), groupsMin);
}

function scanForCardNumber(text: string, groupsMin: 1 | 2): boolean {
  let digits = 0; // in the run
  let groupStart = 0; // number of the group's first digit
  let separators = SEPARATORS_TOO_MANY; // since the last digit
  let odd = 0;
  let even = 0;
  for (let index = 0; index <= text.length; index++) {
    const code = index < text.length ? text.charCodeAt(index) : END_CODE;
    const digit = code - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (separators > 0) {
        if (separators > SEPARATORS_MAX) digits = odd = even = 0;
        separators = 0;
        groupStart = digits;
        luhnOddDoubled[digits & WINDOW_MASK] = odd;
        luhnEvenDoubled[digits & WINDOW_MASK] = even;
      } else luhnOddDoubled[digits & WINDOW_MASK] = luhnEvenDoubled[digits & WINDOW_MASK] = NO_GROUP_START;
      windowDigits[digits & WINDOW_MASK] = digit;
      const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
      odd += (digits & 1) === 1 ? doubled : digit;
      if (odd >= 10) odd -= 10;
      even += (digits & 1) === 1 ? digit : doubled;
      if (even >= 10) even -= 10;
      digits++;
      continue;
    }
    if (separators === 0 && digits >= CARD_DIGITS_MIN) {
      // Luhn doubles every second digit from the end.
      const isOdd = (digits & 1) === 1;
      const sum = isOdd ? odd : even;
      const sums = isOdd ? luhnOddDoubled : luhnEvenDoubled;
      const shortest = Math.max(CARD_DIGITS_MIN, digits - groupStart + (groupsMin - 1));
      const longest = Math.min(CARD_DIGITS_MAX, digits);
      for (let length = shortest; length <= longest; length++) {
        const start = digits - length;
        // A group starts there, and the digits from there on pass Luhn.
        if (sums[start & WINDOW_MASK] === sum && hasLength(LENGTHS_BY_PREFIX[readPrefixAt(start)]!, length))
          return true;
      }
    }
    separators = SEPARATOR_FLAGS[code] === 1 ? separators + 1 : SEPARATORS_TOO_MANY;
  }
  return false;
}
