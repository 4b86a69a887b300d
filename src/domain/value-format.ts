import { isCurrencySign, minorDigitsOf } from "./currency.ts";
import type { DateOrder } from "./date-format.ts";
import { TRANSACTION_STATE_SYNONYMS, TRANSACTION_STATES, type TransactionState } from "./transaction.ts";

/** Words of databases, spreadsheets and programs for a value that is not there. Namibia's NA is none of them. */
const ABSENT_WORD = /^(?:null|\\n|#?n\/a|none|nan|nil|undefined)$/i;

/** Whether a cell says that it has no value, in a word. */
export const isAbsentWord = (cell: string): boolean => cell.length <= 9 && ABSENT_WORD.test(cell);

/** What stands before the decimals of an amount. */
export const DECIMAL_MARKS = ["point", "comma"] as const;

/** How a file writes what can be read in several ways. Null: nobody said it, and only what can be read in one way is read. */
export interface ValueFormat {
  dates: DateOrder | null;
  /** Null: amounts are whole minor units. Else they are major units. */
  decimals: (typeof DECIMAL_MARKS)[number] | null;
}

/** Behind a point, India's groups of two as well: `1,23,456.50` can only be 123456.50. */
const GROUPED_AMOUNT = {
  point: /^(\d+|[1-9]\d{0,2}([,'’\s])\d{3}(?:\2\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d+))?$/,
  comma: /^(\d+|[1-9]\d{0,2}([.'’\s])\d{3}(?:\2\d{3})*)(?:,(\d+))?$/,
};

/** What stands before and behind the digits of an amount. */
const AMOUNT_PARTS = /^(\D*)(\d(?:.*\d)?)(\D*)$/s;

/** The digits of an amount, with what is between them, and the signs beside them: none, or as a rule one. */
function splitAmount(amount: string): { digits: string; signs: string[] } {
  const [, before = "", digits = "", behind = ""] = AMOUNT_PARTS.exec(amount) ?? [];
  return { digits, signs: [before, behind].map((sign) => sign.trim()).filter((sign) => sign !== "") };
}

/**
 * An amount as a whole number of minor units; what can't be read stays as it is, and is none. Beside major units the sign or the code of the currency may stand: who writes it beside minor
 * ones is hardly meant to be read as that.
 */
export function toMinorUnitsText(text: string, currency: string, decimals: ValueFormat["decimals"]): string {
  const amount = text.trim();
  if (decimals === null) return amount;
  const { digits: written, signs } = splitAmount(amount);
  const [, whole, group = "", fraction = ""] = GROUPED_AMOUNT[decimals].exec(written) ?? [];
  const digits = minorDigitsOf(currency);
  // 1,234 KWD may be 1234 dinars, or 1234 fils where decimals stand behind commas after all.
  const isEither = /[.,]/.test(group) && fraction === "" && digits > 2;
  const isOther = signs.some((sign) => !isCurrencySign(sign, currency));
  if (whole === undefined || fraction.length > digits || isEither || isOther) return `"${amount}"`;
  return (whole.replace(/\D/g, "") + fraction.padEnd(digits, "0")).replace(/^0+(?=\d)/, "");
}

/** `Partially refunded` is PARTIALLY_REFUNDED, and so it is behind a prefix. What has no letters stays as it is: + and -, ✓ and ✗ are two words. */
export function toUpperSnakeCase(word: string, prefix = ""): string {
  const upper = word.trim().toUpperCase();
  const written = /\p{L}/u.test(upper) ? upper.replace(/[^\p{L}\p{M}\p{N}\p{So}]+/gu, "_") : upper;
  return written.startsWith(prefix) ? written.slice(prefix.length) : written;
}

/** A word for a state as it is compared, without the prefix that the API writes. */
export const normalizeStateWord = (word: string) =>
  toUpperSnakeCase(word).replace(/^(?:SUBSCRIPTION|INVOICE|TRANSACTION)_STATE_/, "");

/** `SEPA Debit` is sepa_debit. */
export const toLowerSnakeCase = (word: string) =>
  word
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/** Whether a text of a file may be shown in a message: a word may, and no number of a card or an account that stands where a word should, in groups or in one. */
export const isSafeToShow = (word: string) =>
  /^[\p{L}\p{M}\p{N}\p{So}_]{1,40}$/u.test(word) && !/(?:\p{N}_*){5}/u.test(word);

/** How somebody says what a word for a state means, for messages. */
export const describeStateRule = (states: readonly string[], word: string) =>
  `must be one of ${states.join(", ")}; --states ${isSafeToShow(word) ? word : "WORD"}=STATE says which of them the word means`;

const STATES_BY_WORD = new Map(
  TRANSACTION_STATES.flatMap((state) =>
    [state, ...TRANSACTION_STATE_SYNONYMS[state]].map((word) => [word as string, state] as const),
  ),
);

/** The state that a word for it means, if it means one wherever it is used. */
export const parseTransactionState = (word: string): TransactionState | undefined =>
  STATES_BY_WORD.get(toUpperSnakeCase(word, "TRANSACTION_STATE_"));

const AMOUNT_EXAMPLES = { point: ["1,234.50", "1,234"], comma: ["1.234,50", "1.234"] };

/** A sign or a code, and nothing of a text that stands where an amount should. */
const CURRENCY_SIGN = /^(?:\p{L}{0,3}\p{Sc}|\p{L}{1,3}\.?)$/u;

/**
 * What an amount must be, for messages.
 *
 * @param written  null: of JSON, for which there is no option
 * @param amount  that it is, and the currency of its record
 */
export function describeAmountRule(written: ValueFormat | null, amount = "", currency = ""): string {
  const decimals = written?.decimals ?? null;
  const other = splitAmount(amount).signs.find((sign) => CURRENCY_SIGN.test(sign) && !isCurrencySign(sign, currency));
  if (decimals !== null && other !== undefined && /^[A-Z]{3}$/.test(currency))
    return `has the sign ${other}, and its currency is ${currency}`;
  if (decimals !== null)
    return `must be an amount from 0, such as ${AMOUNT_EXAMPLES[decimals][0]} (--decimals ${decimals}), with no sign but its currency's, and with no more decimals than its currency has; in one that has three, ${AMOUNT_EXAMPLES[decimals][1]} could be either and is not read`;
  const says = "must be a whole number of minor units from 0, such as 4900 for EUR 49.00";
  return written ? `${says}; amounts with decimals are read with --decimals point or comma` : says;
}
