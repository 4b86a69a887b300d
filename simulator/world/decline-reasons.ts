import type { Weighted } from "./keyed-random.ts";

/** As a gateway reports it to a merchant. */
export interface Decline {
  words: string;
  /** Stripe's name. */
  gatewayCode: string;
  /** A card's ISO 8583 response code, or a debit's return code. */
  networkCode: string;
  /** Mastercard's, if the issuer sends one. */
  advice: Weighted<string>;
  /** Whether the card or account must never be charged again. */
  hard: boolean;
}

const defineDecline = (
  words: string,
  gatewayCode: string,
  networkCode: string,
  advice: Weighted<string> = [],
): Decline => ({
  words,
  gatewayCode,
  networkCode,
  advice,
  hard: false,
});
const defineHardDecline = (...told: Parameters<typeof defineDecline>): Decline => ({
  ...defineDecline(...told),
  hard: true,
});

export const DECLINES = {
  insufficient_funds: defineDecline("insufficient funds", "insufficient_funds", "51", [
    ["25", 4],
    ["26", 2],
    ["24", 1],
    ["02", 1],
  ]),
  do_not_honor: defineDecline("do not honor", "do_not_honor", "05", [["02", 1]]),
  issuer_down: defineDecline("issuer not available", "issuer_not_available", "91"),
  system_error: defineDecline("system error", "processing_error", "96", [["02", 1]]),
  amount_limit: defineDecline("daily limit reached", "card_velocity_exceeded", "61", [["25", 1]]),
  count_limit: defineDecline("too many payments today", "card_velocity_exceeded", "65", [["25", 1]]),
  expired: defineDecline("expired card", "expired_card", "54", [["01", 1]]),
  authentication: defineDecline("authentication needed", "authentication_required", "1A"),
  wrong_number: defineHardDecline("no such card number", "incorrect_number", "14", [["01", 1]]),
  lost: defineHardDecline("lost card", "lost_card", "41", [["03", 1]]),
  stolen: defineHardDecline("stolen card", "stolen_card", "43", [["03", 1]]),
  revoked: defineHardDecline("authorization revoked", "revocation_of_authorization", "R1", [["21", 1]]),
  sepa_funds: defineDecline("insufficient funds", "insufficient_funds", "AM04"),
  sepa_unspecified: defineDecline("reason not specified", "generic_could_not_process", "MS03"),
  sepa_closed: defineHardDecline("account closed", "account_closed", "AC04"),
  sepa_no_mandate: defineHardDecline("no mandate", "debit_not_authorized", "MD01"),
  ach_funds: defineDecline("insufficient funds", "insufficient_funds", "R01"),
  ach_uncollected: defineDecline("uncollected funds", "insufficient_funds", "R09"),
  ach_closed: defineHardDecline("account closed", "account_closed", "R02"),
  ach_revoked: defineHardDecline("authorization revoked", "debit_not_authorized", "R07"),
} satisfies Record<string, Decline>;

export type Reason = keyof typeof DECLINES;

/** Such as `insufficient funds (51)`. */
export const describeReason = (reason: Reason) => `${DECLINES[reason].words} (${DECLINES[reason].networkCode})`;
