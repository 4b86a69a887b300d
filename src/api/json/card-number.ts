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

/** Whether these digits, and nothing but digits, are a card number: 13 to 19 of them, in a card range, passing Luhn. */
export const isCardNumber = (digits: string) =>
  /^\d{13,19}$/.test(digits) && hasLength(lengthsAt(digits, 0), digits.length) && passesLuhn(digits, 0, digits.length);

const lengthsAt = (digits: string, start: number) => LENGTHS[Number(digits.slice(start, start + PREFIX))]!;
const hasLength = (lengths: number, length: number) => ((lengths >> length) & 1) === 1;

function passesLuhn(digits: string, start: number, length: number) {
  let sum = 0;
  for (let index = start + length - 1, double = false; index >= start; index--, double = !double) {
    const digit = digits.charCodeAt(index) - 48;
    sum += double ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit;
  }
  return sum % 10 === 0;
}

const SEPARATOR = "[\\s\\u2010-\\u2015\\u2212-]{1,3}";
const ENOUGH_DIGITS = new RegExp(`\\d(?:(?:${SEPARATOR})?\\d){12}`);
const RUN = new RegExp(`\\d+(?:${SEPARATOR}\\d+)*`, "g");
const DIGITS = /\d+/g;
// One random UUID in 30,000 would pass for a grouped card number by chance.
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
/**
 * Whether a card number stands in this text, as one run of digits or in groups set apart by spaces or hyphens. It must begin
 * and end where a group does, so a longer number that contains one by chance is none.
 *
 * @param groupsMin  1 for free text; 2 for identifiers, where plain digits are fine: one in ten order numbers passes Luhn
 */
export function holdsCardNumber(text: string, groupsMin: 1 | 2): boolean {
  if (text.length < SHORTEST || !ENOUGH_DIGITS.test(text)) return false;
  for (const [run] of text.replace(UUID, "u").matchAll(RUN))
    if (run.length >= SHORTEST && runHoldsCard(run.match(DIGITS)!, groupsMin)) return true;
  return false;
}

// A body may be two megabytes of single digits: this must not look at anything twice without need.
function runHoldsCard(groups: readonly string[], groupsMin: number) {
  const digits = groups.join("");
  let start = 0;
  for (let first = 0; first < groups.length && start + SHORTEST <= digits.length; first++) {
    const lengths = lengthsAt(digits, start);
    let length = 0;
    for (let last = first; lengths !== 0 && last < groups.length; last++) {
      length += groups[last]!.length;
      if (length > LONGEST) break;
      if (last - first + 1 >= groupsMin && hasLength(lengths, length) && passesLuhn(digits, start, length)) return true;
    }
    start += groups[first]!.length;
  }
  return false;
}
