import assert from "node:assert/strict";
import { test } from "node:test";
import { issuersOf } from "../worlds/consumers/issuers.ts";
import { personOf } from "../worlds/consumers/people.ts";
import { createLuck } from "../worlds/luck.ts";
import { stepAt } from "../worlds/steps.ts";
import { type Belief, liveUntil, lookAhead, observe } from "./belief.ts";
import { lifeOf } from "./life.ts";
import { AT, seen } from "./seen.fixture.ts";

const luck = createLuck();
const issuers = issuersOf(1, luck);
const someone = {
  ...personOf(1, 7, issuers, { tight: 1, left: 1 }),
  dayLimit: Number.POSITIVE_INFINITY,
  rushes: 0,
};
luck.begin(1, 1, 1, 1);

/** Lives with so much money each. */
function beliefOf(balances: readonly number[]): Belief {
  const lives = balances.map(() => lifeOf({ ...someone, issuer: { ...someone.issuer, masks: 0 }, attention: 0 }));
  for (const [n, { state }] of lives.entries()) Object.assign(state, { balance: balances[n], spent: 0 });
  return { lives, weights: new Float64Array(balances.length).fill(1), step: stepAt(AT) };
}

test("what is seen leaves the lives in which it happens, and they pay for it", () => {
  const belief = beliefOf(Array.from({ length: 100 }, (_, n) => (n % 10 === 0 ? 50 : 5)));
  observe(belief, seen(null), luck);
  assert.equal(belief.lives.length, 100);
  assert.ok(belief.lives.every(({ state }) => state.balance === 30));
  const states = new Set(belief.lives.map(({ state }) => state));
  assert.equal(states.size, 100, "copies share nothing that moves");
});

test("what no life explains changes nothing that was believed", () => {
  const belief = beliefOf([5, 5, 5, 5]);
  belief.weights.set([3, 1, 2, 2]);
  observe(belief, seen(null), luck);
  assert.deepEqual([...belief.weights], [0.375, 0.125, 0.25, 0.25]);
});

test("lives ahead are drawn by their weights, begin now, and leave the belief as it is", () => {
  const belief = beliefOf([50, 5]);
  belief.weights.set([3, 1]);
  const [now, ...later] = lookAhead(belief, 400, 16, 20, luck);
  assert.equal(
    now!.reduce((sum, paid) => sum + paid, 0),
    300,
  );
  assert.equal(later.length, 15);
  assert.deepEqual(
    belief.lives.map(({ state }) => state.balance),
    [50, 5],
  );
});

test("lives go on through the step that is asked for, and never back", () => {
  const belief = beliefOf([50]);
  belief.lives[0]!.person.alarms = 1;
  liveUntil(belief, belief.step + 8, luck);
  assert.equal(belief.step, stepAt(AT) + 8);
  const { balance, day } = belief.lives[0]!.state;
  assert.ok(balance !== 50 && day >= 0);
  assert.equal(belief.lives[0]!.state.hold, "none", "what is rare comes with an answer that speaks of it");
  liveUntil(belief, belief.step - 4, luck);
  assert.deepEqual([belief.step, belief.lives[0]!.state.balance], [stepAt(AT) + 8, balance]);
});
