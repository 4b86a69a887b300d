import type { DeclineGroup } from "./decline-groups.ts";
import { SOURCES, type Source } from "./sources.ts";

/** Visa's rule for a retry: 1 never, 2 later, 3 after the data is corrected, 4 as 2. */
export type VisaCategory = 1 | 2 | 3 | 4;

export interface ResponseCode {
  category: VisaCategory;
  group: DeclineGroup;
  /** Completes "The bank declined: …". */
  words: string;
  /** Of its category; without one, of its meaning. */
  source: Source;
}

const defineCode = (
  category: VisaCategory,
  group: DeclineGroup,
  words: string,
  source: Source = SOURCES.visaCategories,
): ResponseCode => ({ category, group, words, source });

/** No available list of categories contains it, hence category 4. */
const defineUnlistedCode = (group: DeclineGroup, words: string) => defineCode(4, group, words, SOURCES.responseCodes);

/**
 * ISO 8583 response codes of card declines, in Visa's categories.
 *
 * A code that the group table lacks gets the mildest group that keeps its category's rule: 1 HARD_CARD, 2 GENERIC, 3
 * INVALID_DATA. Visa lists 14 in categories 1 and 3 and forbids a retry, hence 1. A request to keep the card ends retries,
 * whatever the category.
 *
 * @see docs/sources.md#visa-decline-categories, #response-codes and #decline-groups
 */
