import { isCurrencySign, minorDigitsOf } from "./currency.ts";
import type { DateOrder } from "./date-format.ts";
import { TRANSACTION_STATE_SYNONYMS, TRANSACTION_STATES, type TransactionState } from "./transaction.ts";

/** NA is Namibia. */
const ABSENT_WORD = /^(?:null|\\n|#?n\/a|none|nan|nil|undefined)$/i;

export const isAbsentWord = (cell: string): boolean => cell.length <= 9 && ABSENT_WORD.test(cell);

export const DECIMAL_MARKS = ["point", "comma"] as const;

/** Null: only unambiguous values. */
export interface ValueFormat {
  dates: DateOrder | null;
  /** Null: whole minor units; otherwise major. */
  decimals: (typeof DECIMAL_MARKS)[number] | null;
}

/** A point allows India's groups of two as well: `1,23,456.50`. */
const GROUPED_AMOUNT = {
  point: /^(\d+|[1-9]\d{0,2}([,'’\s])\d{3}(?:\2\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d+))?$/,
  comma: /^(\d+|[1-9]\d{0,2}([.'’\s])\d{3}(?:\2\d{3})*)(?:,(\d+))?$/,
};

const AMOUNT_PARTS = /^(\D*)(\d(?:.*\d)?)(\D*)$/s;

/** `digits` with separators. */
function splitAmount(amount: string): { digits: string; signs: string[] } {
  const [, before = "", digits = "", behind = ""] = AMOUNT_PARTS.exec(amount) ?? [];
  return { digits, signs: [before, behind].map((sign) => sign.trim()).filter((sign) => sign !== "") };
}

/**
 * Returns other text if the amount is invalid. Accepts the currency's sign or code beside major units only, because beside minor
 * units it is probably a mistake.
 */
export function toMinorUnitsText(text: string, currency: string, decimals: ValueFormat["decimals"]): string {
  const amount = text.trim();
  if (decimals === null) return amount;
  const { digits: written, signs } = splitAmount(amount);
  const [, whole, group = "", fraction = ""] = GROUPED_AMOUNT[decimals].exec(written) ?? [];
  const digits = minorDigitsOf(currency);
  // 1,234 KWD may be 1234 dinars, or 1234 fils with a decimal comma.
  const isAmbiguous = /[.,]/.test(group) && fraction === "" && digits > 2;
  const hasOtherCurrency = signs.some((sign) => !isCurrencySign(sign, currency));
  if (whole === undefined || fraction.length > digits || isAmbiguous || hasOtherCurrency) return `"${amount}"`;
  return (whole.replace(/\D/g, "") + fraction.padEnd(digits, "0")).replace(/^0+(?=\d)/, "");
}

/**
 * `Partially refunded` becomes PARTIALLY_REFUNDED. Text without letters stays, because + and -, or ✓ and ✗, mean different
 * things.
 */
export function toUpperSnakeCase(word: string, prefix = ""): string {
  const upper = word.trim().toUpperCase();
  const written = /\p{L}/u.test(upper) ? upper.replace(/[^\p{L}\p{M}\p{N}\p{So}]+/gu, "_") : upper;
  return written.startsWith(prefix) ? written.slice(prefix.length) : written;
}

/** Also without the API's prefix. */
export const normalizeStateWord = (word: string) =>
  toUpperSnakeCase(word).replace(/^(?:SUBSCRIPTION|INVOICE|TRANSACTION)_STATE_/, "");

/** Turns `SEPA Debit` into sepa_debit. */
export const toLowerSnakeCase = (word: string) =>
  word
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/** For errors. Digits could be a card or account number. */
export const isSafeToShow = (word: string) =>
  /^[\p{L}\p{M}\p{N}\p{So}_]{1,40}$/u.test(word) && !/(?:\p{N}_*){5}/u.test(word);

export const describeStateRule = (states: readonly string[], word: string) =>
  `must be one of ${states.join(", ")}; --states ${isSafeToShow(word) ? word : "WORD"}=STATE maps the word to one of them`;

const STATES_BY_WORD = new Map(
  TRANSACTION_STATES.flatMap((state) =>
    [state, ...TRANSACTION_STATE_SYNONYMS[state]].map((word) => [word as string, state] as const),
  ),
);

/** Undefined for words that systems use differently. */
export const parseTransactionState = (word: string): TransactionState | undefined =>
  STATES_BY_WORD.get(toUpperSnakeCase(word, "TRANSACTION_STATE_"));

const AMOUNT_EXAMPLES = { point: ["1,234.50", "1,234"], comma: ["1.234,50", "1.234"] };

/** And no other text. */
const CURRENCY_SIGN = /^(?:\p{L}{0,3}\p{Sc}|\p{L}{1,3}\.?)$/u;

/**
 * @param written  null for JSON, which has no options
 * @param amount  the invalid text, and `currency` of its record
 */
export function describeAmountRule(written: ValueFormat | null, amount = "", currency = ""): string {
  const decimals = written?.decimals ?? null;
  const other = splitAmount(amount).signs.find((sign) => CURRENCY_SIGN.test(sign) && !isCurrencySign(sign, currency));
  if (decimals !== null && other !== undefined && /^[A-Z]{3}$/.test(currency))
    return `has the sign ${other}, but its currency is ${currency}`;
  if (decimals !== null)
    return `must be an amount from 0, such as ${AMOUNT_EXAMPLES[decimals][0]} (--decimals ${decimals}), with no sign other than its currency's, and no more decimals than its currency has; in a currency with three, ${AMOUNT_EXAMPLES[decimals][1]} is ambiguous`;
  const rule = "must be a whole number of minor units from 0, such as 4900 for EUR 49.00";
  return written ? `${rule}; to read amounts with decimals, use --decimals point or comma` : rule;
}
