import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reason } from "./layout.ts";
import { newLearned } from "./learned.ts";
import { numbers } from "./numbers.fixture.ts";
import { ownOf, putOwn } from "./own.ts";
import { noteSaid, shortfallOf } from "./shortfall.ts";

const FUNDS = { firstReason: "FUNDS" } as const;

/** Notes tries of whom so much was said, and of whom so many were approved. @returns the largest shortfall on the way */
function noted(
  learned: ReturnType<typeof newLearned>,
  tries: number,
  said: number,
  approved: number,
  seed = 0,
): number {
  const draw = numbers(seed);
  let most = 0;
  for (let n = 0; n < tries; n++) {
    const reason: Reason | null = draw() < approved ? null : "FUNDS";
    noteSaid(learned, FUNDS, said, reason);
    most = Math.max(most, shortfallOf(learned, FUNDS));
  }
  return most;
}

test("where what is said is true it hardly ever falls short by five standard deviations", () => {
  const most = Array.from({ length: 50 }, (_, seed) =>
    noted(newLearned(), 2000, 0.1 + (seed % 9) / 10, 0.1 + (seed % 9) / 10, seed),
  );
  assert.ok(most.filter((each) => each > 5).length <= 1, `${most.filter((each) => each > 4)}`);
  assert.ok(Math.max(...most) > 2);
});

test("what does not come true any more falls short after some sixty tries, and no more once what is said is true again", () => {
  const learned = newLearned();
  noted(learned, 1000, 0.5, 0.5);
  assert.ok(shortfallOf(learned, FUNDS) < 3);
  noted(learned, 60, 0.5, 0.03);
  assert.ok(shortfallOf(learned, FUNDS) > 5, `${shortfallOf(learned, FUNDS)}`);
  assert.equal(shortfallOf(learned, { firstReason: "GENERIC" }), 0, "another class of reasons");
  noted(learned, 300, 0.3, 0.3, 1);
  assert.ok(shortfallOf(learned, FUNDS) < 3, `${shortfallOf(learned, FUNDS)}`);
});

test("of a few tries, and of banks that were down, nothing is told", () => {
  const learned = newLearned();
  for (let n = 0; n < 7; n++) noteSaid(learned, FUNDS, 0.6, "FUNDS");
  assert.equal(shortfallOf(learned, FUNDS), 0);
  for (let n = 0; n < 50; n++) noteSaid(learned, FUNDS, 0.6, "ISSUER_DOWN");
  assert.equal(shortfallOf(learned, FUNDS), 0);
  noted(learned, 40, 0.3, 0.9);
  assert.ok(shortfallOf(learned, FUNDS) < 0, "more were approved than was said");
});

test("it is a merchant's own", () => {
  const learned = newLearned();
  const none = ownOf(learned);
  noted(learned, 60, 0.5, 0);
  const own = ownOf(learned);
  const short = shortfallOf(learned, FUNDS);
  assert.ok(short > 4);
  putOwn(learned, none);
  assert.equal(shortfallOf(learned, FUNDS), 0);
  putOwn(learned, own);
  assert.equal(shortfallOf(learned, FUNDS), short);
});
