import { type CardBlock, citeSource, type LedgerEntry } from "./attempt-ledger.ts";
import type { InterpretedDecline } from "./interpret-decline.ts";
import { SOURCES } from "./sources.ts";

/** The card may work, but must not be charged. */
const DISPUTE_DECLINE: InterpretedDecline = {
  group: "HARD_CARD",
  words: "the customer disputed a payment",
  codes: { networkDeclineCode: null, networkAdviceCode: null, gatewayCode: null, declineCategory: null },
  advice: null,
  category1: null,
  renewsItself: false,
};

/** Another charge would be disputed too. */
export function findDisputeBlock(ledger: readonly LedgerEntry[]): CardBlock | null {
  const dispute = ledger.findLast(({ isDispute }) => isDispute);
  if (!dispute) return null;
  const source = SOURCES.disputes;
  return {
    sentence: `After a dispute the card or account is not charged again until a later charge on it is paid ${citeSource(source)}.`,
    source,
    decline: DISPUTE_DECLINE,
    onThisInvoice: dispute.onThisInvoice,
    isDispute: true,
  };
}
