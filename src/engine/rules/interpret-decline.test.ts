import assert from "node:assert/strict";
import { test } from "node:test";
import { ADVICE_CODES } from "./advice-codes.ts";
import { DECLINE_GROUPS, endsRetries } from "./decline-groups.ts";
import { GATEWAY_CODES, normalizeGatewayCode } from "./gateway-codes.ts";
import { CATEGORIES, GATEWAYS } from "./gateway-tables.ts";
import type { Instrument } from "./instrument.ts";
import { type DeclineCodes, describeCodes, findDeclineGroup, interpretDecline } from "./interpret-decline.ts";
import { mayNeedCustomer, RESPONSE_CODES } from "./response-codes.ts";

const NOTHING: DeclineCodes = {
  networkDeclineCode: null,
  networkAdviceCode: null,
  gatewayCode: null,
  declineCategory: null,
};
const VISA: Instrument = { paymentMethodType: "card", network: "visa", cardCountry: "US" };
const MASTERCARD: Instrument = { paymentMethodType: "card", network: "mastercard", cardCountry: "US" };
const AMEX: Instrument = { paymentMethodType: "card", network: "amex", cardCountry: "US" };
const UNKNOWN: Instrument = { paymentMethodType: null, network: null, cardCountry: null };

const groupOf = (codes: Partial<DeclineCodes>, instrument = VISA) =>
  findDeclineGroup({ ...NOTHING, ...codes }, instrument);

test("every response code in the table gives its group, in any spelling", () => {
  for (const [code, row] of RESPONSE_CODES) {
    assert.equal(groupOf({ networkDeclineCode: code }), row.group, code);
    assert.equal(groupOf({ networkDeclineCode: ` ${code.toLowerCase().replace(/^0/, "")} ` }), row.group, code);
  }
});

test("every code that Visa blocks permanently ends retries and is marked so", () => {
  for (const [code, row] of RESPONSE_CODES) {
    const read = interpretDecline({ ...NOTHING, networkDeclineCode: code }, VISA);
    assert.equal(read.category1, row.category === 1 ? row.source : null, code);
    if (row.category === 1) assert.ok(endsRetries(read.group), code);
  }
});

test("the lists of Visa's categories are completely in the table", () => {
  const lists = {
    1: "04 07 12 14 15 41 43 46 57 R0 R1 R3",
    2: "03 19 39 51 52 53 59 61 62 65 75 78 86 91 93 96 N3 N4 Z5 5C 9G",
    3: "54 55 82 1A 6P N7 63",
  };
  for (const [category, codes] of Object.entries(lists))
    for (const code of codes.split(" ")) assert.equal(RESPONSE_CODES.get(code)?.category, Number(category), code);
});

test("every Mastercard advice code in the table is read on a Mastercard", () => {
  const codes = "01 02 03 04 05 21 22 24 25 26 27 28 29 30 40 41 42 43".split(" ");
  assert.deepEqual(
    ADVICE_CODES.map((advice) => advice.code),
    codes,
  );
  for (const advice of ADVICE_CODES) {
    assert.equal(interpretDecline({ ...NOTHING, networkAdviceCode: advice.code }, MASTERCARD).advice, advice);
    assert.equal(groupOf({ networkAdviceCode: advice.code }, MASTERCARD), advice.group ?? "UNKNOWN", advice.code);
  }
});

test("each code is described as pushed, a gateway's number with its name, listed or not, on one line of limited length without control characters", () => {
  const named = (codes: Partial<DeclineCodes>) => describeCodes({ ...NOTHING, ...codes });
  assert.equal(named({}), null);
  assert.equal(named({ networkDeclineCode: " ", gatewayCode: "" }), null);
  assert.equal(named({ networkDeclineCode: "ZZ9" }), "code ZZ9");
  assert.equal(named({ gatewayCode: "fraudulent" }), "gateway code fraudulent");
  assert.equal(named({ networkDeclineCode: "51", gatewayCode: "51" }), "code 51");
  assert.equal(
    named({ networkDeclineCode: "51", gatewayCode: "insufficient_funds", declineCategory: "DECLINE_CATEGORY_SOFT" }),
    "code 51, gateway code insufficient_funds, category SOFT",
  );
  assert.equal(
    named({ networkDeclineCode: "51\n", gatewayCode: normalizeGatewayCode("5", "Adyen") }),
    "code 51, gateway code adyen 5",
  );
  assert.equal(named({ networkDeclineCode: "\u001b[31m\u202e05\u2028x" }), "code ·[31m·05·x");
  assert.equal(named({ gatewayCode: "\u{1d7d8}".repeat(255) }), `gateway code ${"\u{1d7d8}".repeat(40)}…`);
});

