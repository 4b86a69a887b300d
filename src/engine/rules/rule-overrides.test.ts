import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { findBrand } from "./card-networks.ts";
import { buildGuard, findForbiddingRule } from "./guard.ts";
import { type DeclineCodes, interpretDecline } from "./interpret-decline.ts";
import { applyRules, parseRules } from "./rule-overrides.ts";

const SOURCE_FIELDS = { document: "Contract with the acquirer, appendix 3", date: "May 2026" };
const parse = (rules: object) => parseRules(JSON.stringify({ ...SOURCE_FIELDS, ...rules }));
const start = Date.UTC(2026, 4, 4);

/** Whether another attempt with the same amount is allowed one day after this many declines, an hour apart. */
function allowedAfter(
  attempts: number,
  network: string,
  paymentMethodType = "card",
  code = "51",
  adviceCode: string | null = null,
) {
  const ledger = Array.from({ length: attempts }, (_, n) => ({
    at: new Date(start + n * HOUR_MS),
    amount: 4900,
    approved: false,
    onThisInvoice: true,
    onPresentCard: true,
    codes: { networkDeclineCode: code, networkAdviceCode: adviceCode, gatewayCode: null, declineCategory: null },
  }));
  const instrument = { paymentMethodType, network, cardCountry: null };
  const guard = buildGuard({ instrument, amount: 4900, ledger, firstTriedAt: null, earlyMs: 0 });
  return findForbiddingRule(guard, start + 2 * DAY_MS);
}

test("all problems are reported at once, each with its place and the expected value", () => {
  const { rules, problems } = parseRules(
    JSON.stringify({
      date: 3,
      networks: { visa: { limits: [{ attemptsMax: 0, days: 30, hours: 2, counts: "cards" }, 7], speed: 1 } },
      bankDebits: {
        pigeon: {},
        sepa_debit: { withinDays: "42", representable: "AM04" },
        ach_debit: { representable: ["R01", "R1"] },
        bacs_debit: { representable: [] },
      },
      adviceCodes: { "99": {}, "24": { waitHours: 1.5, bars: "no", triesMax: 0, group: "EVIL", words: "" } },
      wallets: { card: {}, credit_card: {} },
      responseCodes: { "84": { group: "EVIL" }, "51": { category: 5 } },
      gatewayCodes: { low_balance: 51 },
      colour: "red",
    }),
  );
  assert.equal(rules, null);
  for (const place of [
    /^colour is not known\. Write one of document, date, networks/,
    /^document is missing/,
    /^date must be a text/,
    /^networks\.visa\.speed is not known/,
    /^networks\.visa\.limits\[0\]\.attemptsMax must be a whole number from 1 to 1000, not 0/,
    /^networks\.visa\.limits\[0\] must have either days or hours/,
    /^networks\.visa\.limits\[0\]\.counts must be "card", "card_and_amount" or "invoice"/,
    /^networks\.visa\.limits\[1\] must be an object/,
    /^bankDebits\.pigeon is not known\. Write one of sepa_debit/,
    /^bankDebits\.sepa_debit\.withinDays must be a whole number/,
    /^bankDebits\.sepa_debit\.representable must be an array/,
    /^bankDebits\.bacs_debit\.representable must be an array of one return code or more/,
    /^bankDebits\.ach_debit\.representable has R1, which is not a code of ACH/,
    /^adviceCodes\.99 is a code that Dunlin does not know: say what it means/,
    /^adviceCodes\.24\.triesMax must be a whole number/,
    /^adviceCodes\.24\.group must be one of REVOKED, FRAUD/,
    /^adviceCodes\.24\.words must be a text/,
    /^adviceCodes\.24\.waitHours must be a whole number/,
    /^adviceCodes\.24\.bars must be true or false/,
    /^wallets\.card is not a wallet/,
    /^wallets\.credit_card is not a wallet/,
    /^responseCodes\.84\.category is missing/,
    /^responseCodes\.84\.group must be one of REVOKED, FRAUD/,
    /^responseCodes\.51\.category must be a whole number from 1 to 4, not 5/,
    /^gatewayCodes\.low_balance must be one of REVOKED, FRAUD/,
  ])
    assert.ok(
      problems.some((problem) => place.test(problem)),
      `${place}\n${problems.join("\n")}`,
    );
  assert.match(parseRules("{").problems[0]!, /is not JSON/);
  assert.match(parseRules("[]").problems[0]!, /the file must be an object/);
});

