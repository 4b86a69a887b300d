import { DAY_MS } from "../domain/durations.ts";
import { schemeOf } from "../domain/schemes.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { SOURCES, type Source } from "./sources.ts";

/** How a returned bank debit may be presented again. */
export interface BankDebit {
  name: string;
  /** Return codes after which the same debit may be presented again. */
  representable: ReadonlySet<string>;
  /** Codes with a group of their own; any other code means that the account may not be debited as it is. */
  groups: ReadonlyMap<string, DeclineGroup>;
  /** The shape of the scheme's codes, to recognise one in a gateway's error field. */
  shape: RegExp;
  /** Presentations in all, the first one included. */
  presentationsMax: number;
  /** Counted from the first presentation. */
  withinMs: number;
  words: string;
  source: Source;
}

/** @see docs/sources.md#sepa-returns, #ach-returns, #bacs-returns */
const DEBITS = new Map<string, BankDebit>([
  [
    "sepa_debit",
    {
      name: "SEPA",
      representable: new Set(["AM04", "MS03"]),
      groups: new Map(),
      shape: /^[A-Z]{2}\d\d$/,
      presentationsMax: 3,
      withinMs: 42 * DAY_MS,
      words: "2 more tries within 42 days, and only after AM04 or MS03",
      source: SOURCES.sepa,
    },
  ],
  [
    "ach_debit",
    {
      name: "ACH",
      representable: new Set(["R01", "R09"]),
      groups: new Map<string, DeclineGroup>([["R07", "REVOKED"]]),
      shape: /^R\d\d$/,
      presentationsMax: 3,
      withinMs: 180 * DAY_MS,
      words: "2 more tries within 180 days, and only after R01 or R09",
      source: SOURCES.ach,
    },
  ],
  [
    "bacs_debit",
    {
      name: "Bacs",
      representable: new Set(["0"]),
      groups: new Map(),
      shape: /^[0-9A-Z]$/,
      presentationsMax: Number.POSITIVE_INFINITY,
      // "Within one month of the original day": no month is shorter than this.
      withinMs: 28 * DAY_MS,
      words: "tries within one month, and only after reason 0",
      source: SOURCES.bacs,
    },
  ],
]);
export const BANK_DEBITS: ReadonlyMap<string, BankDebit> = DEBITS;

/** The rules of a way of paying, under whatever name its gateway has for it; undefined: it is no bank debit, or of a scheme whose rules are not known. */
export const bankDebit = (paymentMethodType: string | null | undefined): BankDebit | undefined =>
  paymentMethodType ? DEBITS.get(schemeOf(paymentMethodType)) : undefined;

/** From now on a kind of debit has these rules, in the whole process. @see override.ts */
export const setBankDebit = (type: string, debit: BankDebit) => DEBITS.set(type, debit);

/** The group of a bank's return code. */
export const bankCodeGroup = (debit: BankDebit, code: string): DeclineGroup =>
  debit.representable.has(code) ? "FUNDS" : (debit.groups.get(code) ?? "HARD_CARD");