export const RESPONSE_CODES: ReadonlyMap<string, ResponseCode> = new Map([
  ["04", defineCode(1, "HARD_CARD", "the card is to be picked up")],
  ["07", defineCode(1, "HARD_CARD", "the card is to be picked up")],
  ["12", defineCode(1, "HARD_CARD", "this kind of payment is not valid on the card")],
  ["14", defineCode(1, "INVALID_DATA", "there is no such card number")],
  ["15", defineCode(1, "HARD_CARD", "there is no such card issuer")],
  ["41", defineCode(1, "HARD_CARD", "the card was reported lost")],
  ["43", defineCode(1, "HARD_CARD", "the card was reported stolen")],
  ["46", defineCode(1, "HARD_CARD", "the account is closed")],
  ["57", defineCode(1, "HARD_CARD", "the card does not allow this kind of payment")],
  ["R0", defineCode(1, "REVOKED", "the customer stopped this payment")],
  ["R1", defineCode(1, "REVOKED", "the customer revoked the authorization")],
  ["R3", defineCode(1, "REVOKED", "the customer revoked all authorizations")],

  ["03", defineCode(2, "GENERIC", "the merchant was not accepted")],
  ["19", defineCode(2, "ISSUER_DOWN", "the payment should be entered again")],
  ["39", defineCode(2, "GENERIC", "there is no credit account")],
  ["51", defineCode(2, "FUNDS", "there was not enough money")],
  ["52", defineCode(2, "GENERIC", "there is no current account")],
  ["53", defineCode(2, "GENERIC", "there is no savings account")],
  ["59", defineCode(2, "GENERIC", "the payment looked unusual")],
  ["61", defineCode(2, "LIMIT", "the amount limit was reached")],
  ["62", defineCode(2, "GENERIC", "the card is restricted")],
  ["65", defineCode(2, "LIMIT", "the limit of payments was reached")],
  ["75", defineCode(2, "GENERIC", "the PIN was tried too often")],
  ["78", defineCode(2, "GENERIC", "the card is blocked or not used yet")],
  ["83", defineCode(2, "GENERIC", "the payment was blocked for fear of fraud")],
  ["86", defineCode(2, "GENERIC", "the PIN could not be checked")],
  ["91", defineCode(2, "ISSUER_DOWN", "the bank could not be reached")],
  ["93", defineCode(2, "GENERIC", "the payment cannot be completed")],
  ["96", defineCode(2, "ISSUER_DOWN", "the bank's system had a fault")],
  ["N3", defineCode(2, "GENERIC", "the service is not available")],
  ["N4", defineCode(2, "LIMIT", "the amount limit was reached")],
  ["Z5", defineCode(2, "GENERIC", "the bank cannot approve it now")],
  ["5C", defineCode(2, "GENERIC", "the bank does not support the payment")],
  ["9G", defineCode(2, "GENERIC", "the cardholder blocked such payments")],

  ["54", defineCode(3, "EXPIRED", "the card has expired")],
  ["55", defineCode(3, "INVALID_DATA", "the PIN is wrong")],
  ["63", defineCode(3, "GENERIC", "the security check failed")],
  ["82", defineCode(3, "INVALID_DATA", "the card check value is wrong")],
  ["1A", defineCode(3, "AUTH_REQUIRED", "the bank wants the customer to confirm")],
  ["6P", defineCode(3, "INVALID_DATA", "the customer's data could not be confirmed")],
  ["N7", defineCode(3, "INVALID_DATA", "the card check value is wrong")],

  ["01", defineUnlistedCode("GENERIC", "the bank wants to be called")],
  ["02", defineUnlistedCode("GENERIC", "the bank wants to be called")],
  ["05", defineUnlistedCode("GENERIC", "the bank gave no reason")],
  ["06", defineUnlistedCode("ISSUER_DOWN", "the bank met an error")],
  ["13", defineUnlistedCode("GENERIC", "the bank does not take this amount")],
  ["20", defineUnlistedCode("ISSUER_DOWN", "the bank's answer could not be read")],
  ["21", defineUnlistedCode("GENERIC", "the bank did nothing with the payment")],
  ["22", defineUnlistedCode("ISSUER_DOWN", "a fault was suspected")],
  ["25", defineUnlistedCode("GENERIC", "the bank found no record of the payment")],
  ["28", defineUnlistedCode("ISSUER_DOWN", "the bank's records could not be reached")],
  ["30", defineUnlistedCode("GENERIC", "the payment was not in the form that the bank reads")],
  ["31", defineUnlistedCode("GENERIC", "the network does not reach the bank")],
  ["33", defineUnlistedCode("HARD_CARD", "the card has expired and is to be picked up")],
  ["34", defineUnlistedCode("HARD_CARD", "the bank suspects fraud, and the card is to be picked up")],
  ["35", defineUnlistedCode("HARD_CARD", "the card is to be picked up")],
  ["36", defineUnlistedCode("HARD_CARD", "the card is restricted and is to be picked up")],
  ["37", defineUnlistedCode("HARD_CARD", "the card is to be picked up")],
  ["38", defineUnlistedCode("HARD_CARD", "the PIN was tried too often, and the card is to be picked up")],
  ["40", defineUnlistedCode("GENERIC", "the bank does not support the payment")],
  ["42", defineUnlistedCode("GENERIC", "there is no such account")],
  ["44", defineUnlistedCode("GENERIC", "there is no such account")],
  ["56", defineUnlistedCode("INVALID_DATA", "the bank has no record of the card")],
  ["58", defineUnlistedCode("GENERIC", "the merchant may not make this kind of payment")],
  ["60", defineUnlistedCode("GENERIC", "the acquirer wants to be called")],
  ["64", defineUnlistedCode("HARD_CARD", "rules against money laundering forbid the payment")],
  ["66", defineUnlistedCode("GENERIC", "the acquirer wants to be called")],
  ["67", defineUnlistedCode("HARD_CARD", "the card is to be picked up")],
  ["68", defineUnlistedCode("ISSUER_DOWN", "the bank answered too late")],
  ["90", defineUnlistedCode("ISSUER_DOWN", "the bank is closing its day")],
  ["92", defineUnlistedCode("ISSUER_DOWN", "the bank could not be reached")],
  ["94", defineUnlistedCode("GENERIC", "the same payment came twice")],
  ["98", defineUnlistedCode("ISSUER_DOWN", "the bank did not answer")],
]);

/** American Express has three-digit codes, others redefine some two-digit codes. */
export type CodeDialect = "visa" | "mastercard" | "amex" | "common";

/** Three-digit codes without a two-digit equivalent. */
const AMEX_CODES = new Map([
  ["183", defineUnlistedCode("HARD_CARD", "the card does not take this currency")],
  ["187", defineUnlistedCode("EXPIRED", "a new card was issued")],
]);
/**
 * Other three-digit codes, each behind its equivalent: 208 is a lost card, like 41. Read on American Express only: many gateways
 * have their own three-digit numbers, such as 202 for missing funds, and a card wrongly taken for lost is never charged again.
 *
 * @see docs/sources.md, response codes of three digits
 */
