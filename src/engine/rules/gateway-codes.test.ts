import assert from "node:assert/strict";
import { test } from "node:test";
import { DECLINE_GROUPS, type DeclineGroup, endsRetries } from "./decline-groups.ts";
import { normalizeGatewayCode, normalizeNetworkCode, ruleCodeOf, setGatewayCode } from "./gateway-codes.ts";
import { findDeclineGroup } from "./interpret-decline.ts";

const VISA = { paymentMethodType: "card", network: "visa", cardCountry: "US" };
const groupAt = (code: string, gateway?: string) => {
  const nothing = { networkDeclineCode: null, networkAdviceCode: null, declineCategory: null };
  return findDeclineGroup({ ...nothing, gatewayCode: normalizeGatewayCode(code, gateway) }, VISA);
};

const EXPECTED: Record<string, Partial<Record<DeclineGroup, string>>> = {
  "Checkout.com": {
    FUNDS: "20051",
    GENERIC: "20005 20046 20059",
    LIMIT: "20061 20065",
    ISSUER_DOWN: "20091 20096",
    EXPIRED: "20054",
    INVALID_DATA: "20014 20087",
    AUTH_REQUIRED: "20154 20150",
    HARD_CARD: "20043 20041 30004 30041 30043 30046",
    REVOKED: "200R1 200r3",
    FRAUD: "40101 41101 43301",
  },
  NMI: {
    FUNDS: "202",
    GENERIC: "200 201 264",
    LIMIT: "203",
    ISSUER_DOWN: "400 421",
    EXPIRED: "223",
    INVALID_DATA: "225",
    HARD_CARD: "204 250 251 252",
    REVOKED: "261 262",
    FRAUD: "253",
  },
  CyberSource: {
    FUNDS: "204 INSUFFICIENT_FUND",
    GENERIC: "203 233 PROCESSOR_DECLINED",
    LIMIT: "210",
    ISSUER_DOWN: "207",
    EXPIRED: "202",
    INVALID_DATA: "211 231",
    AUTH_REQUIRED: "475",
    HARD_CARD: "205 STOLEN_LOST_CARD",
    FRAUD: "481",
  },
  "Authorize.Net": {
    GENERIC: "2 3",
    ISSUER_DOWN: "19",
    EXPIRED: "8",
    INVALID_DATA: "6 27 65",
    HARD_CARD: "4",
    FRAUD: "251",
  },
  "Mercado Pago": {
    FUNDS: "cc_rejected_insufficient_amount",
    GENERIC: "cc_rejected_other_reason",
    LIMIT: "cc_rejected_max_attempts",
    INVALID_DATA: "cc_rejected_bad_filled_date",
    HARD_CARD: "cc_rejected_card_disabled",
    FRAUD: "cc_rejected_high_risk cc_rejected_blacklist",
  },
  Mollie: {
    FUNDS: "insufficient_funds",
    GENERIC: "refused_by_issuer inactive_card",
    EXPIRED: "card_expired",
    INVALID_DATA: "invalid_card_number",
    AUTH_REQUIRED: "authentication_failed authentication_required",
    HARD_CARD: "card_stolen card_lost",
    FRAUD: "possible_fraud",
  },
  Paddle: {
    FUNDS: "not_enough_balance",
    GENERIC: "declined invalid_amount",
    ISSUER_DOWN: "issuer_unavailable psp_error system_error",
    EXPIRED: "expired_card",
    INVALID_DATA: "invalid_payment_details",
    AUTH_REQUIRED: "authentication_failed",
    HARD_CARD: "blocked_card declined_not_retryable transaction_not_permitted redacted_payment_method",
    REVOKED: "canceled",
    FRAUD: "fraud",
    UNKNOWN: "unknown",
  },
};

test("each gateway's most frequent codes are in the group chosen for them", () => {
  for (const [gateway, lists] of Object.entries(EXPECTED))
    for (const group of DECLINE_GROUPS)
      for (const code of lists[group]?.split(" ") ?? [])
        assert.equal(groupAt(code, gateway), group, `${gateway} ${code}`);
});

