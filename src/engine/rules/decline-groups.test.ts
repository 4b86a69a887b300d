import assert from "node:assert/strict";
import { test } from "node:test";
import { BANK_DEBITS } from "./bank-debits.ts";
import { DECLINE_GROUPS, type DeclineGroup } from "./decline-groups.ts";
import { normalizeGatewayCode } from "./gateway-codes.ts";
import { findDeclineGroup } from "./interpret-decline.ts";

type Lists = Partial<Record<DeclineGroup, string>>;

/** The most frequent codes, listed independently of the tables, so that a row in the wrong group is noticed. */
const NETWORK: Lists = {
  FUNDS: "51",
  GENERIC: "05 59",
  LIMIT: "61 65 N4",
  ISSUER_DOWN: "19 91 96",
  EXPIRED: "54",
  INVALID_DATA: "14 55 82 N7",
  AUTH_REQUIRED: "1A",
  HARD_CARD: "04 07 15 41 43 46 57",
  REVOKED: "R0 R1 R3",
};
const ADVICE: Lists = {
  FUNDS: "24 25 26 27 28 29 30",
  GENERIC: "02",
  EXPIRED: "01",
  INVALID_DATA: "04",
  HARD_CARD: "03 05 22 41",
  REVOKED: "21",
  FRAUD: "42",
  UNKNOWN: "40 43",
};
const GATEWAYS: Readonly<Record<string, Lists>> = {
  Stripe: {
    FUNDS: "insufficient_funds",
    GENERIC: "do_not_honor generic_decline call_issuer no_action_taken try_again_later service_not_allowed",
    LIMIT: "card_velocity_exceeded withdrawal_count_limit_exceeded",
    ISSUER_DOWN: "issuer_not_available processing_error reenter_transaction approve_with_id",
    EXPIRED: "expired_card new_account_information_available",
    INVALID_DATA:
      "incorrect_number invalid_number incorrect_cvc invalid_cvc invalid_expiry_year invalid_account incorrect_zip",
    AUTH_REQUIRED: "authentication_required authentication_not_handled",
    HARD_CARD: "lost_card stolen_card pickup_card restricted_card card_not_supported transaction_not_allowed",
    REVOKED: "revocation_of_authorization revocation_of_all_authorizations stop_payment_order",
    FRAUD: "fraudulent merchant_blacklist highest_risk_level",
  },
  Adyen: {
    FUNDS: "12",
    GENERIC: "2",
    LIMIT: "28 29",
    ISSUER_DOWN: "4 9",
    EXPIRED: "6",
    INVALID_DATA: "8 24",
    AUTH_REQUIRED: "11 38",
    HARD_CARD: "5 23 25",
    REVOKED: "26",
    FRAUD: "14 20 22",
  },
  Braintree: {
    FUNDS: "2001",
    GENERIC: "2000 2046",
    LIMIT: "2002 2003",
    ISSUER_DOWN: "3000",
    EXPIRED: "2004",
    INVALID_DATA: "2005 2006 2010",
    AUTH_REQUIRED: "2099",
    HARD_CARD: "2012 2013 2015 2047",
    REVOKED: "2070",
    FRAUD: "2014",
  },
  Recurly: {
    FUNDS: "insufficient_funds",
    GENERIC: "declined call_issuer temporary_hold",
    LIMIT: "exceeds_daily_limit",
    ISSUER_DOWN: "issuer_unavailable gateway_timeout",
    EXPIRED: "expired_card",
    INVALID_DATA: "declined_card_number declined_security_code",
    AUTH_REQUIRED: "three_d_secure_authentication",
    HARD_CARD: "restricted_card fraud_stolen_card",
    REVOKED: "cardholder_requested_stop",
    FRAUD: "fraud_gateway",
  },
  GoCardless: {
    FUNDS: "refer_to_payer",
    INVALID_DATA: "invalid_bank_details",
    HARD_CARD: "bank_account_closed",
    REVOKED: "mandate_cancelled authorisation_disputed",
  },
};

const parseLists = (lists: Lists) =>
  DECLINE_GROUPS.flatMap((group) => (lists[group]?.split(" ") ?? []).map((code) => [code, group] as const));

test("the most frequent codes of each network, advice list and gateway are in the group chosen for them", () => {
  const nothing = { networkDeclineCode: null, networkAdviceCode: null, gatewayCode: null, declineCategory: null };
  const card = (network: string) => ({ paymentMethodType: "card", network, cardCountry: "US" });
  for (const [networkDeclineCode, group] of parseLists(NETWORK))
    assert.equal(findDeclineGroup({ ...nothing, networkDeclineCode }, card("visa")), group, networkDeclineCode);
  for (const [networkAdviceCode, group] of parseLists(ADVICE))
    assert.equal(findDeclineGroup({ ...nothing, networkAdviceCode }, card("mastercard")), group, networkAdviceCode);
  for (const [gateway, lists] of Object.entries(GATEWAYS))
    for (const [code, group] of parseLists(lists)) {
      const gatewayCode = normalizeGatewayCode(code, gateway);
      assert.equal(findDeclineGroup({ ...nothing, gatewayCode }, card("visa")), group, `${gateway} ${code}`);
    }
});

test("a debit may be presented again only after these return codes of its scheme", () => {
  const lists = Object.fromEntries([...BANK_DEBITS].map(([type, { representable }]) => [type, [...representable]]));
  assert.deepEqual(lists, { sepa_debit: ["AM04", "MS03"], ach_debit: ["R01", "R09"], bacs_debit: ["0"] });
});
