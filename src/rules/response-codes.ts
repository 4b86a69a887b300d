import type { DeclineGroup } from "./decline-groups.ts";

/** What Visa says about trying again after a response code: 1 never, 2 later, 3 after the data is corrected, 4 as 2. */
export type VisaCategory = 1 | 2 | 3 | 4;

export interface ResponseCode {
  category: VisaCategory;
  group: DeclineGroup;
  /** Completes "The bank declined: …". */
  words: string;
}

const row = (category: VisaCategory, group: DeclineGroup, words: string): ResponseCode => ({ category, group, words });

/**
 * ISO 8583 response codes of card declines, as Visa puts them in categories.
 *
 * A code the group table does not name takes the mildest group that keeps its category's rule: 1 HARD_CARD,
 * 2 GENERIC, 3 INVALID_DATA. 14 is counted by Visa in categories 1 and 3 and may not be tried again, hence 1 here.
 *
 * @see docs/sources.md#visa-decline-categories and #decline-groups
 */
export const RESPONSE_CODES: ReadonlyMap<string, ResponseCode> = new Map([
  ["04", row(1, "HARD_CARD", "the card is to be picked up")],
  ["07", row(1, "HARD_CARD", "the card is to be picked up")],
  ["12", row(1, "HARD_CARD", "this kind of payment is not valid on the card")],
  ["14", row(1, "INVALID_DATA", "there is no such card number")],
  ["15", row(1, "HARD_CARD", "there is no such card issuer")],
  ["41", row(1, "HARD_CARD", "the card was reported lost")],
  ["43", row(1, "HARD_CARD", "the card was reported stolen")],
  ["46", row(1, "HARD_CARD", "the account is closed")],
  ["57", row(1, "HARD_CARD", "the card does not allow this kind of payment")],
  ["R0", row(1, "REVOKED", "the customer stopped this payment")],
  ["R1", row(1, "REVOKED", "the customer revoked the authorization")],
  ["R3", row(1, "REVOKED", "the customer revoked all authorizations")],

  ["03", row(2, "GENERIC", "the merchant was not accepted")],
  ["19", row(2, "ISSUER_DOWN", "the payment should be entered again")],
  ["39", row(2, "GENERIC", "there is no credit account")],
  ["51", row(2, "FUNDS", "there was not enough money")],
  ["52", row(2, "GENERIC", "there is no current account")],
  ["53", row(2, "GENERIC", "there is no savings account")],
  ["59", row(2, "GENERIC", "the payment looked unusual")],
  ["61", row(2, "LIMIT", "the amount limit was reached")],
  ["62", row(2, "GENERIC", "the card is restricted")],
  ["65", row(2, "LIMIT", "the limit of payments was reached")],
  ["75", row(2, "GENERIC", "the PIN was tried too often")],
  ["78", row(2, "GENERIC", "the card is blocked or not used yet")],
  ["86", row(2, "GENERIC", "the PIN could not be checked")],
  ["91", row(2, "ISSUER_DOWN", "the bank could not be reached")],
  ["93", row(2, "GENERIC", "the payment cannot be completed")],
  ["96", row(2, "ISSUER_DOWN", "the bank's system had a fault")],
  ["N3", row(2, "GENERIC", "the service is not available")],
  ["N4", row(2, "LIMIT", "the amount limit was reached")],
  ["Z5", row(2, "GENERIC", "the bank cannot approve it now")],
  ["5C", row(2, "GENERIC", "the bank does not support the payment")],
  ["9G", row(2, "GENERIC", "the cardholder blocked such payments")],

  ["54", row(3, "EXPIRED", "the card has expired")],
  ["55", row(3, "INVALID_DATA", "the PIN is wrong")],
  ["63", row(3, "GENERIC", "the security check failed")],
  ["82", row(3, "INVALID_DATA", "the card check value is wrong")],
  ["1A", row(3, "AUTH_REQUIRED", "the bank wants the customer to confirm")],
  ["6P", row(3, "INVALID_DATA", "the customer's data could not be confirmed")],
  ["N7", row(3, "INVALID_DATA", "the card check value is wrong")],

  ["05", row(4, "GENERIC", "the bank gave no reason")],
]);

const BY_CODE = new Map(RESPONSE_CODES);
/** Codes that mean something else on a Mastercard: 82, with an advice code, is "policy" there. */
const ON_MASTERCARD = new Map([["82", row(4, "GENERIC", "the bank's policy refused it")]]);

/**
 * From now on a response code means this, in the whole process.
 *
 * @param everywhere  on a Mastercard, too, if the code has another meaning there
 * @see override.ts
 */
export function setResponseCode(code: string, meaning: ResponseCode, everywhere: boolean) {
  BY_CODE.set(normalCode(code), meaning);
  if (everywhere) ON_MASTERCARD.delete(normalCode(code));
}

/** The code as the table writes it: upper case, two characters. */
const normalCode = (code: string) => code.trim().toUpperCase().padStart(2, "0");

/** Where strong customer authentication is law, so that 65 may mean that it is missing: the EEA, and the United Kingdom, which kept the law. */
const STRONG_AUTHENTICATION = new Set(
  "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK ES GB".split(" "),
);

/**
 * What a card network's response code says.
 *
 * @param network  name of the network
 * @returns null for a code of no table; such a code is of Visa category 4
 */
export function responseCode(code: string, network: string): ResponseCode | null {
  const normal = normalCode(code);
  return (network === "Mastercard" && ON_MASTERCARD.get(normal)) || (BY_CODE.get(normal) ?? null);
}

/**
 * Whether a code may mean that the customer has to confirm as well as what its row says: 65 does in the EEA and the United Kingdom, where Visa has 1A for it. Only
 * what follows tells: a limit passes, the other does not.
 */
export const mayWantCustomer = (code: string, network: string, country: string | null): boolean =>
  network !== "Visa" && normalCode(code) === "65" && country !== null && STRONG_AUTHENTICATION.has(country);
