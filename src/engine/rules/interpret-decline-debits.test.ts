import assert from "node:assert/strict";
import { test } from "node:test";
import { BANK_DEBITS } from "./bank-debits.ts";
import type { Instrument } from "./instrument.ts";
import { type DeclineCodes, findDeclineGroup, interpretDecline } from "./interpret-decline.ts";

const NOTHING: DeclineCodes = {
  networkDeclineCode: null,
  networkAdviceCode: null,
  gatewayCode: null,
  declineCategory: null,
};
const buildDebit = (paymentMethodType: string): Instrument => ({ paymentMethodType, network: null, cardCountry: null });
const groupOf = (codes: Partial<DeclineCodes>, instrument: Instrument) =>
  findDeclineGroup({ ...NOTHING, ...codes }, instrument);

test("bank return codes are read by debit scheme, and unlisted ones end retries", () => {
  for (const [type, debit] of BANK_DEBITS) {
    for (const code of debit.representable) {
      assert.equal(groupOf({ networkDeclineCode: code }, buildDebit(type)), "FUNDS");
      assert.equal(groupOf({ gatewayCode: code.toLowerCase() }, buildDebit(type)), "FUNDS");
    }
    assert.equal(groupOf({ networkDeclineCode: "XX99?" }, buildDebit(type)), "HARD_CARD");
  }
  assert.equal(groupOf({ networkDeclineCode: "R11" }, buildDebit("ach_debit")), "HARD_CARD");
  assert.equal(groupOf({ networkDeclineCode: "AC04" }, buildDebit("sepa_debit")), "HARD_CARD");
  assert.equal(groupOf({ networkDeclineCode: "6" }, buildDebit("bacs_debit")), "HARD_CARD");
  assert.equal(groupOf({ gatewayCode: "ARUDD-0" }, buildDebit("bacs")), "FUNDS");
  assert.equal(groupOf({ networkDeclineCode: "ARUDD-B" }, buildDebit("bacs")), "HARD_CARD");
});

test("a bank's return code is read with a gateway's words after it, in both fields", () => {
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
        assert.equal(groupOf({ networkDeclineCode: code }, buildDebit(type)), expected, `${type} ${code}`);
        assert.equal(groupOf({ gatewayCode: code }, buildDebit(type)), expected, `${type} ${code}, by the gateway`);
      }
  assert.equal(groupOf({ gatewayCode: "NSF" }, buildDebit("card")), "FUNDS");
});

test("a debit that the customer denied, or whose account holder has died, ends all requests", () => {
  const ended = { ach_debit: "R05 R07 R08 R10 R14 R15 R29", sepa_debit: "MD01 MD07", bacs_debit: "1 2" };
  for (const [type, codes] of Object.entries(ended))
    for (const code of codes.split(" "))
      assert.equal(groupOf({ networkDeclineCode: code }, buildDebit(type)), "REVOKED", `${type} ${code}`);
  const describe = (codes: Partial<DeclineCodes>, type: string) =>
    interpretDecline({ ...NOTHING, ...codes }, buildDebit(type)).words;
  assert.equal(describe({ networkDeclineCode: "MD07" }, "sepa_debit"), "the account's holder has died");
  assert.equal(describe({ gatewayCode: "recipient_deceased" }, "sepa_debit"), "the account's holder has died");
  assert.equal(describe({ gatewayCode: "payer_deceased" }, "bacs"), "the account's holder has died");
  assert.match(describe({ networkDeclineCode: "R10" }, "ach_debit")!, /the debit was not authorized/);
});

test("a gateway's words for a bank's reason are read, and an unlisted reason allows no retry", () => {
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
        assert.equal(groupOf({ gatewayCode: code }, buildDebit(type)), expected, `${type} ${code}`);
  assert.equal(
    groupOf({ gatewayCode: "a_reason_of_tomorrow", networkDeclineCode: "AM04" }, buildDebit("sepa_debit")),
    "FUNDS",
  );
  assert.equal(
    groupOf({ gatewayCode: "a_reason_of_tomorrow", declineCategory: "NSF" }, buildDebit("sepa_debit")),
    "FUNDS",
  );
  assert.equal(
    groupOf({ gatewayCode: "a_reason_of_tomorrow", declineCategory: "SOFT" }, buildDebit("sepa_debit")),
    "GENERIC",
  );
  assert.equal(groupOf({ networkDeclineCode: "other" }, buildDebit("sepa_debit")), "UNKNOWN");
  assert.equal(groupOf({}, buildDebit("sepa_debit")), "UNKNOWN", "nothing was said at all");
  assert.equal(groupOf({ gatewayCode: "a_reason_of_tomorrow" }, buildDebit("card")), "UNKNOWN");
});
