import type { DeclineGroup } from "./decline-groups.ts";
import { CATEGORIES, GATEWAY_WORDS, GATEWAYS, REASONLESS } from "./gateway-tables.ts";

export const GATEWAY_CODES: ReadonlyMap<string, DeclineGroup> = new Map(
  Object.values(GATEWAYS).flatMap(({ groups }) => [...groups]),
);

type Maybe = string | null | undefined;

/** Whose numbers are read, and how such a gateway is called by merchants. */
const NUMBERED = /adyen|braintree/i;

/**
 * The code of a failed attempt as the tables write it. A number means something of a named gateway only: 12 is not enough balance at Adyen, and
 * an invalid transaction among response codes.
 *
 * @param gateway  what may name it: `paymentGatewayName`, `paymentGatewayType`
 */
export function gatewayCodeOf(code: Maybe, ...gateway: readonly Maybe[]): string | null {
  if (code === undefined || code === null) return null;
  const numbered = /^\s*\d{1,4}\s*$/.test(code) ? NUMBERED.exec(gateway.join(" ")) : null;
  return numbered ? `${numbered[0].toLowerCase()} ${Number(code)}` : code;
}

const BY_CODE = new Map(GATEWAY_CODES);
const WORDS = new Map(GATEWAY_WORDS);

/** From now on a gateway's code means this, in the whole process. @see override.ts */
export function setGatewayCode(code: string, group: DeclineGroup) {
  BY_CODE.set(normalCode(code), group);
  WORDS.delete(normalCode(code));
}

/** Of a name that no list of a gateway's has, what a category of that name says: "NSF". */
export const gatewayCodeGroup = (code: string) =>
  BY_CODE.get(normalCode(code)) ?? CATEGORIES.groups.get(categorySuffix(code));

/** What a code means, where its group's words would be wrong; null: they are right. */
export const gatewayCodeWords = (code: string) => WORDS.get(normalCode(code)) ?? null;

/** Whether a code says why a payment failed, in a table or not. */
export const namesReason = (code: string) => code.trim() !== "" && !REASONLESS.has(normalCode(code));

/** A gateway writes the same code as "Insufficient Funds", "insufficient-funds" or "INSUFFICIENT_FUNDS". */
const normalCode = (code: string) =>
  code
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/** "DECLINE_CATEGORY_HARD" → "HARD". */
export const categorySuffix = (category: string) =>
  category
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_")
    .replace(/^DECLINE_CATEGORY_/, "");