const AMEX_EQUIVALENTS = new Map(
  `05:100 54:101 59:102 60:103 62:104 66:105 75:106 01:107 02:108 03:109 13:110 14:111 39:114 40:115 51:116 55:117 56:118
  57:119 58:120 61:121 82:122 65:123 64:124 78:125 59:129 30:181 46:189 04:200 33:201 34:202 35:203 36:204 37:205 38:206
  07:207 41:208 43:209 34:210 12:902 19:903 30:904 91:907 92:908 96:909 68:911 91:912 94:913`
    .split(/\s+/)
    .map((pair) => pair.split(":").reverse() as [string, string]),
);

const responseByCode = new Map(RESPONSE_CODES);
/** Codes with another meaning on Mastercard: 82, with an advice code, is "policy". */
const MASTERCARD_MEANINGS = new Map([
  ["82", defineCode(4, "GENERIC", "the bank's policy refused it", SOURCES.mastercardAdvice)],
]);

/**
 * For the whole process.
 *
 * @param everywhere  also on Mastercard, if the code has another meaning there
 * @see rule-overrides.ts
 */
export function setResponseCode(code: string, meaning: ResponseCode, everywhere: boolean) {
  responseByCode.set(tableKeyOf(code), meaning);
  if (everywhere) MASTERCARD_MEANINGS.delete(tableKeyOf(code));
}

const CODE_WITH_WORDS = /^\s*([0-9A-Z]{1,4})\s*:.*/is;
/** Gateways may append words: Adyen's "41 : Lost card" becomes "41". */
export const removeWords = (code: string) => code.replace(CODE_WITH_WORDS, "$1");

/** Two digits, no superfluous zeros: "51" for " 051", "05" for "5". Words stay unchanged. */
export function normalizeCardCode(code: string): string {
  const alone = removeWords(code).trim();
  return /^\d+$/.test(alone) ? String(Number(alone)).padStart(2, "0") : alone;
}

const tableKeyOf = (code: string) => normalizeCardCode(code).toUpperCase().padStart(2, "0");

/** The table's code with the same meaning on the network, even if the table lacks it. */
export function findTableCode(code: string, dialect: CodeDialect): string {
  const normal = tableKeyOf(code);
  return dialect === "amex" && !responseByCode.has(normal) ? (AMEX_EQUIVALENTS.get(normal) ?? normal) : normal;
}

/** Strong customer authentication is law in the EEA and the United Kingdom, so 65 may mean that it is missing. */
const STRONG_AUTHENTICATION_COUNTRIES = new Set(
  "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK ES GB".split(" "),
);

/** @returns null for an unlisted code, which is in Visa category 4 */
export function findResponseCode(code: string, dialect: CodeDialect): ResponseCode | null {
  const entry = findTableCode(code, dialect);
  if (dialect === "mastercard" && MASTERCARD_MEANINGS.has(entry)) return MASTERCARD_MEANINGS.get(entry)!;
  return responseByCode.get(entry) ?? (dialect === "amex" ? AMEX_CODES.get(entry) : undefined) ?? null;
}

const CATEGORY_1_RESPONSE = defineCode(1, "HARD_CARD", "the network says that the bank will never approve it");

/**
 * For response codes that are not in the table: on Visa cards, some processors pass on the category as advice, and category 1
 * ends all retries.
 */
export const findAdviceCategory = (advice: string, dialect: CodeDialect): ResponseCode | null =>
  dialect === "visa" && normalizeCardCode(advice) === "01" ? CATEGORY_1_RESPONSE : null;

/**
 * Whether a code may also mean that the customer has to confirm. In the EEA and the United Kingdom 65 may; Visa has 1A for this.
 * Only later attempts distinguish the two: a limit passes, a missing confirmation does not.
 */
export const mayNeedCustomer = (code: string, dialect: CodeDialect, country: string | null): boolean =>
  dialect !== "visa" &&
  findTableCode(code, dialect) === "65" &&
  country !== null &&
  STRONG_AUTHENTICATION_COUNTRIES.has(country);
