import { findCardNetwork } from "./card-networks.ts";
import type { DeclineGroup } from "./decline-groups.ts";
import { CATEGORIES, CODES_WITHOUT_REASON, GATEWAY_CODE_WORDING, GATEWAYS } from "./gateway-tables.ts";

export const GATEWAY_CODES: ReadonlyMap<string, DeclineGroup> = new Map(
  Object.values(GATEWAYS).flatMap(({ groups }) => [...groups]),
);

type OptionalText = string | null | undefined;

/** Its five-character codes are recognizable without its name. */
const UNNAMED_GATEWAY = "checkout";

/** Gateways whose codes mean something only there: name in the tables, names that merchants report, and pattern. */
const GATEWAYS_WITH_OWN_CODES: readonly { name: string; reportedName: RegExp; codePattern: RegExp }[] = [
  { name: "adyen", reportedName: /adyen/i, codePattern: /^\d{1,4}$/ },
  { name: "braintree", reportedName: /braintree/i, codePattern: /^\d{1,4}$/ },
  { name: "checkout", reportedName: /checkout|(?<![a-z])cko(?![a-z])/i, codePattern: /^[2-5]\d\d[\da-z]{2}$/i },
  { name: "nmi", reportedName: /(?<![a-z])nmi(?![a-z])|network[\s_-]*merchants/i, codePattern: /^\d{3}$/ },
  { name: "cybersource", reportedName: /cyber[\s_-]*source/i, codePattern: /^\d{3}$/ },
  { name: "authorizenet", reportedName: /authorize[\s._-]*net|auth[\s._-]*net(?![a-z])/i, codePattern: /^\d{1,3}$/ },
  { name: "paddle", reportedName: /(?<![a-z])paddle/i, codePattern: /^canceled$/i },
];

/**
 * The code in the tables' spelling, or unchanged if no table lists it. A number needs its gateway: 12 is insufficient balance at Adyen, but an invalid transaction
 * among response codes. Checkout.com's codes are read without a name; a file of rules may name any other gateway.
 *
 * @param gateway  `paymentGatewayName`, `paymentGatewayType`
 */
export function normalizeGatewayCode(code: OptionalText, ...gateway: readonly OptionalText[]): string | null {
  if (code === undefined || code === null) return null;
  const trimmed = code.trim();
  const names = gateway.join(" ").trim();
  const numbered = GATEWAYS_WITH_OWN_CODES.find(
    ({ reportedName, codePattern }) => codePattern.test(trimmed) && reportedName.test(names),
  );
  if (numbered) return `${numbered.name} ${/^\d+$/.test(trimmed) ? Number(trimmed) : trimmed}`;
  const candidates = names === "" ? [`${UNNAMED_GATEWAY} ${trimmed}`] : operatorCodes(trimmed, gateway);
  return candidates.find((each) => groupByCode.has(normalizeSpelling(each))) ?? code;
}

/** As a file of rules spells it: "acme 12". */
const operatorCodes = (code: string, gateway: readonly OptionalText[]) =>
  /^\d+$/.test(code) ? gateway.flatMap((name) => (name?.trim() ? `${name.trim()} ${code}` : [])) : [];

/** The code that a file of rules must name. */
export const ruleCodeOf = (code: string, ...gateway: readonly OptionalText[]): string => {
  const read = normalizeGatewayCode(code, ...gateway)!.trim();
  return read === code.trim() ? (operatorCodes(read, gateway)[0] ?? read) : read;
};

/**
 * The code in the tables' spelling. Some merchants put their gateway's own number in the network's field. One or two digits are
 * always a response code, as are three on an American Express card.
 *
 * @param network  as in Instrument.network
 * @param gateway  as for `normalizeGatewayCode`
 */
export function normalizeNetworkCode(
  code: OptionalText,
  network: string | null,
  ...gateway: readonly OptionalText[]
): string | null {
  const normalized = normalizeGatewayCode(code, ...gateway);
  if (normalized === null || normalized === code || !groupByCode.has(normalizeSpelling(normalized)))
    return code ?? null;
  const { length } = code!.trim();
  return length < 3 || (length === 3 && findCardNetwork(network).dialect === "amex") ? code! : normalized;
}

const groupByCode = new Map(GATEWAY_CODES);
const wordingByCode = new Map(GATEWAY_CODE_WORDING);

/**
 * Changes the code's group for the whole process.
 *
 * @see rule-overrides.ts
 */
export function setGatewayCode(code: string, group: DeclineGroup) {
  for (const spelling of spellingsOf(code)) {
    groupByCode.set(spelling, group);
    wordingByCode.delete(spelling);
  }
}

/** For an unlisted code, a decline category of that name decides: "NSF". */
export const findGatewayCodeGroup = (code: string) =>
  findFirst(code, (spelling) => groupByCode.get(spelling)) ?? CATEGORIES.groups.get(categorySuffix(code));

/** The code's own wording, if its group's would be wrong; else null. */
export const findGatewayCodeWording = (code: string) =>
  findFirst(code, (spelling) => wordingByCode.get(spelling)) ?? null;

/** Even an unlisted code may give a reason. */
export const hasReason = (code: string) =>
  code.trim() !== "" && !spellingsOf(code).some((spelling) => CODES_WITHOUT_REASON.has(spelling));

/**
 * "Insufficient Funds", "insufficient-funds", "INSUFFICIENT_FUNDS", "insufficientFunds". Unsplit first: the tables treat "PayPal"
 * as one word.
 */
const spellingsOf = (code: string) => [normalizeSpelling(code), normalizeSpelling(splitCamelCase(code))];

const findFirst = <T>(code: string, read: (spelling: string) => T | undefined) => {
  const [whole, split] = spellingsOf(code);
  return read(whole!) ?? read(split!);
};

export const normalizeSpelling = (code: string) =>
  code
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/** "lostCard" → "lost_Card"; consecutive capitals stay together. */
const splitCamelCase = (code: string) => code.replace(/([a-z])(?=[A-Z])/g, "$1_");

/** "DECLINE_CATEGORY_HARD" → "HARD". */
export const categorySuffix = (category: string) =>
  splitCamelCase(category.trim())
    .toUpperCase()
    .replace(/[\s-]+/g, "_")
    .replace(/^DECLINE_CATEGORY_/, "");
