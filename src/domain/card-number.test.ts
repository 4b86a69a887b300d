import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { holdsCardNumber, isCardNumber } from "./card-number.ts";

const SEPARATOR = "[\\s./\\u00ad\\u200b-\\u200d\\u2010-\\u2015\\u2060\\u2212\\ufeff-]{1,3}";
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** The rule without optimization: tries every first and last group of every run. */
function matchesCardRule(text: string, groupsMin: number): boolean {
  for (const [run] of text.replace(UUID, "u").matchAll(new RegExp(`\\d+(?:${SEPARATOR}\\d+)*`, "g"))) {
    const groups = run.match(/\d+/g)!;
    for (let first = 0; first < groups.length; first++)
      for (let last = first + groupsMin - 1; last < groups.length; last++)
        if (isCardNumber(groups.slice(first, last + 1).join(""))) return true;
  }
  return false;
}

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[0-9]{1,6}$/) },
  fc.constantFrom("4111", "1111", "4", "4222222222222", "378282246310005", "6304000000000000", "6011"),
  { weight: 4, arbitrary: fc.constantFrom(" ", "-", "\u00a0", "\u2013", "  ", "   ", "    ", "x", "a1b2", ".") },
  fc.constantFrom("41111111-1111-1111-8abc-0123456789ab", "41111111-1111-1111-8abc-0123456789a", "é", "😀"),
);
const texts = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));

test("the single walk finds exactly the card numbers that trying every group finds", () => {
  let found = 0;
  fc.assert(
    fc.property(texts, fc.constantFrom<1 | 2>(1, 2), (text, groupsMin) => {
      const expected = matchesCardRule(text, groupsMin);
      if (expected) found++;
      assert.equal(holdsCardNumber(text, groupsMin), expected);
    }),
    { numRuns: 5_000 },
  );
  // About 225 ± 15 of these texts contain one. The bounds only ensure that both kinds occur.
  assert.ok(found > 100 && found < 4_900, `${found} of 5,000`);
});

test("a card number is found with any separators and in the digits of any script", () => {
  const groups = ["4111", "1111", "1111", "1111"];
  for (const between of [" ", "-", ".", "/", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u2011", " . "])
    for (const groupsMin of [1, 2] as const)
      assert.ok(holdsCardNumber(`paid by ${groups.join(between)} today`, groupsMin), JSON.stringify(between));
  const inScript = (zero: number) =>
    groups.join("").replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));
  for (const zero of [0xff10, 0x0660, 0x0966, 0x1d7ce, 0x1d7d8, 0x1d7f6])
    assert.ok(holdsCardNumber(inScript(zero), 1), zero.toString(16));
  assert.ok(!holdsCardNumber(inScript(0xff10).replace(/.$/u, "\uff12"), 1), "Luhn");
  assert.ok(!holdsCardNumber("\u2160".repeat(16), 1), "a numeral that is no digit");
  for (const other of ["10.11.12.13", "2026.11.29/0001", "4.11111"]) assert.ok(!holdsCardNumber(other, 1), other);
});
