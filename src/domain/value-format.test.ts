import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DECIMAL_MARKS,
  describeAmountRule,
  describeStateRule,
  normalizeStateWord,
  parseTransactionState,
  toLowerSnakeCase,
  toMinorUnitsText,
  toUpperSnakeCase,
} from "./value-format.ts";

/** Returns whole minor units, or null. */
const minorOf = (text: string, currency: string, decimals: Parameters<typeof toMinorUnitsText>[2]) => {
  const minor = toMinorUnitsText(text, currency, decimals);
  return /^\d+$/.test(minor) ? Number(minor) : null;
};

test("whole numbers are minor units without --decimals and major units with it", () => {
  assert.equal(minorOf("1230", "EUR", null), 1230);
  assert.equal(minorOf("12.30", "EUR", null), null);
  for (const decimals of DECIMAL_MARKS) {
    assert.equal(minorOf("12", "EUR", decimals), 1200);
    assert.equal(minorOf("0", "EUR", decimals), 0);
    assert.equal(minorOf("0012", "EUR", decimals), 1200);
  }
});

test("an amount has the decimals of its currency", () => {
  for (const [text, currency, minor] of [
    ["12.30", "EUR", 1230],
    ["12.3", "EUR", 1230],
    ["0.05", "EUR", 5],
    [" 1,234,567.89 ", "USD", 123456789],
    ["1 234.50", "USD", 123450],
    ["1\u202f234.50", "USD", 123450],
    ["1’234.50", "CHF", 123450],
    ["1,234", "EUR", 123400],
    ["1200", "JPY", 1200],
    ["1,200", "JPY", 1200],
    ["12.345", "KWD", 12345],
    ["12.3", "KWD", 12300],
    ["12", "KWD", 12000],
    ["1,234.5", "KWD", 1234500],
    ["1 234", "KWD", 1234000],
  ] as const) {
    assert.equal(minorOf(text, currency, "point"), minor, `${text} ${currency}`);
    const inGerman = text.replace(/[.,]/g, (sign) => (sign === "." ? "," : "."));
    assert.equal(minorOf(inGerman, currency, "comma"), minor, `${inGerman} ${currency}`);
  }
});

test("Indian grouping is read with --decimals point when it is unambiguous", () => {
  for (const [text, currency, minor] of [
    ["1,23,456.50", "INR", 12345650],
    ["₹ 1,23,456", "INR", 12345600],
    ["12,34,56,789.00", "INR", 12345678900],
    ["1,00,000", "INR", 10000000],
    ["1,23,456.5", "KWD", 123456500],
  ] as const) {
    assert.equal(minorOf(text, currency, "point"), minor, text);
    for (const decimals of ["comma", null] as const) assert.equal(minorOf(text, currency, decimals), null, text);
  }
  for (const text of [
    "1,23,45",
    "123,45,678",
    "1,23,4567",
    "1,23.456",
    "1 23 456",
    "0,23,456",
    "1,23,456,789.1",
    ",23,456",
  ])
    assert.equal(minorOf(text, "INR", "point"), null, text);
});

test("an amount that does not match --decimals is refused instead of misread", () => {
  for (const [text, currency] of [
    ["12,30", "EUR"],
    ["1.234,50", "EUR"],
    ["12.345", "EUR"],
    ["12.30", "JPY"],
    ["12.00", "JPY"],
    ["1.2345", "KWD"],
    ["0,500", "KWD"],
    ["1,234", "KWD"],
    ["12,34", "EUR"],
    ["1,2345", "EUR"],
    ["1,234 567.00", "EUR"],
    ["-12.30", "EUR"],
    ["12.", "EUR"],
    [".30", "EUR"],
    ["$12.30", "EUR"],
    ["12.30 GBP", "EUR"],
    ["€12.30", "E"],
    ["€ -12.30", "EUR"],
    ["(€12.30)", "EUR"],
    ["total 12.30", "EUR"],
    ["1e3", "EUR"],
    ["", "EUR"],
  ] as const)
    assert.equal(minorOf(text, currency, "point"), null, `${text} ${currency}`);
});

