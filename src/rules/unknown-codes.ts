import { adviceCode } from "./advice-codes.ts";
import { bankDebit, schemeCode } from "./bank-debits.ts";
import { cardNetwork } from "./card-networks.ts";
import type { DeclineCodes } from "./decline-group.ts";
import { gatewayCodeGroup, namesReason } from "./gateway-codes.ts";
import { type Instrument, isCard } from "./instrument.ts";
import { responseCode } from "./response-codes.ts";

/** The fields of a decline that hold a code. */
export type CodeField = "gatewayCode" | "networkDeclineCode" | "networkAdviceCode";

/** Returns the fields whose code gives a reason that no table knows. */
export function unknownFields(codes: DeclineCodes, instrument: Instrument): CodeField[] {
  const { gatewayCode, networkDeclineCode, networkAdviceCode } = codes;
  const { dialect, readsAdvice } = cardNetwork(instrument.network);
  const fromCard = isCard(instrument);
  const debit = fromCard ? undefined : bankDebit(instrument.paymentMethodType);
  const isOfScheme = (code: string) => debit?.shape.test(schemeCode(code)) ?? false;
  const isStrange = (code: string | null): code is string =>
    code !== null && namesReason(code) && gatewayCodeGroup(code) === undefined && !isOfScheme(code);
  const fields: CodeField[] = [];
  // Some merchants push one code in both fields; the network's is read first.
  if (isStrange(gatewayCode) && gatewayCode.trim() !== networkDeclineCode?.trim()) fields.push("gatewayCode");
  if (isStrange(networkDeclineCode) && !(fromCard && responseCode(networkDeclineCode, dialect)))
    fields.push("networkDeclineCode");
  if (fromCard && readsAdvice && isStrange(networkAdviceCode) && adviceCode(networkAdviceCode, true) === null)
    fields.push("networkAdviceCode");
  return fields;
}
