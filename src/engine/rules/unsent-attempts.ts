import { SOURCES } from "./sources.ts";

/** What a gateway says if it did not send an attempt to the card network: Stripe's `outcome.network_status` and `outcome.reason`. */
export const UNSENT_VALUES = {
  source: SOURCES.stripeBlocks,
  words: new Set(["not_sent_to_network", "previously_declined_do_not_retry"]),
};

/** The fields of an attempt in which a gateway may say it. */
export interface UnsentFields {
  paymentGatewayStatus?: string | null | undefined;
  paymentGatewayErrorCode?: string | null | undefined;
  networkDeclineCode?: string | null | undefined;
}

/**
 * Whether the gateway blocked an attempt, so that it never reached a bank: it counts against no limit of a network, and nothing is learned from it.
 * The attempt is one that failed: an approved one was sent, whatever it says.
 *
 * @see docs/sources.md#stripe-blocked-payments
 */
export const isUnsent = ({
  state,
  paymentGatewayStatus,
  paymentGatewayErrorCode,
  networkDeclineCode,
}: UnsentFields & { state: string }): boolean =>
  state === "FAILED" && [paymentGatewayStatus, paymentGatewayErrorCode, networkDeclineCode].some(saysUnsent);

const saysUnsent = (text: string | null | undefined) =>
  typeof text === "string" &&
  UNSENT_VALUES.words.has(
    text
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, "_"),
  );
