import { findCardNetwork } from "./card-networks.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { CATEGORIES, CODES_WITHOUT_REASON, GATEWAY_CODE_WORDING, GATEWAYS } from "./gateway-tables.ts";

export const GATEWAY_CODES: ReadonlyMap<string, DeclineGroup> = new Map(
  Object.values(GATEWAYS).flatMap(({ groups }) => [...groups]),
);

type OptionalText = string | null | undefined;

/** The gateway whose codes are unlike everybody else's: five characters. */
const UNNAMED_GATEWAY = "checkout";

/** Codes that mean something only at one gateway: its name in the tables, the names that merchants write, and the shape of such codes. */
const NUMBERED_GATEWAYS: readonly { name: string; written: RegExp; shape: RegExp }[] = [
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
export function normalizeGatewayCode(code: OptionalText, ...gateway: readonly OptionalText[]): string | null {
  if (code === undefined || code === null) return null;
  const trimmed = code.trim();
  const names = gateway.join(" ").trim();
  const own = NUMBERED_GATEWAYS.find(({ written, shape }) => shape.test(trimmed) && written.test(names));
  if (own) return `${own.name} ${/^\d+$/.test(trimmed) ? Number(trimmed) : trimmed}`;
  const read = names === "" ? [`${UNNAMED_GATEWAY} ${trimmed}`] : operatorCodes(trimmed, gateway);
  return read.find((each) => groupByCode.has(normalizeSpelling(each))) ?? code;
}

/** A number as a file of rules writes it, by each of the gateway's names: "acme 12". */
const operatorCodes = (code: string, gateway: readonly OptionalText[]) =>
  /^\d+$/.test(code) ? gateway.flatMap((name) => (name?.trim() ? `${name.trim()} ${code}` : [])) : [];

/** Returns the code that a file of rules has to name to give this one a group: a number with its gateway's name, if that is known. */
export const ruleCodeOf = (code: string, ...gateway: readonly OptionalText[]): string => {
  const read = normalizeGatewayCode(code, ...gateway)!.trim();
  return read === code.trim() ? (operatorCodes(read, gateway)[0] ?? read) : read;
};

/**
 * Returns the code in the network's field as the tables write it. Some merchants put their gateway's own number there. One or two digits are
 * always a response code, and so are three digits on an American Express card.
 *
 * @param network  of the card: Instrument.network
 * @param gateway  as of `normalizeGatewayCode`
 */
export function normalizeNetworkCode(
  code: OptionalText,
  network: string | null,
  ...gateway: readonly OptionalText[]
): string | null {
  const own = normalizeGatewayCode(code, ...gateway);
  if (own === null || own === code || !groupByCode.has(normalizeSpelling(own))) return code ?? null;
  const { length } = code!.trim();
  return length < 3 || (length === 3 && findCardNetwork(network).dialect === "amex") ? code! : own;
}

const groupByCode = new Map(GATEWAY_CODES);
const wordingByCode = new Map(GATEWAY_CODE_WORDING);

/** Sets the group of a gateway's code for the whole process. @see override.ts */
export function setGatewayCode(code: string, group: DeclineGroup) {
  for (const spelling of spellingsOf(code)) {
    groupByCode.set(spelling, group);
    wordingByCode.delete(spelling);
  }
}

/** Of a name that no list of a gateway's has, what a category of that name says: "NSF". */
export const findGatewayCodeGroup = (code: string) =>
  findFirst(code, (spelling) => groupByCode.get(spelling)) ?? CATEGORIES.groups.get(categorySuffix(code));

/** What a code means, where its group's words would be wrong; null: they are right. */
export const findGatewayCodeWording = (code: string) =>
  findFirst(code, (spelling) => wordingByCode.get(spelling)) ?? null;

/** Whether a code says why a payment failed, in a table or not. */
export const hasReason = (code: string) =>
  code.trim() !== "" && !spellingsOf(code).some((spelling) => CODES_WITHOUT_REASON.has(spelling));

/**
 * A gateway writes the same code as "Insufficient Funds", "insufficient-funds", "INSUFFICIENT_FUNDS" or "insufficientFunds". The spelling that is
 * not split goes first: the tables write "PayPal" as one word.
 */
const spellingsOf = (code: string) => [normalizeSpelling(code), normalizeSpelling(splitCamelCase(code))];

const findFirst = <T>(code: string, read: (spelling: string) => T | undefined) => {
  const [whole, split] = spellingsOf(code);
  return read(whole!) ?? read(split!);
};

const normalizeSpelling = (code: string) =>
  code
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/** "lostCard" → "lost_Card"; capitals in a row stay together. */
const splitCamelCase = (code: string) => code.replace(/([a-z])(?=[A-Z])/g, "$1_");

/** "DECLINE_CATEGORY_HARD" → "HARD". */
export const categorySuffix = (category: string) =>
  splitCamelCase(category.trim())
    .toUpperCase()
    .replace(/[\s-]+/g, "_")
    .replace(/^DECLINE_CATEGORY_/, "");