test("a stolen, lost or revoked card ends retries under every name of the gateway", () => {
  const names = {
    "20043 30041 30043 200R1": ["Checkout.com", "checkout", "checkout_com", "CheckoutCom", "cko-eu"],
    "251 252 261": ["NMI", "nmi_usd", "Network Merchants"],
    "205": ["CyberSource", "cybersource", "cyber_source", "Visa CyberSource"],
    "4": ["Authorize.Net", "authorize_net", "authorizenet", "AuthorizeNet", "auth.net"],
    canceled: ["Paddle", "paddle_billing"],
  };
  for (const [codes, gateways] of Object.entries(names))
    for (const code of codes.split(" "))
      for (const gateway of gateways) assert.ok(endsRetries(groupAt(code, gateway)), `${gateway} ${code}`);
});

test("a gateway's number has no meaning, not even as a response code, when another gateway or none is named", () => {
  for (const gateway of [undefined, "stripe", "Omnimi", "Stripe Checkout"])
    for (const code of ["200", "205", "252", "4", "41", "canceled"])
      assert.equal(groupAt(code, gateway), "UNKNOWN", `${code} ${gateway}`);
  assert.equal(groupAt("41", "NMI"), "UNKNOWN");
  assert.equal(groupAt("51", "Checkout.com"), "UNKNOWN");
  assert.deepEqual([groupAt("204", "NMI"), groupAt("204", "CyberSource")], ["HARD_CARD", "FUNDS"]);
});

test("a code that only Checkout.com uses is read when no gateway is named, and not when another one is", () => {
  assert.deepEqual(
    ["20043", "30041", "200R1", "20051"].map((code) => groupAt(code)),
    ["HARD_CARD", "HARD_CARD", "REVOKED", "FUNDS"],
  );
  for (const code of ["20000", "30100", "99999", "51"]) assert.equal(groupAt(code), "UNKNOWN", code);
  assert.equal(groupAt("20043", "QuickPay"), "UNKNOWN");
});

test("a gateway's own number in the network's field is read when the gateway is named, and response codes keep their meaning", () => {
  const at = (code: string, gateway: string | null, network = "visa") => {
    const nothing = { gatewayCode: null, networkAdviceCode: null, declineCategory: null };
    const networkDeclineCode = normalizeNetworkCode(code, network, gateway);
    return findDeclineGroup({ ...nothing, networkDeclineCode }, { ...VISA, network });
  };
  assert.deepEqual(
    [
      at("20043", "Checkout.com"),
      at("20051", null),
      at("252", "NMI"),
      at("204", "cybersource"),
      at("2001", "Braintree"),
    ],
    ["HARD_CARD", "FUNDS", "HARD_CARD", "FUNDS", "FUNDS"],
  );
  assert.equal(at("51", "Authorize.Net"), "FUNDS");
  assert.equal(at("12", "Adyen"), "HARD_CARD", "an invalid transaction, and not Adyen's missing funds");
  assert.equal(at("8", "Authorize.Net"), "UNKNOWN");
  assert.equal(at("202", "NMI", "amex"), "HARD_CARD", "American Express's own number");
  assert.equal(at("252", null), "UNKNOWN");
  assert.equal(normalizeNetworkCode("299", "visa", "NMI"), "299");
});

test("a file of rules can give any gateway's number a group, and the number stays unknown elsewhere", () => {
  assert.deepEqual(
    [ruleCodeOf("77", "Acme Pay"), ruleCodeOf("77"), ruleCodeOf("odd", "Acme"), ruleCodeOf("299", "NMI")],
    ["Acme Pay 77", "77", "odd", "nmi 299"],
  );
  setGatewayCode("acme pay 77", "HARD_CARD");
  assert.equal(groupAt("77", "Acme Pay"), "HARD_CARD");
  for (const gateway of [undefined, "Other"]) assert.equal(groupAt("77", gateway), "UNKNOWN");
});
