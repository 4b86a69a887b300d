import type { ReadDecline } from "./decline-group.ts";
import { type Bar, cited, type LedgerEntry } from "./ledger.ts";
import { SOURCES } from "./sources.ts";

/** How a dispute weighs beside declines: the card may work, and is not to be charged. */
const DISPUTE: ReadDecline = {
  group: "HARD_CARD",
  words: "the customer disputed a payment",
  codes: { networkDeclineCode: null, networkAdviceCode: null, gatewayCode: null, declineCategory: null },
  advice: null,
  category1: null,
  renewsItself: false,
};

/** A disputed payment bars what it was made with for its holder: another charge would be disputed, too. */
export function disputeBar(ledger: readonly LedgerEntry[]): Bar | null {
  const dispute = ledger.findLast(({ isDispute }) => isDispute);
  if (!dispute) return null;
  const source = SOURCES.disputes;
  return {
    sentence: `After a dispute the card or account is not charged again until a later charge on it is paid ${cited(source)}.`,
    source,
    decline: DISPUTE,
    onThisInvoice: dispute.onThisInvoice,
    isDispute: true,
  };
}
