import assert from "node:assert/strict";
import { test } from "node:test";
import type { Forecast } from "../model/forecast.ts";
import { phi, probit } from "../model/normal.ts";
import { planTries } from "./plan-tries.ts";

const DAY = 86_400_000;

/**
 * A small world of three explanations over `days` slots a day apart: pay on some days of the first and of the second,
 * and one that never works. Chances come from a fixed sequence.
 */
function smallWorld(days: number, seed: number): Forecast {
  let state = seed;
  const draw = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const width = 3;
  const slots = Array.from({ length: days }, (_, day) => day * DAY);
  const make = () => new Float64Array(days * width);
  const world: Forecast = {
    slots,
    explanations: Int32Array.from([0, 1, 2]),
    chances: Float64Array.from([0.4 + 0.2 * draw(), 0.3, 0]),
    next: new Float64Array(days),
    later: new Float64Array(days),
    fresh: make(),
    same: make(),
    paidOn: new Int32Array(days * width),
    lastPaidOn: Int32Array.from([-5, -5, -1]),
  };
  world.chances[2] = 1 - world.chances[0]! - world.chances[1]!;
  let paid = [-5, -5];
  for (let day = 0; day < days; day++) {
    paid = paid.map((last) => (draw() < 0.3 ? day + 1 : last));
    for (let k = 0; k < 2; k++) {
      const place = day * width + k;
      world.fresh[place] = probit(0.1 + 0.7 * draw());
      world.same[place] = probit(0.05);
      world.paidOn[place] = paid[k]!;
    }
    world.fresh[day * width + 2] = world.same[day * width + 2] = probit(0.01);
  }
  return world;
}

/** The same value again, written for clearness: expected worth of trying at those slots in turn. */
function worthOf(world: Forecast, plan: readonly number[], cost: number, worthAt: (at: number) => number): number {
  let value = 0;
  for (let k = 0; k < 3; k++) {
    let left = world.chances[k]!;
    plan.forEach((slot, n) => {
      const paidBefore = n === 0 ? world.lastPaidOn[k] : world.paidOn[plan[n - 1]! * 3 + k];
      const isSame = k < 2 && world.paidOn[slot * 3 + k] === paidBefore;
      const p = phi((isSame ? world.same : world.fresh)[slot * 3 + k]!);
      value += left * (p * worthAt(world.slots[slot]!) - cost);
      left *= 1 - p;
    });
  }
  return value;
}

function* plansOf(days: number, tries: number, from = 0): Generator<number[]> {
  yield [];
  if (tries === 0) return;
  for (let day = from; day < days; day++) for (const rest of plansOf(days, tries - 1, day + 1)) yield [day, ...rest];
}

test("on small worlds the plan is nearly as good as the best of all plans", () => {
  const worthAt = (at: number) => 1 - (0.004 * at) / DAY;
  let reached = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const world = smallWorld(9, seed);
    const plan = planTries(world, 3, { worthAt, cost: 0.02 });
    let best = 0;
    for (const other of plansOf(9, 3)) best = Math.max(best, worthOf(world, other, 0.02, worthAt));
    const own = worthOf(
      world,
      plan.at.map((at) => at / DAY),
      0.02,
      worthAt,
    );
    assert.ok(Math.abs(own - plan.value) < 1e-9, `seed ${seed}: ${own} is not ${plan.value}`);
    assert.ok(plan.value >= 0.95 * best, `seed ${seed}: ${plan.value} of ${best}`);
    reached += plan.value / best / 60;
  }
  // Greedy choice with moves is within one part in two hundred on average; looking at all pairs first costs too much.
  assert.ok(reached >= 0.995, `${reached}`);
});

test("nothing is planned where every try costs more than it brings", () => {
  const plan = planTries(smallWorld(9, 4), 3, { worthAt: () => 1, cost: 0.9 });
  assert.deepEqual([plan.at.length, plan.value], [0, 0]);
});

test("two planned tries are nearly a day apart at least, and never more than allowed are planned", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = smallWorld(28, seed);
    const dense = { ...world, slots: world.slots.map((at) => at / 6) };
    const { at } = planTries(dense, 4, { worthAt: () => 1, cost: 0.001 });
    assert.ok(at.length <= 4);
    for (let n = 1; n < at.length; n++) assert.ok(at[n]! - at[n - 1]! >= 20 * 3_600_000);
  }
});
