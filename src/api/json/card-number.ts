// The card ranges: first digits from, to, and the lengths in use.
const LONG = [14, 15, 16, 17, 18, 19];
const RANGES: readonly (readonly [from: string, to: string, lengths: readonly number[]])[] = [
  ["2200", "2205", [16, 17, 18, 19]], // Mir
  ["2221", "2720", [16]], // Mastercard
  ["300", "305", LONG], // Diners Club
  ["309", "309", LONG],
  ["34", "34", [15]], // American Express
  ["3528", "3589", [16, 17, 18, 19]], // JCB
  ["36", "36", LONG], // Diners Club
  ["37", "37", [15]], // American Express
  ["38", "39", LONG], // Diners Club
  ["4", "4", [13, 16, 18, 19]], // Visa
  ["50", "50", [13, ...LONG]], // Maestro, Verve, RuPay
  ["51", "55", [16]], // Mastercard
  ["56", "58", [13, ...LONG]], // Maestro
  ["60", "60", [13, ...LONG]], // Discover, RuPay, Maestro
  ["62", "62", LONG], // UnionPay
  ["63", "63", [13, ...LONG]], // Maestro
  ["64", "65", [16, 17, 18, 19]], // Discover
  ["67", "67", [13, ...LONG]], // Maestro
  ["81", "82", [16, 17, 18, 19]], // UnionPay, RuPay
  ["9792", "9792", [16]], // Troy
];

const SHORTEST = 13;
const LONGEST = 19;
const PREFIX = 4;

/** For each four first digits the lengths that a card number may have, as a set of bits. */
const LENGTHS = new Uint32Array(10 ** PREFIX);
for (const [from, to, lengths] of RANGES)
  for (let prefix = Number(from.padEnd(PREFIX, "0")); prefix <= Number(to.padEnd(PREFIX, "9")); prefix++)
    for (const length of lengths) LENGTHS[prefix]! |= 1 << length;

const hasLength = (lengths: number, length: number) => ((lengths >> length) & 1) === 1;

const ZERO = 0x30;

