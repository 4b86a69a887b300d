import assert from "node:assert/strict";
import { test } from "node:test";
import { ADVICE_CODES } from "./advice-codes.ts";
import { BANK_DEBITS } from "./bank-debits.ts";
import { type DeclineCodes, declineGroup, readDecline } from "./decline-group.ts";
import { DECLINE_GROUPS, endsRetries } from "./decline-groups.ts";
import { CATEGORIES, GATEWAY_CODES, GATEWAYS, gatewayCodeOf } from "./gateway-codes.ts";
import type { Instrument } from "./instrument.ts";
import { mayWantCustomer, RESPONSE_CODES } from "./response-codes.ts";

const NOTHING: DeclineCodes = {
  networkDeclineCode: null,
  networkAdviceCode: null,
  gatewayCode: null,
  declineCategory: null,
};
const VISA: Instrument = { paymentMethodType: "card", network: "visa", cardCountry: "US" };
const MASTERCARD: Instrument = { paymentMethodType: "card", network: "mastercard", cardCountry: "US" };
const UNKNOWN: Instrument = { paymentMethodType: null, network: null, cardCountry: null };

const group = (codes: Partial<DeclineCodes>, instrument = VISA) => declineGroup({ ...NOTHING, ...codes }, instrument);

test("every response code of the table gives its group, in any spelling", () => {
  for (const [code, row] of RESPONSE_CODES) {
    assert.equal(group({ networkDeclineCode: code }), row.group, code);
    assert.equal(group({ networkDeclineCode: ` ${code.toLowerCase().replace(/^0/, "")} ` }), row.group, code);
  }
});

test("every code that Visa bars for good ends retries and is marked so", () => {
  for (const [code, row] of RESPONSE_CODES) {
    const read = readDecline({ ...NOTHING, networkDeclineCode: code }, VISA);
    assert.equal(read.category1, row.category === 1, code);
    if (row.category === 1) assert.ok(endsRetries(read.group), code);
  }
});

test("the decided lists of Visa's categories are all in the table", () => {
  const lists = {
    1: "04 07 12 14 15 41 43 46 57 R0 R1 R3",
    2: "03 19 39 51 52 53 59 61 62 65 75 78 86 91 93 96 N3 N4 Z5 5C 9G",
    3: "54 55 82 1A 6P N7 63",
  };
  for (const [category, codes] of Object.entries(lists))
    for (const code of codes.split(" ")) assert.equal(RESPONSE_CODES.get(code)?.category, Number(category), code);
});

test("every Mastercard advice code of the table is read on a Mastercard", () => {
  const codes = "01 02 03 04 05 21 22 24 25 26 27 28 29 30 40 41 42 43".split(" ");
  assert.deepEqual(
    ADVICE_CODES.map((advice) => advice.code),
    codes,
  );
  for (const advice of ADVICE_CODES) {
    assert.equal(readDecline({ ...NOTHING, networkAdviceCode: advice.code }, MASTERCARD).advice, advice);
    assert.equal(group({ networkAdviceCode: advice.code }, MASTERCARD), advice.group ?? "UNKNOWN", advice.code);
  }
});

test("where the bank sent a code and an advice both are named, and what each says where they agree", () => {
  const said = (networkDeclineCode: string, networkAdviceCode: string, instrument = MASTERCARD) => {
    const { words, codeWords } = readDecline({ ...NOTHING, networkDeclineCode, networkAdviceCode }, instrument);
    return `${words} (${codeWords})`;
  };
  assert.equal(
    said("54", "01"),
    `${RESPONSE_CODES.get("54")!.words}, and there is newer card data (code 54, advice code 01)`,
  );
  assert.equal(said("05", "01"), "there is newer card data (code 05, advice code 01)");
  assert.equal(
    said("54", "01", VISA),
    `${RESPONSE_CODES.get("54")!.words} (code 54)`,
    "advice that is not read is not named",
  );
});

test("on a Visa card only the advice never to try again is believed", () => {
  assert.equal(group({ networkAdviceCode: "03" }), "HARD_CARD");
  assert.equal(group({ networkAdviceCode: "21" }), "REVOKED");
  assert.equal(group({ networkAdviceCode: "01", networkDeclineCode: "51" }), "FUNDS");
  assert.equal(group({ networkAdviceCode: "01", networkDeclineCode: "51" }, MASTERCARD), "EXPIRED");
});

test("every gateway code and category of the tables gives its group", () => {
  for (const [code, expected] of GATEWAY_CODES) {
    assert.equal(group({ gatewayCode: code }), expected, code);
    assert.equal(group({ gatewayCode: code.toUpperCase().replaceAll("_", " ") }), expected, code);
  }
  for (const [suffix, expected] of CATEGORIES) {
    assert.equal(group({ declineCategory: `DECLINE_CATEGORY_${suffix}` }), expected, suffix);
    assert.equal(group({ declineCategory: suffix }), expected, suffix);
  }
  for (const name of DECLINE_GROUPS) assert.equal(group({ declineCategory: name }), name);
});

