import { cardNetwork } from "./card-networks.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { CATEGORIES, GATEWAY_WORDS, GATEWAYS, REASONLESS } from "./gateway-tables.ts";

export const GATEWAY_CODES: ReadonlyMap<string, DeclineGroup> = new Map(
  Object.values(GATEWAYS).flatMap(({ groups }) => [...groups]),
);

type Maybe = string | null | undefined;

/** The gateway whose codes are unlike everybody else's: five characters. */
const UNNAMED = "checkout";

/** Codes that mean something only at one gateway: its name in the tables, the names that merchants write, and the shape of such codes. */
const NAMED: readonly { name: string; written: RegExp; shape: RegExp }[] = [
  { name: "adyen", written: /adyen/i, shape: /^\d{1,4}$/ },
  { name: "braintree", written: /braintree/i, shape: /^\d{1,4}$/ },
  { name: "checkout", written: /checkout|(?<![a-z])cko(?![a-z])/i, shape: /^[2-5]\d\d[\da-z]{2}$/i },
  { name: "nmi", written: /(?<![a-z])nmi(?![a-z])|network[\s_-]*merchants/i, shape: /^\d{3}$/ },
  { name: "cybersource", written: /cyber[\s_-]*source/i, shape: /^\d{3}$/ },
  { name: "authorizenet", written: /authorize[\s._-]*net|auth[\s._-]*net(?![a-z])/i, shape: /^\d{1,3}$/ },
  { name: "paddle", written: /(?<![a-z])paddle/i, shape: /^canceled$/i },
];

/**
 * Returns the code of a failed attempt as the tables write it. A number means something only of a named gateway: 12 is not enough balance at
 * Adyen, and an invalid transaction among response codes. Codes of five characters that Checkout.com lists are read even if no gateway is named. A
 * file of rules may name any other gateway before a number.
 *
 * @param gateway  what may name it: `paymentGatewayName`, `paymentGatewayType`
 */
export function gatewayCodeOf(code: Maybe, ...gateway: readonly Maybe[]): string | null {
  if (code === undefined || code === null) return null;
  const trimmed = code.trim();
  const names = gateway.join(" ").trim();
  const own = NAMED.find(({ written, shape }) => shape.test(trimmed) && written.test(names));
  if (own) return `${own.name} ${/^\d+$/.test(trimmed) ? Number(trimmed) : trimmed}`;
  const read = names === "" ? [`${UNNAMED} ${trimmed}`] : ownNumbers(trimmed, gateway);
  return read.find((each) => BY_CODE.has(normalCode(each))) ?? code;
}

/** A number as a file of rules writes it, by each of the gateway's names: "acme 12". */
const ownNumbers = (code: string, gateway: readonly Maybe[]) =>
  /^\d+$/.test(code) ? gateway.flatMap((name) => (name?.trim() ? `${name.trim()} ${code}` : [])) : [];

/** Returns the code that a file of rules has to name to give this one a group: a number with its gateway's name, if that is known. */
export const ruleCodeOf = (code: string, ...gateway: readonly Maybe[]): string => {
  const read = gatewayCodeOf(code, ...gateway)!.trim();
  return read === code.trim() ? (ownNumbers(read, gateway)[0] ?? read) : read;
};

/**
 * Returns the code in the network's field as the tables write it. Some merchants put their gateway's own number there. One or two digits are
 * always a response code, and so are three digits on an American Express card.
 *
 * @param network  of the card: Instrument.network
 * @param gateway  as of `gatewayCodeOf`
 */
export function networkCodeOf(code: Maybe, network: string | null, ...gateway: readonly Maybe[]): string | null {
  const own = gatewayCodeOf(code, ...gateway);
  if (own === null || own === code || !BY_CODE.has(normalCode(own))) return code ?? null;
  const { length } = code!.trim();
  return length < 3 || (length === 3 && cardNetwork(network).dialect === "amex") ? code! : own;
}

const BY_CODE = new Map(GATEWAY_CODES);
const WORDS = new Map(GATEWAY_WORDS);

/** Sets the group of a gateway's code for the whole process. @see override.ts */
export function setGatewayCode(code: string, group: DeclineGroup) {
  for (const spelling of spellings(code)) {
    BY_CODE.set(spelling, group);
    WORDS.delete(spelling);
  }
}

/** Of a name that no list of a gateway's has, what a category of that name says: "NSF". */
export const gatewayCodeGroup = (code: string) =>
  firstOf(code, (spelling) => BY_CODE.get(spelling)) ?? CATEGORIES.groups.get(categorySuffix(code));

/** What a code means, where its group's words would be wrong; null: they are right. */
export const gatewayCodeWords = (code: string) => firstOf(code, (spelling) => WORDS.get(spelling)) ?? null;

/** Whether a code says why a payment failed, in a table or not. */
export const namesReason = (code: string) =>
  code.trim() !== "" && !spellings(code).some((spelling) => REASONLESS.has(spelling));

/**
 * A gateway writes the same code as "Insufficient Funds", "insufficient-funds", "INSUFFICIENT_FUNDS" or "insufficientFunds". The spelling that is
 * not split goes first: the tables write "PayPal" as one word.
 */
const spellings = (code: string) => [normalCode(code), normalCode(splitWords(code))];

const firstOf = <T>(code: string, read: (spelling: string) => T | undefined) => {
  const [whole, split] = spellings(code);
  return read(whole!) ?? read(split!);
};

const normalCode = (code: string) =>
  code
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/** "lostCard" → "lost_Card"; capitals in a row stay together. */
const splitWords = (code: string) => code.replace(/([a-z])(?=[A-Z])/g, "$1_");

/** "DECLINE_CATEGORY_HARD" → "HARD". */
export const categorySuffix = (category: string) =>
  splitWords(category.trim())
    .toUpperCase()
    .replace(/[\s-]+/g, "_")
    .replace(/^DECLINE_CATEGORY_/, "");
