import { toDisplayText } from "../../domain/display-text.ts";
import { type AdviceCode, findAdviceCode } from "./advice-codes.ts";
import { type BankDebit, findBankDebit, normalizeSchemeCode, returnCodeGroup } from "./bank-debits.ts";
import { type CardNetwork, findCardNetwork } from "./card-networks.ts";
import { compareRestriction, type DeclineGroup, endsRetries, hasExpectedTime } from "./decline-groups.ts";
import { categorySuffix, findGatewayCodeGroup, findGatewayCodeWording, hasReason } from "./gateway-codes.ts";
import { CATEGORIES } from "./gateway-tables.ts";
import { type Instrument, isCard } from "./instrument.ts";
import { findAdviceCategory, findResponseCode, findTableCode, type ResponseCode } from "./response-codes.ts";
import type { Source } from "./sources.ts";

/** As the gateway reported them; null if not reported. */
export interface DeclineCodes {
  networkDeclineCode: string | null;
  networkAdviceCode: string | null;
  /** `paymentGatewayErrorCode`, after `normalizeGatewayCode` */
  gatewayCode: string | null;
  /** `DECLINE_CATEGORY_…`, or only the part after it */
  declineCategory: string | null;
}

export interface InterpretedDecline {
  group: DeclineGroup;
  /** Completes "The bank declined: …"; null if only the group is known. */
  words: string | null;
  codes: DeclineCodes;
  advice: AdviceCode | null;
  /**
   * The source that puts the code in Visa category 1, so that the card may never be charged again; null if the network does not
   * block cards for it.
   */
  category1: Source | null;
  /** Banks send new card data to networks and processors without notice to the merchant. */
  renewsItself: boolean;
}

/** Unusual payments or failed security checks: temporary, unless the category says HARD. */
const SUSPECTED_FRAUD: ReadonlySet<string> = new Set(["59", "63", "83"]);

type DeclineFact = Pick<InterpretedDecline, "group" | "words">;

/**
 * Returns a decline's group. The most specific, most restrictive fact wins, in this order:
 *
 * 1. any fact that ends retries, from any field, the most restrictive first (REVOKED, FRAUD, HARD_CARD, INVALID_DATA, EXPIRED,
 * AUTH_REQUIRED);
 * 2. a fact that suggests a time (LIMIT, FUNDS, ISSUER_DOWN), by field: network advice, network code, gateway, category;
 * 3. the category HARD, which gives no cause: HARD_CARD, or FRAUD with response codes 59, 63 and 83;
 * 4. GENERIC, also for the category SOFT;
 * 5. UNKNOWN, but HARD_CARD for a bank debit with an unlisted reason.
 *
 * HARD ranks below the timed facts because merchants map a gateway's whole "card_declined" to it, while "not enough money" comes
 * from the bank.
 *
 * @see docs/sources.md#decline-groups
 */
export const findDeclineGroup = (codes: DeclineCodes, instrument: Instrument): DeclineGroup =>
  interpretDecline(codes, instrument).group;

