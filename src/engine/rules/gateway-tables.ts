import { buildCodeTable, codeRange } from "./code-table.ts";
import {
  AUTHORIZE_NET,
  CHECKOUT,
  CYBERSOURCE,
  CYBERSOURCE_WORDS,
  MERCADO_PAGO,
  MOLLIE,
  NMI,
  PADDLE,
  PADDLE_OWN,
} from "./gateway-tables-continued.ts";
import { SOURCES } from "./sources.ts";

/** Decline codes for cards, error codes that give a reason, and the three advice values. */
const STRIPE = buildCodeTable(SOURCES.stripeCodes, {
  FUNDS: "insufficient_funds",
  GENERIC: `do_not_honor generic_decline call_issuer no_action_taken security_violation service_not_allowed try_again_later
    duplicate_transaction invalid_amount payment_method_provider_decline`,
  LIMIT: "card_velocity_exceeded withdrawal_count_limit_exceeded card_decline_rate_limit_exceeded",
  ISSUER_DOWN: "issuer_not_available processing_error reenter_transaction approve_with_id",
  EXPIRED: "expired_card new_account_information_available",
  INVALID_DATA: `incorrect_number invalid_number incorrect_cvc invalid_cvc invalid_expiry_month invalid_expiry_year
    invalid_account incorrect_zip incorrect_address incorrect_pin invalid_pin pin_try_exceeded confirm_card_data`,
  AUTH_REQUIRED: `authentication_required authentication_not_handled mobile_device_authentication_required
    offline_pin_required online_or_offline_pin_required payment_intent_authentication_failure
    setup_intent_authentication_failure`,
  HARD_CARD: `lost_card stolen_card pickup_card restricted_card card_not_supported currency_not_supported
    transaction_not_allowed not_permitted do_not_try_again previously_declined_do_not_retry testmode_decline payment_method_customer_decline`,
  REVOKED: `revocation_of_authorization revocation_of_all_authorizations stop_payment_order
    india_recurring_payment_mandate_canceled`,
  FRAUD: "fraudulent merchant_blacklist highest_risk_level",
});

/** Failure codes for bank debits, and codes for an account or mandate that cannot be debited. */
const STRIPE_DEBITS = buildCodeTable(SOURCES.stripeDebits, {
  FUNDS: "refer_to_customer",
  INVALID_DATA: `invalid_account_number invalid_account_number_length account_number_invalid routing_number_invalid
    bank_account_invalid_details branch_does_not_exist incorrect_account_holder_name incorrect_account_holder_address
    incorrect_account_holder_tax_id`,
  HARD_CARD: `account_closed bank_account_closed no_account account_frozen bank_account_frozen bank_account_restricted
    bank_account_unusable bank_account_declined bank_ownership_changed tokenized_account_number_deactivated debit_disputed
    debit_authorization_not_match mandate_invalid payment_intent_mandate_invalid setup_intent_mandate_invalid
    billing_invalid_mandate`,
  REVOKED: "debit_not_authorized authorization_revoked recipient_deceased",
});

/** Causes for failed or canceled payments. */
const GOCARDLESS = buildCodeTable(SOURCES.goCardlessCauses, {
  FUNDS: "refer_to_payer",
  LIMIT: "daily_payment_limit_reached",
  GENERIC: "bank_declined_payment",
  INVALID_DATA: "invalid_bank_details",
  HARD_CARD: `bank_account_closed bank_account_transferred direct_debit_not_enabled mandate_expired mandate_failed
    account_blocked_for_any_financial_transaction insufficient_payment_permissions payment_violated_mandate_parameters
    mandate_suspended_by_payer initial_one_off_payment_failed`,
  REVOKED: `mandate_cancelled authorisation_disputed return_on_odfi_request payment_stopped customer_approval_denied
    payer_deceased`,
});

const RECURLY = buildCodeTable(SOURCES.recurlyCodes, {
  FUNDS: "insufficient_funds partial_approval",
  GENERIC: `declined declined_saveable temporary_hold try_again call_issuer call_issuer_update_cardholder_data
    card_not_activated invalid_payment_method declined_exception contact_gateway duplicate_transaction
    authorization_expired paypal_primary_declined paypal_declined_use_alternate`,
  LIMIT: "too_many_attempts exceeds_daily_limit exceeds_max_amount fraud_too_many_attempts",
  ISSUER_DOWN: `issuer_unavailable processor_not_available processor_unavailable gateway_unavailable gateway_timeout
    gateway_error gateway_rate_limited too_busy simultaneous batch_processing_error transaction_stale_at_gateway
    recurly_error recurly_failed_to_get_token`,
  EXPIRED: "expired_card declined_expiration_date",
  INVALID_DATA: `declined_card_number invalid_card_number invalid_account_number declined_security_code lifecycle_decline
    fraud_security_code fraud_address fraud_address_recurly gateway_token_not_found no_billing_information cvv_required
    declined_missing_data invalid_data`,
  AUTH_REQUIRED: "three_d_secure_authentication three_d_secure_action_required payer_authentication_rejected",
  HARD_CARD: `invalid_merchant_type invalid_transaction invalid_issuer card_type_not_accepted payment_not_accepted
    direct_debit_type_not_accepted restricted_card restricted_card_chargeback currency_not_supported
    invalid_payment_method_hard fraud_stolen_card ach_transactions_not_supported paypal_hard_decline paypal_account_issue
    paypal_expired_reference_id`,
  REVOKED: `customer_canceled_transaction cardholder_requested_stop card_blocked recurring_mandate_cancelled
    paypal_invalid_billing_agreement invalid_billing_agreement_status billing_agreement_not_found`,
  FRAUD: `fraud_gateway fraud_generic fraud_velocity fraud_ip_address fraud_risk_check fraud_manual_decision
    fraud_advanced_verification`,
});

