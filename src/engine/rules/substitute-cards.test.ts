import assert from "node:assert/strict";
import { test } from "node:test";
import { findSubstituteCards } from "./substitute-cards.ts";

/** `1A 1B 2A`: invoice and card of each attempt. */
const findIn = (attempts: string) => [
  ...findSubstituteCards(attempts.split(" ").map(([invoiceId, card]) => ({ invoiceId: invoiceId!, card: card! }))),
];

test("a card is a substitute when the card before it is charged again", () => {
  assert.deepEqual(findIn("1A 1B 2A"), ["B"]);
  assert.deepEqual(findIn("1A 1B 1A"), ["B"]);
  assert.deepEqual(findIn("1A 1B 1C 2A"), ["B"]);
  assert.deepEqual(findIn("1A 2C 1B 2C 3A"), ["B"]);
});

test("a card is no substitute when it replaced another one for good, or pays other invoices", () => {
  for (const attempts of ["1A 1B", "1A 1B 2B", "1A 2B 3A 4B", "1A 1A 2A"])
    assert.deepEqual(findIn(attempts), [], attempts);
});
