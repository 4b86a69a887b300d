import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf } from "../trial/figures.ts";
import { runTrial } from "../trial/run-trial.ts";
import { isForNow } from "../worlds/codes.ts";
import { DAY_MS } from "../worlds/coin.ts";
import { issuersOf } from "../worlds/consumers/issuers.ts";
import { world as consumers } from "../worlds/consumers/world.ts";
import { createLuck } from "../worlds/luck.ts";
import { knowsLaws } from "./knows-laws.ts";

const strict = new Set<string | undefined>(
  [...issuersOf(2, createLuck()).values()].flatMap((of) =>
    of.filter(([{ isStrict }]) => isStrict).map(([{ name }]) => name),
  ),
);
const run = (customers: number) => runTrial(consumers(), knowsLaws(2, customers, 300, 100), 2, customers);

test("what is said by the laws comes true, and no rule is broken by it", () => {
  const trial = run(60);
  const said = trial.tries.reduce((sum, { choice }) => sum + choice.chance!, 0) / trial.tries.length;
  const came = trial.tries.filter(({ charge }) => charge.approved).length / trial.tries.length;
  // Tries of one customer share their luck: the hundred or two of another sixty are off by up to 0.15.
  assert.ok(Math.abs(said - came) < 0.1, `${said} said, ${came} came, of ${trial.tries.length}`);
  assert.equal(figuresOf(trial).brokenRules, 0);
  for (const { open, charge } of trial.tries) {
    const before = open.charges[open.charges.indexOf(charge) - 1]!;
    if (!strict.has(charge.cardIssuer) || !isForNow(before.networkDeclineCode!)) continue;
    assert.ok(charge.at.getTime() - before.at.getTime() >= DAY_MS, "a strict bank would block the card");
  }
});

test("the same seed gives the same tries", () => {
  const times = () => run(8).tries.map(({ choice }) => choice);
  assert.ok(times().length > 0);
  assert.deepEqual(times(), times());
});
