import type { DeclineGroup } from "./decline-groups.ts";

const table = (rows: Partial<Record<DeclineGroup, string>>): ReadonlyMap<string, DeclineGroup> =>
  new Map(
    Object.entries(rows).flatMap(([group, codes]) => codes.split(/\s+/).map((code) => [code, group as DeclineGroup])),
  );

/** Stripe's decline codes, and its three advice values. @see docs/sources.md#stripe-decline-codes */
const STRIPE = table({
  FUNDS: "insufficient_funds",
  GENERIC:
    "do_not_honor generic_decline call_issuer no_action_taken security_violation service_not_allowed try_again_later",
  LIMIT: "card_velocity_exceeded withdrawal_count_limit_exceeded",
  ISSUER_DOWN: "issuer_not_available processing_error reenter_transaction approve_with_id",
  EXPIRED: "expired_card new_account_information_available",
  INVALID_DATA: `incorrect_number invalid_number incorrect_cvc invalid_cvc invalid_expiry_month invalid_expiry_year
    invalid_account incorrect_zip incorrect_pin invalid_pin pin_try_exceeded confirm_card_data`,
  AUTH_REQUIRED: "authentication_required authentication_not_handled",
  HARD_CARD: `lost_card stolen_card pickup_card restricted_card card_not_supported currency_not_supported
    transaction_not_allowed do_not_try_again`,
  REVOKED: "revocation_of_authorization revocation_of_all_authorizations stop_payment_order",
  FRAUD: "fraudulent merchant_blacklist highest_risk_level",
});

/** Recurly's transaction error codes. @see docs/sources.md#recurly-error-codes */
const RECURLY = table({
  FUNDS: "insufficient_funds partial_approval",
  GENERIC: `declined declined_saveable temporary_hold try_again call_issuer call_issuer_update_cardholder_data
    card_not_activated invalid_payment_method`,
  LIMIT: "too_many_attempts exceeds_daily_limit exceeds_max_amount fraud_too_many_attempts",
  ISSUER_DOWN: `issuer_unavailable processor_not_available processor_unavailable gateway_unavailable gateway_timeout
    gateway_error gateway_rate_limited too_busy simultaneous batch_processing_error transaction_stale_at_gateway`,
  EXPIRED: "expired_card declined_expiration_date",
  INVALID_DATA: `declined_card_number invalid_card_number invalid_account_number declined_security_code lifecycle_decline
    fraud_security_code fraud_address fraud_address_recurly gateway_token_not_found no_billing_information`,
  AUTH_REQUIRED: "three_d_secure_authentication three_d_secure_action_required payer_authentication_rejected",
  HARD_CARD: `invalid_merchant_type invalid_transaction invalid_issuer card_type_not_accepted payment_not_accepted
    direct_debit_type_not_accepted restricted_card restricted_card_chargeback currency_not_supported
    invalid_payment_method_hard fraud_stolen_card`,
  REVOKED: `customer_canceled_transaction cardholder_requested_stop card_blocked recurring_mandate_cancelled
    paypal_invalid_billing_agreement invalid_billing_agreement_status billing_agreement_not_found`,
  FRAUD: `fraud_gateway fraud_generic fraud_velocity fraud_ip_address fraud_risk_check fraud_manual_decision
    fraud_advanced_verification`,
});

/** Adyen's refusal reasons, each with its number. @see docs/sources.md#adyen-refusal-reasons */
const ADYEN = table({
  FUNDS: "not_enough_balance adyen_12",
  GENERIC: `refused adyen_2 referral adyen_3 declined_non_generic adyen_27 issuer_suspected_fraud adyen_31
    no_checking_account_available_on_card adyen_34 no_savings_account_available_on_card adyen_35`,
  LIMIT: "withdrawal_amount_exceeded adyen_28 withdrawal_count_exceeded adyen_29",
  ISSUER_DOWN: "acquirer_error adyen_4 issuer_unavailable adyen_9",
  EXPIRED: "expired_card adyen_6",
  INVALID_DATA: `invalid_card_number adyen_8 invalid_pin adyen_17 pin_tries_exceeded adyen_18 cvc_declined adyen_24
    avs_declined adyen_32`,
  AUTH_REQUIRED: "3d_not_authenticated adyen_11 authentication_required adyen_38",
  HARD_CARD: `blocked_card adyen_5 not_supported adyen_10 transaction_not_permitted adyen_23 restricted_card adyen_25`,
  REVOKED: "revocation_of_auth adyen_26",
  FRAUD: "acquirer_fraud adyen_14 fraud adyen_20 fraud_cancelled adyen_22",
});

/** Braintree's processor response codes. @see docs/sources.md#braintree-response-codes */
const BRAINTREE = table({
  FUNDS: "braintree_2001",
  GENERIC: `braintree_2000 braintree_2038 braintree_2044 braintree_2046 braintree_2057 braintree_2104 braintree_2105
    braintree_2106 braintree_2107`,
  LIMIT: "braintree_2002 braintree_2003",
  ISSUER_DOWN: "braintree_2034 braintree_3000",
  EXPIRED: "braintree_2004 braintree_2022",
  INVALID_DATA: `braintree_2005 braintree_2006 braintree_2007 braintree_2008 braintree_2010 braintree_2051 braintree_2059
    braintree_2060 braintree_2102 braintree_2103`,
  AUTH_REQUIRED: "braintree_2099",
  HARD_CARD: `braintree_2009 braintree_2011 braintree_2012 braintree_2013 braintree_2015 braintree_2019 braintree_2024
    braintree_2041 braintree_2043 braintree_2047 braintree_2053 braintree_2075 braintree_2108`,
  REVOKED: "braintree_2017 braintree_2018 braintree_2070",
  FRAUD: "braintree_2014 braintree_2021 braintree_2077",
});

/** No code stands for two groups. Chargebee passes on what the gateway behind it says. */
export const GATEWAYS = { STRIPE, RECURLY, ADYEN, BRAINTREE };

export const GATEWAY_CODES: ReadonlyMap<string, DeclineGroup> = new Map(
  Object.values(GATEWAYS).flatMap((codes) => [...codes]),
);

type Maybe = string | null | undefined;

/** Whose numbers are read, and how such a gateway is called by merchants. */
const NUMBERED = /adyen|braintree/i;

/**
 * The code of a failed attempt as the tables write it. A number means something of a named gateway only: 12 is not enough balance at Adyen, and
 * an invalid transaction among response codes.
 *
 * @param gateway  what may name it: `paymentGatewayName`, `paymentGatewayType`
 */
export function gatewayCodeOf(code: Maybe, ...gateway: readonly Maybe[]): string | null {
  if (code === undefined || code === null) return null;
  const numbered = /^\s*\d{1,4}\s*$/.test(code) ? NUMBERED.exec(gateway.join(" ")) : null;
  return numbered ? `${numbered[0].toLowerCase()} ${Number(code)}` : code;
}

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

const BY_CODE = new Map(GATEWAY_CODES);

/** From now on a gateway's code means this, in the whole process. @see override.ts */
export const setGatewayCode = (code: string, group: DeclineGroup) => BY_CODE.set(normalCode(code), group);

export const gatewayCodeGroup = (code: string) => BY_CODE.get(normalCode(code));

/** A gateway writes the same code as "Insufficient Funds", "insufficient-funds" or "INSUFFICIENT_FUNDS". */
const normalCode = (code: string) =>
  code
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/** "DECLINE_CATEGORY_HARD" → "HARD". */
export const categorySuffix = (category: string) =>
  category
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_")
    .replace(/^DECLINE_CATEGORY_/, "");