test("a code and an advice of the same bank are both named, with both meanings when they agree", () => {
  const describe = (networkDeclineCode: string, networkAdviceCode: string, instrument = MASTERCARD) => {
    const codes = { ...NOTHING, networkDeclineCode, networkAdviceCode };
    return `${interpretDecline(codes, instrument).words} (${describeCodes(codes)})`;
  };
  assert.equal(
    describe("54", "01"),
    `${RESPONSE_CODES.get("54")!.words}, and there is newer card data (code 54, advice code 01)`,
  );
  assert.equal(describe("05", "01"), "there is newer card data (code 05, advice code 01)");
  assert.equal(
    describe("54", "01", VISA),
    `${RESPONSE_CODES.get("54")!.words} (code 54, advice code 01)`,
    "advice that is not read says nothing",
  );
});

test("an advice code is read without a gateway's words after it", () => {
  for (const { code } of ADVICE_CODES)
    for (const spelling of [`${code} : Do not try again`, `${code}: Try again later`, ` ${Number(code)} :`])
      assert.deepEqual(
        interpretDecline({ ...NOTHING, networkAdviceCode: spelling }, MASTERCARD).advice,
        ADVICE_CODES.find((each) => each.code === code),
        spelling,
      );
  assert.equal(
    groupOf({ networkDeclineCode: "51 : Insufficient funds", networkAdviceCode: "03 : Do not try again" }),
    "HARD_CARD",
  );
  assert.equal(interpretDecline({ ...NOTHING, networkAdviceCode: "03 days : wait" }, MASTERCARD).advice, null);
});

test("a Visa card heeds no advice except to never retry", () => {
  assert.equal(groupOf({ networkAdviceCode: "03" }), "HARD_CARD");
  assert.equal(groupOf({ networkAdviceCode: "21" }), "REVOKED");
  assert.equal(groupOf({ networkAdviceCode: "01", networkDeclineCode: "51" }), "FUNDS");
  assert.equal(groupOf({ networkAdviceCode: "01", networkDeclineCode: "51" }, MASTERCARD), "EXPIRED");
});

test("Visa's category 1 in the advice field counts when no code contradicts it", () => {
  const never = (networkAdviceCode: string, networkDeclineCode: string | null, instrument = VISA) => {
    const read = interpretDecline({ ...NOTHING, networkAdviceCode, networkDeclineCode }, instrument);
    return read.category1 !== null && read.group === "HARD_CARD";
  };
  assert.deepEqual(
    [never("1", null), never("01", "ZZ"), never("1", "51"), never("2", null)],
    [true, true, false, false],
  );
  assert.equal(never("1", null, AMEX), false);
  assert.equal(groupOf({ networkAdviceCode: "1" }, MASTERCARD), "EXPIRED");
});

test("every gateway code and category in the tables gives its group", () => {
  for (const [code, expected] of GATEWAY_CODES) {
    assert.equal(groupOf({ gatewayCode: code }), expected, code);
    assert.equal(groupOf({ gatewayCode: code.toUpperCase().replaceAll("_", " ") }), expected, code);
  }
  for (const [suffix, expected] of CATEGORIES.groups) {
    assert.equal(groupOf({ declineCategory: `DECLINE_CATEGORY_${suffix}` }), expected, suffix);
    assert.equal(groupOf({ declineCategory: suffix }), expected, suffix);
  }
  for (const name of DECLINE_GROUPS) assert.equal(groupOf({ declineCategory: name }), name);
});

test("no gateway's code belongs to another group at a second gateway", () => {
  for (const { groups } of Object.values(GATEWAYS))
    for (const [code, expected] of groups) assert.equal(GATEWAY_CODES.get(code), expected, code);
});

test("a gateway's numbers are read by its name, and have no meaning alone", () => {
  const groupOfCode = (code: string, gateway?: string) => groupOf({ gatewayCode: normalizeGatewayCode(code, gateway) });
  assert.equal(groupOfCode("12", "Adyen"), "FUNDS");
  assert.equal(groupOfCode("06", "adyen_eu"), "EXPIRED");
  assert.equal(groupOfCode("2001", "PayPal Braintree"), "FUNDS");
  assert.equal(groupOfCode("2047", "braintree"), "HARD_CARD");
  assert.equal(groupOfCode("Not enough balance"), "FUNDS");
  for (const gateway of [undefined, "stripe"])
    for (const code of ["12", "6", "2001", "2047"])
      assert.equal(groupOfCode(code, gateway), "UNKNOWN", `${code} ${gateway}`);
  assert.equal(groupOfCode("insufficient_funds", "Braintree"), "FUNDS");
  assert.equal(normalizeGatewayCode(undefined, "Adyen"), null);
});