/** Refusal reasons, each with its number. */
const ADYEN = buildCodeTable(SOURCES.adyenReasons, {
  FUNDS: "not_enough_balance adyen_12",
  GENERIC: `refused adyen_2 referral adyen_3 invalid_amount adyen_7 pin_validation_not_possible adyen_19
    declined_non_generic adyen_27 issuer_suspected_fraud adyen_31 no_checking_account_available_on_card adyen_34
    no_savings_account_available_on_card adyen_35`,
  LIMIT: "withdrawal_amount_exceeded adyen_28 withdrawal_count_exceeded adyen_29",
  ISSUER_DOWN: "acquirer_error adyen_4 issuer_unavailable adyen_9 rreq_not_received_from_ds adyen_39",
  EXPIRED: "expired_card adyen_6",
  INVALID_DATA: `invalid_card_number adyen_8 invalid_pin adyen_17 pin_tries_exceeded adyen_18 cvc_declined adyen_24
    avs_declined adyen_32`,
  AUTH_REQUIRED: `3d_not_authenticated adyen_11 card_requires_online_pin adyen_33 mobile_pin_required adyen_36
    authentication_required adyen_38 cvm_required_restart_payment adyen_41 3ds_authentication_error adyen_42
    online_pin_required adyen_43`,
  HARD_CARD: `blocked_card adyen_5 not_supported adyen_10 transaction_not_permitted adyen_23 restricted_card adyen_25
    transaction_blocked_by_adyen_to_prevent_excessive_retry_fees adyen_46`,
  REVOKED: "revocation_of_auth adyen_26 token_revoked adyen_50",
  FRAUD: "acquirer_fraud adyen_14 fraud adyen_20 fraud_cancelled adyen_22",
});

const BRAINTREE = buildCodeTable(SOURCES.braintreeCodes, {
  FUNDS: "braintree_2001 braintree_2035",
  GENERIC: `braintree_2000 braintree_2016 braintree_2027 braintree_2033 braintree_2034 braintree_2036 braintree_2038
    braintree_2039 braintree_2044 braintree_2046 braintree_2048 braintree_2057 braintree_2062 braintree_2078 braintree_2104
    braintree_2105 braintree_2106 braintree_2107 ${codeRange("braintree_", 2109, 2999)}`,
  LIMIT: "braintree_2002 braintree_2003 braintree_2086 braintree_2097 braintree_2098",
  ISSUER_DOWN: "braintree_3000",
  EXPIRED: "braintree_2004 braintree_2022",
  INVALID_DATA: `braintree_2005 braintree_2006 braintree_2007 braintree_2008 braintree_2010 braintree_2029 braintree_2051
    braintree_2059 braintree_2060 braintree_2092 braintree_2102 braintree_2103`,
  AUTH_REQUIRED: "braintree_2099 braintree_2101",
  HARD_CARD: `braintree_2009 braintree_2011 braintree_2012 braintree_2013 braintree_2015 braintree_2019 braintree_2020
    braintree_2024 braintree_2041 braintree_2043 braintree_2047 braintree_2050 braintree_2053 braintree_2061 braintree_2074
    braintree_2075 braintree_2076 braintree_2082 braintree_2083 braintree_2084 braintree_2093 braintree_2108`,
  REVOKED: "braintree_2017 braintree_2018 braintree_2070",
  FRAUD: "braintree_2014 braintree_2021 braintree_2077",
});

/** Each code belongs to one group. Chargebee has no table: it passes on the codes from the gateway behind it. */
export const GATEWAYS = {
  ...{ STRIPE, STRIPE_DEBITS, GOCARDLESS, RECURLY, ADYEN, BRAINTREE, CHECKOUT, NMI, CYBERSOURCE, CYBERSOURCE_WORDS },
  ...{ AUTHORIZE_NET, MERCADO_PAGO, MOLLIE, PADDLE, PADDLE_OWN },
};

/** Suffixes of `DECLINE_CATEGORY_…` that give a cause. Group names are read too. */
export const CATEGORIES = buildCodeTable(SOURCES.declineCategory, {
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

/** For codes that their group's wording would describe wrongly. */
export const GATEWAY_CODE_WORDING: ReadonlyMap<string, string> = new Map([
  ["recipient_deceased", "the account's holder has died"],
  ["payer_deceased", "the account's holder has died"],
  ["debit_not_authorized", "the customer says that the debit was not authorized"],
  ["authorisation_disputed", "the customer says that the debit was not authorized"],
  ["previously_declined_do_not_retry", "Stripe blocks further attempts on the card"],
  ["transaction_blocked_by_adyen_to_prevent_excessive_retry_fees", "Adyen blocks further tries of the card"],
  ["adyen_46", "Adyen blocks further tries of the card"],
  ["nmi_263", "the bank has newer data of the card"],
  ["checkout_20108", "the bank has newer data of the card"],
]);

export const CODES_WITHOUT_REASON: ReadonlySet<string> = new Set(
  `payment_failed payment_declined payment_error payment_intent_payment_attempt_failed charge_failed card_declined failed
  failure error unknown unknown_reason other test_failure`.split(/\s+/),
);