/** Whether these digits, and nothing but digits, are a card number: 13 to 19 of them, in a card range, passing Luhn. */
export function isCardNumber(digits: string): boolean {
  const { length } = digits;
  if (length < SHORTEST || length > LONGEST) return false;
  let [sum, first] = [0, 0];
  for (let index = 0; index < length; index++) {
    const digit = digits.charCodeAt(index) - ZERO;
    if (digit < 0 || digit > 9) return false;
    if (index < PREFIX) first = first * 10 + digit;
    if (index === PREFIX && !hasLength(LENGTHS[first]!, length)) return false;
    sum += (length - index) % 2 === 1 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

// Begins at a hyphen, of which texts have few: a search for the whole would try eight characters at each place.
const BEHIND_UUID_START = /(?<=[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const UUID_START_CHARS = 8;
const UUID_CHARS = 36;

/** One random UUID in 30,000 would pass for a grouped card number by chance. */
function withoutUuids(text: string) {
  let kept = "";
  let from = 0;
  for (const { index, 0: rest } of text.matchAll(BEHIND_UUID_START)) {
    const start = index - UUID_START_CHARS;
    if (start < from) continue;
    kept += `${text.slice(from, start)}u`;
    from = index + rest.length;
  }
  return from === 0 ? text : kept + text.slice(from);
}

/** Behind the last character: neither a digit nor a separator. */
const END = 0x7a;
const SEPARATORS_MAX = 3;
const MANY = SEPARATORS_MAX + 1;

/** Spaces, hyphens, dots and slashes, and what nobody sees: of no width, or a hyphen where a line may end. */
const SEPARATOR = /[\s./\u00ad\u200b-\u200d\u2010-\u2015\u2060\u2212\ufeff-]/;
const TWO_GROUPS = new RegExp(`\\d${SEPARATOR.source}{1,${SEPARATORS_MAX}}\\d`);
/** 1 for those up to \uffff that set groups of digits apart. */
const separates = Uint8Array.from({ length: 0x10000 }, (_, code) => Number(SEPARATOR.test(String.fromCharCode(code))));

// What is remembered of the last 32 digits of a run, by their number in it: more than a card number has.
const WINDOW = 32;
const LAST = WINDOW - 1;
const values = new Uint8Array(WINDOW);
/** Of a digit that begins a group: the last digit of Luhn's sum of all digits before it, those with an odd number doubled; and the other way round. */
const oddDoubled = new Uint8Array(WINDOW);
const evenDoubled = new Uint8Array(WINDOW);
/** Of a digit that does not. */
const NONE = 10;

function prefixAt(start: number) {
  let prefix = 0;
  for (let digit = start; digit < start + PREFIX; digit++) prefix = prefix * 10 + values[digit & LAST]!;
  return prefix;
}

/**
 * Whether a card number stands in this text. It may be one run of digits, or groups with up to three spaces, hyphens, dots, slashes or characters of no width
 * between them. Digits may be of any script. It must begin and end where a group does, so a longer number that contains one by chance is none.
 *
 * One walk over the text: a body may be two megabytes of single digits.
 *
 * @param groupsMin  1 for free text; 2 for identifiers, where plain digits are fine: one in ten order numbers passes Luhn
 */
export function holdsCardNumber(text: string, groupsMin: 1 | 2): boolean {
  if (text.length < SHORTEST) return false;
  if (NOT_ASCII.test(text)) return holdsPlainly(text.replace(OTHER_DIGIT, plainDigit), groupsMin);
  return holdsPlainly(text, groupsMin);
}

const NOT_ASCII = /[^\0-\x7f]/;
const OTHER_DIGIT = /(?![0-9])\p{Nd}/gu;
const isDigit = /^\p{Nd}$/u;

/** The digits of a script follow each other, zero first; where scripts follow each other, too, each has ten. */
function plainDigit(digit: string): string {
  const code = digit.codePointAt(0)!;
  let before = 0;
  while (isDigit.test(String.fromCodePoint(code - before - 1))) before++;
  return String(before % 10);
}

function holdsPlainly(text: string, groupsMin: 1 | 2): boolean {
  // Most texts have none, and this search is several times quicker than the walk.
  if (!(groupsMin === 1 ? /\d/ : TWO_GROUPS).test(text)) return false;
  return isIn(text.length < UUID_CHARS ? text : withoutUuids(text), groupsMin);
}

function isIn(text: string, groupsMin: 1 | 2): boolean {
  let digits = 0; // of the run
  let groupStart = 0; // the number of the group's first digit
  let separators = MANY; // since the last digit
  let odd = 0;
  let even = 0;
  for (let index = 0; index <= text.length; index++) {
    const code = index < text.length ? text.charCodeAt(index) : END;
    const digit = code - ZERO;
    if (digit >= 0 && digit <= 9) {
      if (separators > 0) {
        if (separators > SEPARATORS_MAX) digits = odd = even = 0;
        separators = 0;
        groupStart = digits;
        oddDoubled[digits & LAST] = odd;
        evenDoubled[digits & LAST] = even;
      } else oddDoubled[digits & LAST] = evenDoubled[digits & LAST] = NONE;
      values[digits & LAST] = digit;
      const doubled = digit > 4 ? digit * 2 - 9 : digit * 2;
      odd += (digits & 1) === 1 ? doubled : digit;
      if (odd >= 10) odd -= 10;
      even += (digits & 1) === 1 ? digit : doubled;
      if (even >= 10) even -= 10;
      digits++;
      continue;
    }
    if (separators === 0 && digits >= SHORTEST) {
      // The last digit counts as it is, every second one before it doubled.
      const isOdd = (digits & 1) === 1;
      const sum = isOdd ? odd : even;
      const sums = isOdd ? oddDoubled : evenDoubled;
      const shortest = Math.max(SHORTEST, digits - groupStart + (groupsMin - 1));
      const longest = Math.min(LONGEST, digits);
      for (let length = shortest; length <= longest; length++) {
        const start = digits - length;
        // Else no group begins there, or the digits from there on have a sum that does not end in 0.
        if (sums[start & LAST] === sum && hasLength(LENGTHS[prefixAt(start)]!, length)) return true;
      }
    }
    separators = separates[code] === 1 ? separators + 1 : MANY;
  }
  return false;
}
