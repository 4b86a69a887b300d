import assert from "node:assert/strict";
import { test } from "node:test";
import { BANK_DEBITS } from "./bank-debits.ts";
import { type DeclineCodes, declineGroup, readDecline } from "./decline-group.ts";
import type { Instrument } from "./instrument.ts";

const NOTHING: DeclineCodes = {
  networkDeclineCode: null,
  networkAdviceCode: null,
  gatewayCode: null,
  declineCategory: null,
};
const bank = (paymentMethodType: string): Instrument => ({ paymentMethodType, network: null, cardCountry: null });
const group = (codes: Partial<DeclineCodes>, instrument: Instrument) =>
  declineGroup({ ...NOTHING, ...codes }, instrument);

test("bank return codes are read by the kind of debit, and strange ones end retries", () => {
  for (const [type, debit] of BANK_DEBITS) {
    for (const code of debit.representable) {
      assert.equal(group({ networkDeclineCode: code }, bank(type)), "FUNDS");
      assert.equal(group({ gatewayCode: code.toLowerCase() }, bank(type)), "FUNDS");
    }
    assert.equal(group({ networkDeclineCode: "XX99?" }, bank(type)), "HARD_CARD");
  }
  assert.equal(group({ networkDeclineCode: "R11" }, bank("ach_debit")), "HARD_CARD");
  assert.equal(group({ networkDeclineCode: "AC04" }, bank("sepa_debit")), "HARD_CARD");
  assert.equal(group({ networkDeclineCode: "6" }, bank("bacs_debit")), "HARD_CARD");
  assert.equal(group({ gatewayCode: "ARUDD-0" }, bank("bacs")), "FUNDS");
  assert.equal(group({ networkDeclineCode: "ARUDD-B" }, bank("bacs")), "HARD_CARD");
});

test("a bank's return code is read with the words that gateways write behind it, in both fields", () => {
  const written = {
    sepa_debit: {
      FUNDS: ["AM04 : Insufficient funds", "AM04: Insufficient funds", "ms03 - not told", "AM04 Insufficient funds"],
      REVOKED: ["MD01 : No mandate"],
    },
    ach_debit: {
      FUNDS: ["R01 : Insufficient", "R01 - Insufficient funds", "NSF"],
      REVOKED: ["R10: Not authorized"],
      HARD_CARD: ["R02 - Account closed", "R011"],
    },
    bacs_debit: {
      FUNDS: ["0 : Refer to payer", "ARUDD-0 - Refer to payer"],
      REVOKED: ["1: Instruction cancelled"],
      HARD_CARD: ["B - Account closed", "a debit of old"],
    },
  };
  for (const [type, groups] of Object.entries(written))
    for (const [expected, spellings] of Object.entries(groups))
      for (const code of spellings) {
        assert.equal(group({ networkDeclineCode: code }, bank(type)), expected, `${type} ${code}`);
        assert.equal(group({ gatewayCode: code }, bank(type)), expected, `${type} ${code}, by the gateway`);
      }
  assert.equal(group({ gatewayCode: "NSF" }, bank("card")), "FUNDS");
});

test("after a debit that the customer denied, or whose account's holder has died, nothing is asked for any more", () => {
  const ended = { ach_debit: "R05 R07 R08 R10 R14 R15 R29", sepa_debit: "MD01 MD07", bacs_debit: "1 2" };
  for (const [type, codes] of Object.entries(ended))
    for (const code of codes.split(" "))
      assert.equal(group({ networkDeclineCode: code }, bank(type)), "REVOKED", `${type} ${code}`);
  const said = (codes: Partial<DeclineCodes>, type: string) => readDecline({ ...NOTHING, ...codes }, bank(type)).words;
  assert.equal(said({ networkDeclineCode: "MD07" }, "sepa_debit"), "the account's holder has died");
  assert.equal(said({ gatewayCode: "recipient_deceased" }, "sepa_debit"), "the account's holder has died");
  assert.equal(said({ gatewayCode: "payer_deceased" }, "bacs"), "the account's holder has died");
  assert.match(said({ networkDeclineCode: "R10" }, "ach_debit")!, /the debit was not authorized/);
});

test("a gateway's words for what a bank says of a debit are read, and a reason that no table knows is none that allows another try", () => {
  const words = {
    FUNDS: "insufficient_funds refer_to_customer refer_to_payer",
    HARD_CARD: `account_closed bank_account_closed no_account bank_account_restricted debit_disputed mandate_invalid
      debit_authorization_not_match bank_account_transferred direct_debit_not_enabled generic_could_not_process
      a_reason_of_tomorrow`,
    INVALID_DATA: "invalid_account_number_length incorrect_account_holder_name invalid_bank_details",
    REVOKED: "debit_not_authorized authorization_revoked mandate_cancelled authorisation_disputed payment_stopped",
    UNKNOWN: "payment_failed card_declined other",
  };
  for (const type of ["sepa_debit", "us_bank_account", "bacs"])
    for (const [expected, codes] of Object.entries(words))
      for (const code of codes.split(/\s+/))
        assert.equal(group({ gatewayCode: code }, bank(type)), expected, `${type} ${code}`);
  assert.equal(group({ gatewayCode: "a_reason_of_tomorrow", networkDeclineCode: "AM04" }, bank("sepa_debit")), "FUNDS");
  assert.equal(group({ gatewayCode: "a_reason_of_tomorrow", declineCategory: "NSF" }, bank("sepa_debit")), "FUNDS");
  assert.equal(group({ gatewayCode: "a_reason_of_tomorrow", declineCategory: "SOFT" }, bank("sepa_debit")), "GENERIC");
  assert.equal(group({ networkDeclineCode: "other" }, bank("sepa_debit")), "UNKNOWN");
  assert.equal(group({}, bank("sepa_debit")), "UNKNOWN", "nothing was said at all");
  assert.equal(group({ gatewayCode: "a_reason_of_tomorrow" }, bank("card")), "UNKNOWN");
});
