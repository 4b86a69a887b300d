import assert from "node:assert/strict";
import { test } from "node:test";
import { createIssuers } from "../worlds/consumers/issuers.ts";
import { createPerson } from "../worlds/consumers/people.ts";
import { createRandomStream } from "../worlds/random-stream.ts";
import { stepOf } from "../worlds/simulation-steps.ts";
import { createLife } from "./candidate-life.ts";
import { buildObservedCharge, CHARGE_TIME } from "./observed-charge.fixture.ts";
import { advanceLives, observeCharge, type ParticleFilter, simulateAhead } from "./particle-filter.ts";

const random = createRandomStream();
const issuers = createIssuers(1, random);
const PERSON = {
  ...createPerson(1, 7, issuers, { tight: 1, left: 1 }),
  dayLimit: Number.POSITIVE_INFINITY,
  rushes: 0,
};
random.begin(1, 1, 1, 1);

/** Builds a filter with one life per balance. */
function buildFilter(balances: readonly number[]): ParticleFilter {
  const lives = balances.map(() => createLife({ ...PERSON, issuer: { ...PERSON.issuer, masks: 0 }, attention: 0 }));
  for (const [n, { state }] of lives.entries()) Object.assign(state, { balance: balances[n], spent: 0 });
  return { lives, weights: new Float64Array(balances.length).fill(1), step: stepOf(CHARGE_TIME) };
}

test("an observed charge keeps the lives in which it happens, and takes their money", () => {
  const filter = buildFilter(Array.from({ length: 100 }, (_, n) => (n % 10 === 0 ? 50 : 5)));
  observeCharge(filter, buildObservedCharge(null), random);
  assert.equal(filter.lives.length, 100);
  assert.ok(filter.lives.every(({ state }) => state.balance === 30));
  const states = new Set(filter.lives.map(({ state }) => state));
  assert.equal(states.size, 100, "copies share nothing that moves");
});

test("a charge that no life explains leaves the weights unchanged", () => {
  const filter = buildFilter([5, 5, 5, 5]);
  filter.weights.set([3, 1, 2, 2]);
  observeCharge(filter, buildObservedCharge(null), random);
  assert.deepEqual([...filter.weights], [0.375, 0.125, 0.25, 0.25]);
});

test("simulated lives are sampled by weight, begin now, and leave the filter unchanged", () => {
  const filter = buildFilter([50, 5]);
  filter.weights.set([3, 1]);
  const [now, ...later] = simulateAhead(filter, 400, 16, 20, random);
  assert.equal(
    now!.reduce((sum, paid) => sum + paid, 0),
    300,
  );
  assert.equal(later.length, 15);
  assert.deepEqual(
    filter.lives.map(({ state }) => state.balance),
    [50, 5],
  );
});

test("lives advance through the requested step, and never back", () => {
  const filter = buildFilter([50]);
  filter.lives[0]!.person.alarms = 1;
  advanceLives(filter, filter.step + 8, random);
  assert.equal(filter.step, stepOf(CHARGE_TIME) + 8);
  const { balance, day } = filter.lives[0]!.state;
  assert.ok(balance !== 50 && day >= 0);
  assert.equal(filter.lives[0]!.state.hold, "none", "what is rare comes with an answer that speaks of it");
  advanceLives(filter, filter.step - 4, random);
  assert.deepEqual([filter.step, filter.lives[0]!.state.balance], [stepOf(CHARGE_TIME) + 8, balance]);
});
