import { DAY_MS } from "../../domain/durations.ts";
import { paymentSchemeOf } from "../../domain/payment-schemes.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { SOURCES, type Source } from "./sources.ts";

/** How a returned bank debit may be presented again. */
export interface BankDebit {
  name: string;
  /** Return codes after which the same debit may be presented again. */
  representable: ReadonlySet<string>;
  /** Codes after which nothing is debited or asked for any more, and why; any other code means that the account may not be debited as it is. */
  ended: ReadonlyMap<string, string>;
  /** The shape of the scheme's codes, to recognise one in a gateway's error field. */
  shape: RegExp;
  /** Presentations in all, the first one included. */
  presentationsMax: number;
  /** Counted from the first presentation. */
  withinMs: number;
  words: string;
  source: Source;
}

const DIED_WORDING = "the account's holder has died";
const DENIED_WORDING = "the customer told the bank that the debit was not authorized";

/** @see docs/sources.md#sepa-returns, #ach-returns, #bacs-returns, and of the codes that end all #debits-without-consent */
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
      words: "2 more attempts within 42 days, and only after AM04 or MS03",
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
      words: "2 more attempts within 180 days, and only after R01 or R09",
      source: SOURCES.ach,
    },
  ],
  [
    "bacs_debit",
    {
      name: "Bacs",
      representable: new Set(["0"]),
      ended: new Map([
        ["1", "the customer cancelled the instruction"],
        ["2", DIED_WORDING],
      ]),
      shape: /^[0-9A-Z]$/,
      presentationsMax: Number.POSITIVE_INFINITY,
      // "Within one month of the original day": no month is shorter than this.
      withinMs: 28 * DAY_MS,
      words: "attempts within one month, and only after reason 0",
      source: SOURCES.bacs,
    },
  ],
]);
export const BANK_DEBITS: ReadonlyMap<string, BankDebit> = debitByScheme;

/** The rules of a way of paying, under whatever name its gateway has for it; undefined: it is no bank debit, or of a scheme whose rules are not known. */
export const findBankDebit = (paymentMethodType: string | null | undefined): BankDebit | undefined =>
  paymentMethodType ? debitByScheme.get(paymentSchemeOf(paymentMethodType)) : undefined;

/** From now on a kind of debit has these rules, in the whole process. @see override.ts */
export const setBankDebit = (type: string, debit: BankDebit) => debitByScheme.set(type, debit);

/** A code that words follow: "AM04 Insufficient funds"; one of Bacs only where a sign parts them, as a letter alone may be a word: "0 : Refer to payer". */
const CODE_WITH_WORDS = /^(?:([A-Z]{1,2}\d\d)\b|([0-9A-Z])(?:\s*:|\s+-\s)).*/s;

/** Of a code as gateways write it, GoCardless "ARUDD-0" and Adyen "MD01 : No mandate", what the scheme writes. */
export const normalizeSchemeCode = (code: string) =>
  code
    .trim()
    .toUpperCase()
    .replace(/^ARUDD-/, "")
    .replace(CODE_WITH_WORDS, "$1$2");

/** The group of a bank's return code. */
export const returnCodeGroup = (debit: BankDebit, code: string): DeclineGroup =>
  debit.representable.has(code) ? "FUNDS" : debit.ended.has(code) ? "REVOKED" : "HARD_CARD";
