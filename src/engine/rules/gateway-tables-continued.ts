import { buildCodeTable, codeRange } from "./code-table.ts";
import { SOURCES } from "./sources.ts";

/**
 * Checkout.com's response codes for payments. Most 20xxx and 30xxx codes are a network's response code behind 200 or 300, and
 * share its group.
 */
export const CHECKOUT = buildCodeTable(
  SOURCES.checkoutCodes,
  {
    FUNDS: "20051",
    LIMIT: `20061 20065 20121 200p1 200p9 30021 30022 ${codeRange("", 40150, 40155)} ${codeRange("", 40160, 40165)} 40170
      40171 ${codeRange("", 40210, 40239)}`,
    GENERIC: `20001 20002 20003 20005 20009 20013 20016 20021 20023 20025 20030 20031 20038 20039 20040 20042 20044 20046
      20052 20053 20058 20059 2005c 20060 20062 20063 20064 20066 20072 20075 20078 20083 20093 20094 20099 2009g 20104
      20105 20182 20183 200a4 200a5 30020`,
    ISSUER_DOWN: `20006 20019 20020 20022 20028 20068 20088 20090 20091 20092 20096 20098 200a6 200e3 200n0 20153 20159`,
    EXPIRED: "20054 20108",
    INVALID_DATA: `20014 20055 20056 2006p 20087 20100 20101 20107 20114 20123 20124 20179 200n7
      40104 40108 40109 40111`,
    AUTH_REQUIRED: "20070 20150 20151 20152 20154 20155 40110 43401",
    HARD_CARD: `20004 20012 20017 20018 20041 20043 20057 20067 20081 20103 20106 200t3 30004 30007 30015 30033 30034 30035 30036 30037
      30038 30041 30043 30044 30046 40102`,
    REVOKED: "200r0 200r1 200r3",
    FRAUD: `40101 40103 ${codeRange("", 40131, 40139)} 40141 40149 ${codeRange("", 40181, 40187)}
      ${codeRange("", 40201, 40206)} 40301 41101 ${codeRange("", 41201, 41206)} 41301 42101
      ${codeRange("", 42201, 42206)} 42301 43101 43102 ${codeRange("", 43201, 43206)} 43301`,
  },
  "checkout",
);

export const NMI = buildCodeTable(
  SOURCES.nmiCodes,
  {
    FUNDS: "202",
    GENERIC: "200 201 240 260 264 300 430 440 441",
    LIMIT: "203",
    ISSUER_DOWN: "301 400 420 421",
    EXPIRED: "223 263",
    INVALID_DATA: "220 222 224 225 226",
    HARD_CARD: "204 221 250 251 252 461",
    REVOKED: "261 262",
    FRAUD: "253",
  },
  "nmi",
);

/** Simple Order API and Secure Acceptance. */
export const CYBERSOURCE = buildCodeTable(
  SOURCES.cyberSourceCodes,
  {
    FUNDS: "204",
    GENERIC: "104 201 203 220 233 520",
    LIMIT: "210",
    ISSUER_DOWN: "150 151 152 207 236 250",
    EXPIRED: "202",
    INVALID_DATA: `200 209 211 230 231 240 ${codeRange("", 450, 460)}`,
    AUTH_REQUIRED: "475 476 478",
    HARD_CARD: "205 208 222 232",
    FRAUD: "221 400 481 700 701 702 703",
  },
  "cybersource",
);

/** REST API. */
export const CYBERSOURCE_WORDS = buildCodeTable(SOURCES.cyberSourceCodes, {
  FUNDS: "insufficient_fund",
  GENERIC: "contact_processor processor_declined general_decline payment_refused duplicate_request",
  LIMIT: "exceeds_credit_limit debit_card_usage_limit_exceeded",
  ISSUER_DOWN: "issuer_unavailable gateway_timeout service_unavailable system_error",
  EXPIRED: "expired_card",
  INVALID_DATA: "avs_failed cv_failed cvn_not_match invalid_cvn invalid_account invalid_pin",
  AUTH_REQUIRED: "customer_authentication_required consumer_authentication_required consumer_authentication_failed",
  HARD_CARD: "stolen_lost_card unauthorized_card suspended_account",
  FRAUD: "blacklisted_customer score_exceeds_threshold decision_profile_reject",
});