test("a camelCase code is read like its snake_case spelling, and other spellings keep their meaning", () => {
  const groups = {
    lostCard: "HARD_CARD",
    StolenCard: "HARD_CARD",
    insufficientFunds: "FUNDS",
    doNotHonor: "GENERIC",
    accountClosed: "HARD_CARD",
    revocationOfAllAuthorizations: "REVOKED",
    LOST_CARD: "HARD_CARD",
    "PayPal Hard Decline": "HARD_CARD",
    "3D Not Authenticated": "AUTH_REQUIRED",
    "3DSecure": "UNKNOWN",
    NSF: "FUNDS",
  };
  for (const [code, expected] of Object.entries(groups)) assert.equal(groupOf({ gatewayCode: code }), expected, code);
  assert.equal(groupOf({ declineCategory: "insufficientFunds" }), "FUNDS");
  assert.equal(groupOf({ gatewayCode: "paymentFailed" }, { ...UNKNOWN, paymentMethodType: "sepa_debit" }), "UNKNOWN");
});

test("a request to keep the card ends retries on every network", () => {
  for (const code of ["33", "34", "35", "36", "37", "38", "67"])
    for (const instrument of [VISA, MASTERCARD, AMEX, UNKNOWN])
      assert.equal(groupOf({ networkDeclineCode: code }, instrument), "HARD_CARD", code);
  for (const code of ["200", "204", "208", "210"])
    assert.equal(groupOf({ networkDeclineCode: code }, AMEX), "HARD_CARD", code);
});

test("a response code is read with a gateway's zeros and words around it, and shown without the words", () => {
  const same = {
    "41": ["041", "0041", "41 : Lost card", "41: Lost card"],
    "51": ["051", "51 : Insufficient funds/over credit limit"],
  };
  for (const [code, spellings] of Object.entries(same))
    for (const spelling of spellings) {
      const { group: read, words } = interpretDecline({ ...NOTHING, networkDeclineCode: spelling }, VISA);
      assert.deepEqual([read, words], [RESPONSE_CODES.get(code)!.group, RESPONSE_CODES.get(code)!.words], spelling);
    }
  const read = interpretDecline({ ...NOTHING, networkDeclineCode: "r1 : Revocation of authorisation" }, VISA);
  assert.deepEqual([describeCodes(read.codes), read.group], ["code r1 : Revocation of authorisation", "REVOKED"]);
  assert.equal(groupOf({ networkDeclineCode: "59 : Suspected fraud", declineCategory: "HARD" }), "FRAUD");
});

test("American Express's three-digit codes mean the same as two-digit ones, or are its own, and are read on no other card", () => {
  const groupOfCode = (code: string, instrument = AMEX) => groupOf({ networkDeclineCode: code }, instrument);
  const groups = {
    GENERIC: "100 102 103 104 105 106 107 108 109 110 114 115 120 125 129 181 904 913",
    EXPIRED: "101 187",
    INVALID_DATA: "111 117 118 122",
    FUNDS: "116",
    LIMIT: "121 123",
    ISSUER_DOWN: "903 907 908 909 911 912",
    HARD_CARD: "119 124 183 189 200 201 202 203 204 205 206 207 208 209 210 902",
  };
  const codes = Object.entries(groups).flatMap(([expected, all]) =>
    all.split(" ").map((code) => [code, expected] as const),
  );
  for (const [code, expected] of codes) assert.equal(groupOfCode(code), expected, code);
  const { words, source } = RESPONSE_CODES.get("41")!;
  const lost = interpretDecline({ ...NOTHING, networkDeclineCode: "208" }, AMEX);
  assert.deepEqual([lost.words, lost.category1], [words, source]);
  const blockingCodes = codes.filter(
    ([code]) => interpretDecline({ ...NOTHING, networkDeclineCode: code }, AMEX).category1,
  );
  assert.deepEqual(blockingCodes.map(([code]) => code).join(" "), "111 119 189 200 207 208 209 902");
  assert.equal(groupOfCode("0208"), "HARD_CARD");
  const elsewhere = [VISA, MASTERCARD, UNKNOWN];
  for (const code of ["116", "122", "183", "187", "200", "202", "208 : Lost card"])
    for (const instrument of elsewhere) {
      const { group: read, category1 } = interpretDecline({ ...NOTHING, networkDeclineCode: code }, instrument);
      assert.deepEqual([read, category1], ["UNKNOWN", null], code);
    }
  for (const instrument of elsewhere) assert.equal(groupOfCode("051", instrument), "FUNDS");
});