/** With the words, code and advice behind the group. */
export function interpretDecline(codes: DeclineCodes, instrument: Instrument): InterpretedDecline {
  const network = findCardNetwork(instrument.network);
  const fromCard = isCard(instrument);
  const advice = fromCard ? findAdviceCode(codes.networkAdviceCode, network.readsAdvice) : null;
  const response = fromCard ? readResponse(codes, network) : null;
  const suffix = codes.declineCategory === null ? null : categorySuffix(codes.declineCategory);

  const facts: DeclineFact[] = [];
  if (advice?.group) facts.push({ group: advice.group, words: advice.words });
  if (response) facts.push({ group: response.group, words: response.words });
  const fromBank = advice?.group && response ? facts.slice() : [];
  const debit = fromCard ? undefined : findBankDebit(instrument.paymentMethodType);
  if (debit) facts.push(...readReturnCodes(codes, debit));
  for (const code of [codes.gatewayCode, codes.networkDeclineCode, codes.networkAdviceCode]) {
    const group = code === null ? undefined : findGatewayCodeGroup(code);
    if (group) facts.push({ group, words: findGatewayCodeWording(code!) });
  }
  const category = suffix === null ? undefined : CATEGORIES.groups.get(suffix);
  if (category) facts.push({ group: category, words: null });
  if (debit && facts.length === 0 && suffix !== "SOFT" && hasReason(codes.gatewayCode ?? ""))
    facts.push({ group: "HARD_CARD", words: describeNotListed(debit) });

  const rest = {
    codes,
    advice,
    category1: network.barsCategory1 && response?.category === 1 ? response.source : null,
    // Also with another fact: for a wrong number, Mastercard may report a newer one.
    renewsItself: fromCard && facts.some((fact) => fact.group === "EXPIRED"),
  };
  const ending = facts
    .filter((fact) => endsRetries(fact.group))
    .sort((a, b) => compareRestriction(a.group, b.group))[0];
  const decided = ending ?? facts.find((fact) => hasExpectedTime(fact.group));
  if (decided) return { ...withOtherMeaning(decided, fromBank), ...rest };
  const generic = facts.find((fact) => fact.group === "GENERIC");
  if (suffix === "HARD") {
    const isRisk = response !== null && SUSPECTED_FRAUD.has(findTableCode(codes.networkDeclineCode!, network.dialect));
    return {
      group: isRisk ? "FRAUD" : "HARD_CARD",
      words: generic?.words ?? null,
      ...rest,
    };
  }
  if (generic) return { ...withOtherMeaning(generic, fromBank), ...rest };
  return { group: suffix === "SOFT" ? "GENERIC" : "UNKNOWN", words: null, ...rest };
}

const readResponse = (
  { networkDeclineCode: code, networkAdviceCode: advice }: DeclineCodes,
  { dialect, readsAdvice }: CardNetwork,
): ResponseCode | null =>
  (code === null ? null : findResponseCode(code, dialect)) ??
  (advice === null || readsAdvice ? null : findAdviceCategory(advice, dialect));

/**
 * Adds the other code's meaning if two codes agree.
 *
 * @param fromBank  advice and response, in this order; empty unless both are known
 */
function withOtherMeaning(fact: DeclineFact, fromBank: readonly DeclineFact[]): DeclineFact {
  const [advice, response] = fromBank;
  const isAgreed = advice && response && fromBank.includes(fact) && advice.group === response.group;
  return isAgreed ? { group: fact.group, words: `${response.words}, and ${advice.words}` } : fact;
}

/** Includes unlisted codes, which people recognize: "code 51, advice code 24", "gateway code adyen 5". Null without any code. */
export function describeCodes({ networkDeclineCode, networkAdviceCode, gatewayCode, declineCategory }: DeclineCodes) {
  const response = shownCode(networkDeclineCode);
  const gateway = shownCode(gatewayCode);
  const descriptions = [
    ["code", response],
    ["advice code", shownCode(networkAdviceCode)],
    ["gateway code", gateway === response ? "" : gateway],
    ["category", shownCode(declineCategory && categorySuffix(declineCategory))],
  ].filter(([, code]) => code !== "");
  return descriptions.length === 0 ? null : descriptions.map((words) => words.join(" ")).join(", ");
}

const shownCode = (code: string | null) => toDisplayText(code ?? "");

/**
 * Any code in the network's field counts: one that the scheme does not list may not be presented again. In the gateway's field
 * only a code in the scheme's pattern counts.
 */
function readReturnCodes(codes: DeclineCodes, debit: BankDebit): DeclineFact[] {
  const network = normalizeSchemeCode(codes.networkDeclineCode ?? "");
  const gateway = normalizeSchemeCode(codes.gatewayCode ?? "");
  const code =
    hasReason(network) && findGatewayCodeGroup(network) === undefined
      ? network
      : debit.shape.test(gateway)
        ? gateway
        : null;
  if (code === null) return [];
  const group = returnCodeGroup(debit, code);
  const words =
    group === "FUNDS" ? "there was not enough money" : (debit.ended.get(code) ?? describeNotRepresentable(debit));
  return [{ group, words }];
}

const describeNotRepresentable = ({ name }: BankDebit) =>
  `${name} does not allow the debit to be presented again after this return code`;

/** An unlisted reason may not be one that allows it. */
const describeNotListed = ({ name }: BankDebit) =>
  `the gateway's reason is not known to be one after which ${name} allows the debit to be presented again`;