test("no code of one gateway stands for another group at a second one", () => {
  for (const codes of Object.values(GATEWAYS))
    for (const [code, expected] of codes) assert.equal(GATEWAY_CODES.get(code), expected, code);
});

test("a gateway's numbers are read by its name, and alone they mean nothing", () => {
  const of = (code: string, gateway?: string) => group({ gatewayCode: gatewayCodeOf(code, gateway) });
  assert.equal(of("12", "Adyen"), "FUNDS");
  assert.equal(of("06", "adyen_eu"), "EXPIRED");
  assert.equal(of("2001", "PayPal Braintree"), "FUNDS");
  assert.equal(of("2047", "braintree"), "HARD_CARD");
  assert.equal(of("Not enough balance"), "FUNDS");
  for (const gateway of [undefined, "stripe"])
    for (const code of ["12", "6", "2001", "2047"]) assert.equal(of(code, gateway), "UNKNOWN", `${code} ${gateway}`);
  assert.equal(of("insufficient_funds", "Braintree"), "FUNDS");
  assert.equal(gatewayCodeOf(undefined, "Adyen"), null);
});

test("bank return codes are read by the kind of debit, and strange ones end retries", () => {
  const bank = (paymentMethodType: string): Instrument => ({ ...UNKNOWN, paymentMethodType });
  for (const [type, debit] of BANK_DEBITS) {
    for (const code of debit.representable) {
      assert.equal(group({ networkDeclineCode: code }, bank(type)), "FUNDS");
      assert.equal(group({ gatewayCode: code.toLowerCase() }, bank(type)), "FUNDS");
    }
    assert.equal(group({ networkDeclineCode: "XX99?" }, bank(type)), "HARD_CARD");
  }
  assert.equal(group({ networkDeclineCode: "R07" }, bank("ach_debit")), "REVOKED");
  assert.equal(group({ networkDeclineCode: "R08" }, bank("ach_debit")), "HARD_CARD");
  assert.equal(group({ networkDeclineCode: "AC04" }, bank("sepa_debit")), "HARD_CARD");
  assert.equal(group({ networkDeclineCode: "1" }, bank("bacs_debit")), "HARD_CARD");
  assert.equal(group({ gatewayCode: "payment_failed" }, bank("sepa_debit")), "UNKNOWN");
});

test("the most restrictive fact wins over a milder one, whichever field says it", () => {
  assert.equal(group({ networkDeclineCode: "51", gatewayCode: "stolen_card" }), "HARD_CARD");
  assert.equal(group({ networkDeclineCode: "41", gatewayCode: "generic_decline" }), "HARD_CARD");
  assert.equal(group({ networkDeclineCode: "R1", declineCategory: "DECLINE_CATEGORY_FRAUD" }), "REVOKED");
  assert.equal(group({ networkDeclineCode: "05", gatewayCode: "fraudulent" }), "FRAUD");
});

test("a reason that tells when wins over one that tells nothing", () => {
  assert.equal(group({ networkDeclineCode: "05", gatewayCode: "insufficient_funds" }), "FUNDS");
  assert.equal(group({ networkDeclineCode: "51", gatewayCode: "do_not_honor" }), "FUNDS");
});

test("the bare category HARD speaks only where no cause is known", () => {
  const hard = "DECLINE_CATEGORY_HARD";
  assert.equal(group({ declineCategory: hard }), "HARD_CARD");
  assert.equal(group({ declineCategory: hard, networkDeclineCode: "05" }), "HARD_CARD");
  assert.equal(group({ declineCategory: hard, networkDeclineCode: "51" }), "FUNDS");
  for (const code of ["59", "63"]) {
    assert.equal(group({ networkDeclineCode: code }), "GENERIC", code);
    assert.equal(group({ declineCategory: hard, networkDeclineCode: code }), "FRAUD", code);
  }
  assert.equal(group({ declineCategory: "DECLINE_CATEGORY_SOFT" }), "GENERIC");
});

test("what is in no table is unknown", () => {
  assert.equal(group({}), "UNKNOWN");
  assert.equal(group({ declineCategory: "DECLINE_CATEGORY_MOON_PHASE" }), "UNKNOWN");
  assert.equal(group({ gatewayCode: "card_declined", networkDeclineCode: "QQ" }), "UNKNOWN");
});

test("65 is a limit, and may want the customer on a European card that is not a Visa", () => {
  assert.equal(group({ networkDeclineCode: "65" }, { ...MASTERCARD, cardCountry: "DE" }), "LIMIT");
  assert.equal(
    group({ networkDeclineCode: "65", gatewayCode: "authentication_required" }, { ...MASTERCARD, cardCountry: "DE" }),
    "AUTH_REQUIRED",
  );
  assert.equal(mayWantCustomer("65", "Mastercard", "DE"), true);
  assert.equal(mayWantCustomer("65", "Mastercard", "GB"), true);
  assert.equal(mayWantCustomer("65", "Mastercard", "US"), false);
  assert.equal(mayWantCustomer("65", "Visa", "DE"), false);
  assert.equal(mayWantCustomer("61", "Mastercard", "DE"), false);
});
