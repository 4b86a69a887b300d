import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf } from "../trial/figures.ts";
import { runTrial } from "../trial/run-trial.ts";
import { world as consumers } from "../worlds/consumers/world.ts";
import { knowsLaws } from "./knows-laws.ts";

const run = (customers: number) => runTrial(consumers(), knowsLaws(2, customers, 300, 100), 2, customers);

test("what is said by the laws comes true, and no rule is broken by it", () => {
  const trial = run(60);
  const said = trial.tries.reduce((sum, { choice }) => sum + choice.chance!, 0) / trial.tries.length;
  const came = trial.tries.filter(({ charge }) => charge.approved).length / trial.tries.length;
  // Tries of one customer share their luck: the hundred or two of another sixty are off by up to 0.15.
  assert.ok(Math.abs(said - came) < 0.1, `${said} said, ${came} came, of ${trial.tries.length}`);
  assert.equal(figuresOf(trial).brokenRules, 0);
});

test("the same seed gives the same tries", () => {
  const times = () => run(8).tries.map(({ choice }) => choice);
  assert.ok(times().length > 0);
  assert.deepEqual(times(), times());
});