export const AUTHORIZE_NET = buildCodeTable(
  SOURCES.authorizeNetCodes,
  {
    GENERIC: "2 3 5 11 36 145 318",
    ISSUER_DOWN: `${codeRange("", 19, 23)} 25 26 ${codeRange("", 57, 63)} 120 121 122 181 261`,
    EXPIRED: "8 317",
    INVALID_DATA: "6 7 9 10 27 37 44 45 65 78 127 165 315 316",
    HARD_CARD: "4 17 18 28 128",
    FRAUD: "41 141 250 251 254",
  },
  "authorizenet",
);

/** `status_detail` for rejected payments. */
export const MERCADO_PAGO = buildCodeTable(SOURCES.mercadoPagoCodes, {
  FUNDS: "cc_rejected_insufficient_amount insufficient_amount",
  GENERIC: `cc_rejected_other_reason cc_rejected_call_for_authorize cc_rejected_card_error cc_rejected_duplicated_payment
    cc_rejected_invalid_installments rejected_by_bank`,
  LIMIT: "cc_rejected_max_attempts cc_amount_rate_limit_exceeded",
  ISSUER_DOWN: "bank_error",
  INVALID_DATA: `cc_rejected_bad_filled_card_number cc_rejected_bad_filled_date cc_rejected_bad_filled_security_code
    cc_rejected_bad_filled_other`,
  AUTH_REQUIRED: "cc_rejected_3ds_mandatory cc_rejected_3ds_challenge",
  HARD_CARD: "cc_rejected_card_disabled cc_rejected_card_type_not_allowed",
  FRAUD: "cc_rejected_high_risk rejected_high_risk cc_rejected_blacklist cc_rejected_fraud",
});

/** `failureReason` for cards, and the card schemes' codes in `statusReason`, each grouped as the response code that it names. */
export const MOLLIE = buildCodeTable(SOURCES.mollieReasons, {
  GENERIC: `refused_by_issuer inactive_card refer_to_card_issuer refer_to_card_issuer_special_condition contact_card_issuer
    do_not_honor invalid_merchant no_checking_account no_savings_account no_credit_account no_reason_to_decline
    allowable_number_of_pin_tries_exceeded cannot_verify_pin format_error unable_to_locate_record blocked_first_used
    policy_related fraud_security_related violation_of_law transaction_not_allowed_at_terminal`,
  LIMIT: "exceeds_withdrawal_amount_limit exceeds_withdrawal_count_limit",
  ISSUER_DOWN: `authentication_unavailable_acs credit_issuer_unavailable system_malfunction unable_to_route_transaction
    re_enter_transaction file_temporarily_unavailable`,
  EXPIRED: "card_expired",
  INVALID_DATA: `invalid_card_number invalid_cvv invalid_card_holder_name invalid_nonexistent_account_specified
    decline_for_cvv2_failure missing_cvv2_cvc2 lifecycle_related`,
  AUTH_REQUIRED: `authentication_failed authentication_required authentication_abandoned
    additional_customer_authentication_required pin_data_required`,
  HARD_CARD: `invalid_card_type card_lost card_stolen capture_card pick_up_card_special_condition closed_account
    transaction_not_permitted_to_cardholder transaction_does_not_fulfill_aml_requirement`,
  REVOKED: "stop_payment_order revocation_of_authorization revocation_of_all_authorizations",
  FRAUD: "possible_fraud",
});

export const PADDLE = buildCodeTable(SOURCES.paddleCodes, {
  FUNDS: "not_enough_balance",
  GENERIC: "declined invalid_amount",
  ISSUER_DOWN: "issuer_unavailable psp_error system_error",
  EXPIRED: "expired_card",
  INVALID_DATA: "invalid_payment_details",
  AUTH_REQUIRED: "authentication_failed",
  HARD_CARD: `blocked_card declined_not_retryable preferred_network_not_supported prepaid_card_not_supported
    redacted_payment_method transaction_not_permitted`,
  FRAUD: "fraud",
});

/** At other gateways a canceled attempt says nothing about the card; at Paddle the customer canceled the mandate. */
export const PADDLE_OWN = buildCodeTable(SOURCES.paddleCodes, { REVOKED: "canceled" }, "paddle");