test("the same words mean the same at every gateway and at the bank", () => {
  const noAction = [
    { gatewayCode: "no_action_taken" },
    { gatewayCode: "braintree 2034" },
    { networkDeclineCode: "21" },
  ];
  for (const codes of noAction) assert.equal(groupOf(codes), "GENERIC", JSON.stringify(codes));
  const pin = [{ gatewayCode: "online_or_offline_pin_required" }, { gatewayCode: "adyen 33" }];
  for (const codes of pin) assert.equal(groupOf(codes), "AUTH_REQUIRED", JSON.stringify(codes));
});

test("a gateway that forbids a retry, or blocks an attempt, is respected", () => {
  const ends = `adyen_46 adyen_42 adyen_50 braintree_2020 braintree_2101 braintree_2074 not_permitted incorrect_address
    offline_pin_required cvv_required paypal_hard_decline testmode_decline`;
  for (const code of ends.split(/\s+/)) assert.ok(endsRetries(groupOf({ gatewayCode: code })), code);
  assert.equal(groupOf({ gatewayCode: "braintree_2500" }), "GENERIC");
});

test("the most restrictive fact wins over a milder one, from any field", () => {
  assert.equal(groupOf({ networkDeclineCode: "51", gatewayCode: "stolen_card" }), "HARD_CARD");
  assert.equal(groupOf({ networkDeclineCode: "41", gatewayCode: "generic_decline" }), "HARD_CARD");
  assert.equal(groupOf({ networkDeclineCode: "R1", declineCategory: "DECLINE_CATEGORY_FRAUD" }), "REVOKED");
  assert.equal(groupOf({ networkDeclineCode: "05", gatewayCode: "fraudulent" }), "FRAUD");
});

test("a reason that suggests a time wins over one that suggests none", () => {
  assert.equal(groupOf({ networkDeclineCode: "05", gatewayCode: "insufficient_funds" }), "FUNDS");
  assert.equal(groupOf({ networkDeclineCode: "51", gatewayCode: "do_not_honor" }), "FUNDS");
});

test("the bare category HARD counts only when no cause is reported", () => {
  const hard = "DECLINE_CATEGORY_HARD";
  assert.equal(groupOf({ declineCategory: hard }), "HARD_CARD");
  assert.equal(groupOf({ declineCategory: hard, networkDeclineCode: "05" }), "HARD_CARD");
  assert.equal(groupOf({ declineCategory: hard, networkDeclineCode: "51" }), "FUNDS");
  for (const code of ["59", "63", "83"]) {
    assert.equal(groupOf({ networkDeclineCode: code }), "GENERIC", code);
    for (const spelling of [code, `0${code}`, `0${code} : Suspected fraud`])
      assert.equal(groupOf({ declineCategory: hard, networkDeclineCode: spelling }), "FRAUD", spelling);
  }
  assert.equal(groupOf({ declineCategory: hard, networkDeclineCode: "102" }, AMEX), "FRAUD");
  assert.equal(groupOf({ declineCategory: "DECLINE_CATEGORY_SOFT" }), "GENERIC");
});

test("a code in no table is unknown", () => {
  assert.equal(groupOf({}), "UNKNOWN");
  assert.equal(groupOf({ declineCategory: "DECLINE_CATEGORY_MOON_PHASE" }), "UNKNOWN");
  assert.equal(groupOf({ gatewayCode: "card_declined", networkDeclineCode: "QQ" }), "UNKNOWN");
});

test("65 is a limit, and may require the customer on a European card that is not a Visa", () => {
  assert.equal(groupOf({ networkDeclineCode: "65" }, { ...MASTERCARD, cardCountry: "DE" }), "LIMIT");
  assert.equal(
    groupOf({ networkDeclineCode: "65", gatewayCode: "authentication_required" }, { ...MASTERCARD, cardCountry: "DE" }),
    "AUTH_REQUIRED",
  );
  assert.equal(mayNeedCustomer("65", "mastercard", "DE"), true);
  assert.equal(mayNeedCustomer("65", "mastercard", "GB"), true);
  assert.equal(mayNeedCustomer("065", "mastercard", "GB"), true);
  assert.equal(mayNeedCustomer("123", "amex", "DE"), true);
  assert.equal(mayNeedCustomer("123", "mastercard", "DE"), false);
  assert.equal(mayNeedCustomer("65", "mastercard", "US"), false);
  assert.equal(mayNeedCustomer("65", "visa", "DE"), false);
  assert.equal(mayNeedCustomer("61", "mastercard", "DE"), false);
});