test("a PayPal payment is retried twice after the first failure, like PayPal does", () => {
  assert.equal(allowedAfter(2, "", "paypal"), null);
  assert.match(allowedAfter(3, "", "paypal")!.sentence, /PayPal allows at most two attempts after the first/);
});

// Must be the last test: rules apply to the whole process, and this file runs in one.
test("the file's rules apply to known and unknown brands, debits and advice, and name the file as their source", () => {
  assert.equal(allowedAfter(15, "visa"), null);
  assert.equal(allowedAfter(9, "hipercard"), null);
  assert.equal(allowedAfter(1, "mastercard", "card", "51", "24"), null);
  const { rules, problems } = parse({
    networks: {
      visa: { limits: [{ attemptsMax: 15, days: 30, counts: "card_and_amount" }] },
      hipercard: { name: "Hipercard", limits: [{ attemptsMax: 8, days: 30, counts: "card" }] },
    },
    bankDebits: { sepa_debit: { presentationsMax: 2, representable: [" am04"] } },
    adviceCodes: {
      "24": { waitHours: 72 },
      "40": { triesMax: 1 },
      "7": { group: "GENERIC", waitHours: 72, words: "the bank advises to rest" },
      "50": { bars: true },
      "22": { words: "the card is not for this shop" },
    },
    wallets: {
      venmo: { limits: [{ attemptsMax: 2, hours: 100, counts: "invoice" }] },
      cash: { limits: [{ attemptsMax: 1, days: 9, counts: "card" }] },
    },
    responseCodes: {
      "82": { group: "FRAUD" },
      "8z": { category: 1, group: "FRAUD", words: "the bank smells fraud" },
      "62": { group: "HARD_CARD" },
      "05": { category: 1 },
      "208": { words: "the card was lost, says the acquirer" },
    },
    gatewayCodes: { "Low Balance": "FUNDS", "adyen 31": "FRAUD", payer_deceased: "HARD_CARD" },
  });
  assert.deepEqual(problems, []);
  const onMastercard = { paymentMethodType: "card", network: "mastercard", cardCountry: null };
  const code82 = { networkDeclineCode: "82", networkAdviceCode: null, gatewayCode: null, declineCategory: null };
  applyRules(parse({ responseCodes: { "82": { category: 3 } } }).rules!);
  assert.equal(interpretDecline(code82, onMastercard).group, "GENERIC");
  applyRules(rules!);
  const describe = (codes: Partial<DeclineCodes>) =>
    interpretDecline(
      { networkDeclineCode: null, networkAdviceCode: null, gatewayCode: null, declineCategory: null, ...codes },
      { paymentMethodType: "card", network: "visa", cardCountry: null },
    );
  const { group, words, category1 } = describe({ networkDeclineCode: "8Z" });
  assert.deepEqual([group, words, category1?.document], ["FRAUD", "the bank smells fraud", SOURCE_FIELDS.document]);
  assert.equal(describe({ networkDeclineCode: "62" }).group, "HARD_CARD");
  assert.equal(describe({ networkDeclineCode: "62" }).words, "the card is restricted");
  assert.deepEqual(
    [describe({ networkDeclineCode: "208" }).group, describe({ networkDeclineCode: "208" }).words],
    ["HARD_CARD", "the card was lost, says the acquirer"],
    "what the file names is read on every card",
  );
  assert.equal(interpretDecline(code82, onMastercard).group, "FRAUD");
  assert.equal(describe({ gatewayCode: "low_balance" }).group, "FUNDS");
  assert.equal(describe({ gatewayCode: "adyen 31" }).group, "FRAUD");
  const ours = describe({ gatewayCode: "payer_deceased" });
  assert.deepEqual([ours.group, ours.words], ["HARD_CARD", null], "our words are of our group");
  assert.match(
    allowedAfter(15, "visa")!.sentence,
    /^Visa allows at most 15 declined attempts for one amount .*\(Contract with the acquirer, appendix 3, May 2026\)/,
  );
  assert.match(allowedAfter(8, "Hipercard")!.sentence, /^Hipercard allows at most 8/);
  assert.match(allowedAfter(1, "mastercard", "card", "51", "24")!.sentence, /waiting 72 hours/);
  assert.match(
    allowedAfter(2, "", "sepa_debit", "AM04")!.sentence,
    /SEPA allows at most 2 presentations within 42 days of the first, and a new one only after AM04 \(Contract/,
  );
  const debit = { paymentMethodType: "sepa_debit", network: null, cardCountry: null };
  assert.equal(interpretDecline({ ...code82, networkDeclineCode: "AM04" }, debit).group, "FUNDS");
  assert.equal(
    allowedAfter(1, "visa", "card", "05")!.sentence,
    "After such a decline the card may not be charged again (Contract with the acquirer, appendix 3, May 2026).",
  );
  assert.match(
    allowedAfter(1, "mastercard", "card", "51", "40")!.sentence,
    /^Few retries are advised .* \(Contract.*\)\. Dunlin allows at most 1 attempt\./,
  );
  assert.match(
    allowedAfter(1, "mastercard", "card", "51", "07")!.sentence,
    /^The bank advises to rest, so Dunlin does not retry sooner \(Contract/,
  );
  assert.match(allowedAfter(1, "mastercard", "card", "51", "22")!.sentence, /^After such a decline .* \(Contract/);
  assert.match(allowedAfter(1, "mastercard", "card", "51", "50")!.sentence, /^After such a decline .* \(Contract/);
  assert.match(
    allowedAfter(2, "", "venmo")!.sentence,
    /venmo allows at most 2 declined attempts for an invoice in 100 hours/,
  );
  assert.match(allowedAfter(1, "", "cash")!.sentence, /cash allows at most 1 declined attempt on a card in 9 days/);
});

test("a network with another name reads its codes as before", () => {
  const groupOf = (network: string, networkDeclineCode: string) =>
    interpretDecline(
      { networkDeclineCode, networkAdviceCode: null, gatewayCode: null, declineCategory: null },
      { paymentMethodType: "card", network, cardCountry: null },
    ).group;
  const groups = () => [groupOf("amex", "116"), groupOf("mastercard", "82"), groupOf("visa", "116")];
  const before = groups();
  const names = { amex: { name: "Amex" }, mastercard: { name: "MasterCard International" } };
  applyRules(parse({ networks: names }).rules!);
  assert.deepEqual(groups(), before);
  assert.notEqual(before[0], before[2]);
});

test("a brand keeps its rules, also those of a file, under each of its names and when only the payment type names it", () => {
  const sentences = () =>
    ["mastercard", "MC", findBrand(null, "mc"), findBrand(null, "mc_applepay")].map(
      (network) => allowedAfter(20, network!)?.sentence,
    );
  const limits = [{ attemptsMax: 2, days: 30, counts: "card" }];
  applyRules(parse({ networks: { mc: { name: "Mastercard of Europe", limits } } }).rules!);
  for (const sentence of sentences())
    assert.match(sentence!, /^Mastercard of Europe allows at most 2 declined attempts/);
  assert.match(allowedAfter(20, findBrand(null, "visa")!, "visa")!.sentence, /^Visa allows at most/);
});
