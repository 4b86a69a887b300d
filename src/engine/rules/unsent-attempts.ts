import { normalizeSpelling } from "./gateway-codes.ts";
import { SOURCES } from "./sources.ts";

/** Stripe's `outcome.network_status` and `outcome.reason` for attempts that it did not send to the network. */
export const UNSENT_VALUES = {
  source: SOURCES.stripeBlocks,
  words: new Set(["not_sent_to_network", "previously_declined_do_not_retry"]),
};

export interface UnsentFields {
  paymentGatewayStatus?: string | null | undefined;
  paymentGatewayErrorCode?: string | null | undefined;
  networkDeclineCode?: string | null | undefined;
}

/**
 * The gateway blocked a failed attempt: it counts against no network limit, and the model learns nothing from it.
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
  typeof text === "string" && UNSENT_VALUES.words.has(normalizeSpelling(text));
