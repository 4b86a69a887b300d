import type { DeclineGroup } from "./decline-groups.ts";

const table = (rows: Partial<Record<DeclineGroup, string>>): ReadonlyMap<string, DeclineGroup> =>
  new Map(
    Object.entries(rows).flatMap(([group, codes]) => codes.split(/\s+/).map((code) => [code, group as DeclineGroup])),
  );

/** Stripe's decline codes, and its three advice values. @see docs/sources.md#stripe-decline-codes */
export const GATEWAY_CODES = table({
  FUNDS: "insufficient_funds",
  GENERIC: "do_not_honor generic_decline call_issuer no_action_taken try_again_later service_not_allowed",
  LIMIT: "card_velocity_exceeded withdrawal_count_limit_exceeded",
  ISSUER_DOWN: "issuer_not_available processing_error reenter_transaction approve_with_id",
  EXPIRED: "expired_card new_account_information_available",
  INVALID_DATA: `incorrect_number invalid_number incorrect_cvc invalid_cvc invalid_expiry_month invalid_expiry_year
    invalid_account incorrect_zip incorrect_pin invalid_pin pin_try_exceeded confirm_card_data`,
  AUTH_REQUIRED: "authentication_required authentication_not_handled",
  HARD_CARD: `lost_card stolen_card pickup_card restricted_card card_not_supported currency_not_supported
    transaction_not_allowed do_not_try_again`,
  REVOKED: "revocation_of_authorization revocation_of_all_authorizations stop_payment_order",
  FRAUD: "fraudulent merchant_blacklist security_violation highest_risk_level",
});

/** Suffixes of `DECLINE_CATEGORY_…` that name a cause. The group's own names are read too. */
export const CATEGORIES = table({
  FUNDS: "FUNDS INSUFFICIENT_FUNDS INSUFFICIENT_BALANCE NSF",
  GENERIC: "GENERIC GENERIC_DECLINE DO_NOT_HONOR",
  LIMIT: "LIMIT LIMIT_EXCEEDED CARD_LIMIT_EXCEEDED VELOCITY VELOCITY_EXCEEDED",
  ISSUER_DOWN: "ISSUER_DOWN ISSUER_UNAVAILABLE ISSUER_NOT_AVAILABLE TECHNICAL TECHNICAL_ERROR PROCESSING_ERROR",
  EXPIRED: "EXPIRED EXPIRED_CARD CARD_EXPIRED",
  INVALID_DATA: `INVALID_DATA INVALID_CARD INVALID_CARD_DATA INVALID_NUMBER INVALID_CVC INVALID_ACCOUNT INCORRECT_DATA
    INCORRECT_NUMBER INCORRECT_CVC`,
  AUTH_REQUIRED: "AUTH_REQUIRED AUTHENTICATION_REQUIRED AUTHENTICATION SCA_REQUIRED THREE_D_SECURE_REQUIRED",
  HARD_CARD: `HARD_CARD LOST_STOLEN LOST_OR_STOLEN LOST_CARD STOLEN_CARD LOST STOLEN PICKUP_CARD RESTRICTED_CARD
    CLOSED_ACCOUNT ACCOUNT_CLOSED CARD_NOT_SUPPORTED TRANSACTION_NOT_ALLOWED`,
  REVOKED: "REVOKED REVOKED_AUTHORIZATION AUTHORIZATION_REVOKED MANDATE_REVOKED STOP_PAYMENT CANCELED_BY_CUSTOMER",
  FRAUD: "FRAUD FRAUDULENT SUSPECTED_FRAUD SECURITY HIGH_RISK",
});

/** A gateway writes the same code as "Insufficient Funds", "insufficient-funds" or "INSUFFICIENT_FUNDS". */
export const gatewayCodeGroup = (code: string) =>
  GATEWAY_CODES.get(
    code
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, "_"),
  );

/** "DECLINE_CATEGORY_HARD" → "HARD". */
export const categorySuffix = (category: string) =>
  category
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_")
    .replace(/^DECLINE_CATEGORY_/, "");
