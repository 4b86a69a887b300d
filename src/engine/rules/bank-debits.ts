import { DAY_MS } from "../../domain/durations.ts";
import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { SOURCES, type Source } from "./sources.ts";

export interface BankDebit {
  name: string;
  representable: ReadonlySet<string>;
  /**
   * Codes after which Dunlin neither debits nor asks the customer again, and why. Other codes: the account may not be debited as
   * it is.
   */
  ended: ReadonlyMap<string, string>;
  /** Recognizes the scheme's codes in a gateway's field. */
  shape: RegExp;
  /** Including the first. */
  presentationsMax: number;
  withinMs: number;
  /** Completes "SEPA allows …". */
  words: string;
  source: Source;
}

/**
 * Returns the `words` of a debit.
 *
 * @param most  including the first
 * @param period  from the first presentation
 * @param codes  after which the debit may be presented again
 */
export const describePresentations = (most: number, period: string, codes: readonly string[]) =>
  Number.isFinite(most)
    ? `at most ${most} ${most === 1 ? "presentation" : "presentations"} within ${period} of the first, and a new one only after ${codes.join(" or ")}`
    : `new presentations only within ${period} of the first, and only after ${codes.join(" or ")}`;

const DIED_WORDING = "the account's holder has died";
const DENIED_WORDING = "the customer told the bank that the debit was not authorized";

/** @see docs/sources.md#sepa-returns, #ach-returns, #bacs-returns, and for `ended` #debits-without-consent */
const debitByScheme = new Map<string, BankDebit>([
  [
    "sepa_debit",
    {
      name: "SEPA",
      representable: new Set(["AM04", "MS03"]),
      ended: new Map([
        ["MD01", "there is no valid mandate"],
        ["MD07", DIED_WORDING],
      ]),
      shape: /^[A-Z]{2}\d\d$/,
      presentationsMax: 3,
      withinMs: 42 * DAY_MS,
      words: describePresentations(3, "42 days", ["AM04", "MS03"]),
      source: SOURCES.sepa,
    },
  ],
  [
    "ach_debit",
    {
      name: "ACH",
      representable: new Set(["R01", "R09"]),
      ended: new Map([
        ["R05", DENIED_WORDING],
        ["R07", "the customer revoked the authorization"],
        ["R08", "the customer stopped this payment"],
        ["R10", DENIED_WORDING],
        ["R14", DIED_WORDING],
        ["R15", DIED_WORDING],
        ["R29", DENIED_WORDING],
      ]),
      shape: /^R\d\d$/,
      presentationsMax: 3,
      withinMs: 180 * DAY_MS,
      words: describePresentations(3, "180 days", ["R01", "R09"]),
      source: SOURCES.ach,
    },
  ],
  [
    "bacs_debit",
    {
      name: "Bacs",
      representable: new Set(["0"]),
      ended: new Map([
        ["1", "the customer canceled the instruction"],
        ["2", DIED_WORDING],
      ]),
      shape: /^[0-9A-Z]$/,
      presentationsMax: Number.POSITIVE_INFINITY,
      // "Within one month of the original day": no month is shorter than 28 days.
      withinMs: 28 * DAY_MS,
      words: describePresentations(Number.POSITIVE_INFINITY, "one month", ["reason 0"]),
      source: SOURCES.bacs,
    },
  ],
]);
export const BANK_DEBITS: ReadonlyMap<string, BankDebit> = debitByScheme;

/** Any gateway's spelling; undefined if it is no bank debit, or has no rules. */
export const findBankDebit = (paymentMethodType: string | null | undefined): BankDebit | undefined =>
  paymentMethodType ? debitByScheme.get(paymentSchemeOf(paymentMethodType)) : undefined;

/**
 * For the whole process.
 *
 * @see rule-overrides.ts
 */
export const setBankDebit = (type: string, debit: BankDebit) => debitByScheme.set(type, debit);

/** "AM04 Insufficient funds". A Bacs code requires a separator, as a single letter may be a word: "0 : Refer to payer". */
const CODE_WITH_WORDS = /^(?:([A-Z]{1,2}\d\d)\b|([0-9A-Z])(?:\s*:|\s+-\s)).*/s;

/** Takes "ARUDD-0" (GoCardless), "MD01 : No mandate" (Adyen). */
export const normalizeSchemeCode = (code: string) =>
  code
    .trim()
    .toUpperCase()
    .replace(/^ARUDD-/, "")
    .replace(CODE_WITH_WORDS, "$1$2");

export const returnCodeGroup = (debit: BankDebit, code: string): DeclineGroup =>
  debit.representable.has(code) ? "FUNDS" : debit.ended.has(code) ? "REVOKED" : "HARD_CARD";
