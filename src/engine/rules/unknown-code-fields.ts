import { findAdviceCode } from "./advice-codes.ts";
import { findBankDebit, normalizeSchemeCode } from "./bank-debits.ts";
import { findCardNetwork } from "./card-networks.ts";
import { findGatewayCodeGroup, hasReason } from "./gateway-codes.ts";
import { type Instrument, isCard } from "./instrument.ts";
import type { DeclineCodes } from "./interpret-decline.ts";
import { findResponseCode } from "./response-codes.ts";

export type CodeField = "gatewayCode" | "networkDeclineCode" | "networkAdviceCode";

export function findUnknownCodeFields(codes: DeclineCodes, instrument: Instrument): CodeField[] {
  const { gatewayCode, networkDeclineCode, networkAdviceCode } = codes;
  const { dialect, readsAdvice } = findCardNetwork(instrument.network);
  const fromCard = isCard(instrument);
  const debit = fromCard ? undefined : findBankDebit(instrument.paymentMethodType);
  const isOfScheme = (code: string) => debit?.shape.test(normalizeSchemeCode(code)) ?? false;
  const isStrange = (code: string | null): code is string =>
    code !== null && hasReason(code) && findGatewayCodeGroup(code) === undefined && !isOfScheme(code);
  const fields: CodeField[] = [];
  // Some merchants push the same code in both fields; the network's is read first.
  if (isStrange(gatewayCode) && gatewayCode.trim() !== networkDeclineCode?.trim()) fields.push("gatewayCode");
  if (isStrange(networkDeclineCode) && !(fromCard && findResponseCode(networkDeclineCode, dialect)))
    fields.push("networkDeclineCode");
  if (fromCard && readsAdvice && isStrange(networkAdviceCode) && findAdviceCode(networkAdviceCode, true) === null)
    fields.push("networkAdviceCode");
  return fields;
}