test("major units may have their currency's sign or code, and any space between thousands", () => {
  for (const [text, currency, decimals, minor] of [
    ["1.249,00 €", "EUR", "comma", 124900],
    ["€\u00a01.249,00", "EUR", "comma", 124900],
    ["1\u202f249,00\u00a0€", "EUR", "comma", 124900],
    ["1\u2009249,00 €", "EUR", "comma", 124900],
    ["EUR 12.30", "EUR", "point", 1230],
    ["12.30eur", "EUR", "point", 1230],
    ["€12.30 EUR", "EUR", "point", 1230],
    ["$1,249.00", "USD", "point", 124900],
    ["$1,249.00", "CAD", "point", 124900],
    ["US$ 12.30", "USD", "point", 1230],
    ["C$12.30", "CAD", "point", 1230],
    ["CA$12.30", "CAD", "point", 1230],
    ["R$ 12,30", "BRL", "comma", 1230],
    ["1.249,00 kr.", "DKK", "comma", 124900],
    ["12,30 zł", "PLN", "comma", 1230],
    ["CHF 1’249.00", "CHF", "point", 124900],
    ["¥1,249", "JPY", "point", 1249],
    ["KWD 1.5", "KWD", "point", 1500],
  ] as const)
    assert.equal(minorOf(text, currency, decimals), minor, `${text} ${currency}`);
  assert.equal(minorOf("€ 4900", "EUR", null), null, "beside minor units a sign is probably a mistake");
});

test("a sign of another currency is named in the error, and other text is not", () => {
  const says = (amount: string, currency = "EUR") =>
    describeAmountRule({ dates: null, decimals: "point" }, amount, currency);
  assert.equal(says("$1,249.00"), "has the sign $, but its currency is EUR");
  assert.equal(says("12.30 GBP"), "has the sign GBP, but its currency is EUR");
  assert.equal(says("US$12.30", "CAD"), "has the sign US$, but its currency is CAD");
  for (const [amount, currency] of [
    ["total 12.30", "EUR"],
    ["-12.30", "EUR"],
    ["€12.345", "EUR"],
    ["€12.30", "euro"],
  ] as const)
    assert.match(
      says(amount, currency),
      /^must be an amount from 0, such as .*, with no sign other than its currency's/,
    );
});

test("the wrong --decimals gives errors, but never another amount", () => {
  const signs = ["", ".", ",", " "];
  const texts = ["1", "12", "123"].flatMap((first) =>
    signs.flatMap((one) => signs.flatMap((two) => ["5", "50", "500"].map((last) => `${first}${one}234${two}${last}`))),
  );
  for (const currency of ["JPY", "EUR", "KWD", "CLF"])
    for (const text of [...texts, "12,3", "12.34", "1,234", "12.345", "1,2345"]) {
      const [point, comma] = DECIMAL_MARKS.map((decimals) => minorOf(text, currency, decimals));
      assert.ok(point === null || comma === null || point === comma, `${text} ${currency}: ${point}, ${comma}`);
    }
});

test("an error about a state repeats the word unless it could be someone's number", () => {
  const rule = (word: string) => describeStateRule(["PAID", "FAILED"], word);
  assert.equal(rule("ÉCHOUÉ"), "must be one of PAID, FAILED; --states ÉCHOUÉ=STATE maps the word to one of them");
  for (const word of ["4242424242424242", "4242_4242", "DE_12345", "٤٢٤٢٤", "A@B", "", "A".repeat(41)])
    assert.match(rule(word), /--states WORD=STATE/);
});

test("symbols with opposite meanings are different words", () => {
  for (const [good, bad] of ["+-", "✓✗", "!?", "🟢🔴"].map((signs) => [...signs]))
    assert.notEqual(toUpperSnakeCase(good!), toUpperSnakeCase(bad!));
  assert.notEqual(toUpperSnakeCase("+1"), toUpperSnakeCase("-1"));
  assert.notEqual(toUpperSnakeCase("Zahlung ✓"), toUpperSnakeCase("Zahlung ✗"));
});

test("words are read in any spelling, and state words only if they mean the same everywhere", () => {
  assert.equal(toUpperSnakeCase(" Partially refunded "), "PARTIALLY_REFUNDED");
  assert.equal(toUpperSnakeCase("Card-Funding credit", "CARD_FUNDING_"), "CREDIT");
  assert.equal(toUpperSnakeCase("a card funding credit", "CARD_FUNDING_"), "A_CARD_FUNDING_CREDIT");
  assert.equal(toLowerSnakeCase(" SEPA Debit"), "sepa_debit");
  assert.equal(toUpperSnakeCase("Échoué "), "ÉCHOUÉ");
  assert.equal(normalizeStateWord("Invoice state: past due"), "PAST_DUE");
  assert.equal(normalizeStateWord("X_STATE_PAID"), "X_STATE_PAID");
  const states = ["Paid", "succeeded", "TRANSACTION_STATE_FAILED", "Declined", "pending", "cancelled", "Authorised"];
  assert.deepEqual(states.map(parseTransactionState), [
    "PAID",
    "PAID",
    "FAILED",
    "FAILED",
    "PENDING",
    "VOIDED",
    undefined,
  ]);
});
