import assert from "node:assert/strict";
import { test } from "node:test";
import { buildPosterior, START, trainedModel } from "./choose-retry.fixture.ts";
import { buildForecast, type Forecast } from "./learned/forecast.ts";
import { newWorkspace } from "./learned/workspace.ts";
import { planRetries, valuesByNextSlot } from "./plan-retries.ts";

const DAY = 86_400_000;

/** A forecast with its scores, and the day of each hypothesis's pay as of the last retry; tables are slot by hypothesis. */
interface SmallWorld extends Forecast {
  fresh: number[];
  same: number[];
  lastPaidOn: readonly number[];
}

/**
 * Returns a world with three hypotheses over `days` slots, one per day: pay on some days under the first two, and never under the
 * third. Probabilities come from a fixed sequence.
 */
function smallWorld(days: number, seed: number): SmallWorld {
  let state = seed;
  const draw = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const share = 0.4 + 0.2 * draw();
  const world: SmallWorld = {
    slots: Array.from({ length: days }, (_, day) => day * DAY),
    shares: Float64Array.of(share, 0.3, 0.7 - share),
    chances: new Float64Array(days),
    answeredAt: null,
    fresh: Array(3 * days).fill(0.01),
    same: Array(3 * days).fill(0.01),
    paidOn: new Int32Array(3 * days),
    nextChances: new Float64Array(3 * days),
    laterChances: new Float64Array(6 * days),
    lastPaidOn: [-5, -5, -1],
    workspace: newWorkspace(),
    isLatest: () => true,
    computeLaterChances(slots) {
      for (const slot of slots) {
        for (let place = slot * 3; place < slot * 3 + 3; place++) {
          world.laterChances[2 * place] = world.same[place]!;
          world.laterChances[2 * place + 1] = world.fresh[place]!;
        }
      }
    },
  };
  let paid = [-5, -5];
  for (let day = 0; day < days; day++) {
    paid = paid.map((last) => (draw() < 0.3 ? day + 1 : last));
    for (let k = 0; k < 3; k++) {
      const place = day * 3 + k;
      if (k < 2) {
        world.fresh[place] = 0.1 + 0.7 * draw();
        world.same[place] = 0.05;
        world.paidOn[place] = paid[k]!;
      }
      world.nextChances[place] = chanceOf(world, day, k, null);
      world.chances[day]! += world.shares[k]! * world.nextChances[place]!;
    }
  }
  return world;
}

/** @param last  slot of the previous retry; null if the plan has none */
function chanceOf({ fresh, same, paidOn, lastPaidOn }: SmallWorld, slot: number, k: number, last: number | null) {
  const paidBefore = last === null ? lastPaidOn[k] : paidOn[last * 3 + k];
  return (k < 2 && paidOn[slot * 3 + k] === paidBefore ? same : fresh)[slot * 3 + k]!;
}

/** Computes the expected value of retries at these slots in a simple, independent way. */
function expectedValue(
  world: SmallWorld,
  plan: readonly number[],
  cost: number,
  worthAt: (at: number) => number,
): number {
  let total = 0;
  for (let k = 0; k < 3; k++) {
    let remaining = world.shares[k]!;
    plan.forEach((slot, n) => {
      const p = chanceOf(world, slot, k, plan[n - 1] ?? null);
      total += remaining * (p * worthAt(world.slots[slot]!) - cost);
      remaining *= 1 - p;
    });
  }
  return total;
}

function* listPlans(days: number, retryCount: number, from = 0): Generator<number[]> {
  yield [];
  if (retryCount === 0) return;
  for (let day = from; day < days; day++)
    for (const rest of listPlans(days, retryCount - 1, day + 1)) yield [day, ...rest];
}

test("the plan is nearly as good as the best of all plans in small worlds", () => {
  const worthAt = (at: number) => 1 - (0.004 * at) / DAY;
  let reached = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const world = smallWorld(9, seed);
    const plan = planRetries(world, 3, { valueAt: worthAt, cost: 0.02 });
    let best = 0;
    for (const other of listPlans(9, 3)) best = Math.max(best, expectedValue(world, other, 0.02, worthAt));
    const own = expectedValue(world, plan.slots, 0.02, worthAt);
    assert.ok(Math.abs(own - plan.expectedValue) < 1e-9, `seed ${seed}: ${own} is not ${plan.expectedValue}`);
    assert.ok(plan.expectedValue >= 0.95 * best, `seed ${seed}: ${plan.expectedValue} of ${best}`);
    reached += plan.expectedValue / best / 60;
  }
  // The greedy choice with moves is within 0.5% of the best on average; checking all pairs first would cost too much.
  assert.ok(reached >= 0.995, `${reached}`);
});

test("no retry of a plan has a higher value elsewhere between its neighbors", () => {
  const worthAt = (at: number) => 1 - (0.004 * at) / DAY;
  let most = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const world = smallWorld(24, seed);
    const { slots, expectedValue: value } = planRetries(world, 5, { valueAt: worthAt, cost: 0.02 });
    for (let n = 0; n < slots.length; n++)
      for (let slot = (slots[n - 1] ?? -1) + 1; slot < (slots[n + 1] ?? 24); slot++)
        most = Math.max(most, expectedValue(world, slots.with(n, slot), 0.02, worthAt) - value);
  }
  assert.ok(most < 0.004, `${most}`);
});

test("the value of another next retry is that of the plan with this retry as its first", () => {
  const worthAt = (at: number) => 1 - (0.004 * at) / DAY;
  for (let seed = 1; seed <= 20; seed++) {
    const world = smallWorld(9, seed);
    const retryValue = { valueAt: worthAt, cost: 0.02 };
    const plan = planRetries(world, 3, retryValue);
    valuesByNextSlot(world, plan, retryValue).forEach((value, n) => {
      const slot = plan.picked[n]!;
      const follow = plan.slots.slice(1).filter((day) => day > slot);
      assert.ok(
        Math.abs(value - expectedValue(world, [slot, ...follow], 0.02, worthAt)) < 1e-9,
        `seed ${seed}, ${slot}`,
      );
    });
  }
});

test("nothing is planned when every retry costs more than it brings", () => {
  const plan = planRetries(smallWorld(9, 4), 3, { valueAt: () => 1, cost: 0.9 });
  assert.deepEqual([plan.slots.length, plan.expectedValue], [0, 0]);
});

test("planned retries are at least nearly a day apart, and never more than allowed", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const world = smallWorld(28, seed);
    const dense = { ...world, slots: world.slots.map((at) => at / 6) };
    const at = planRetries(dense, 4, { valueAt: () => 1, cost: 0.001 }).slots.map((slot) => dense.slots[slot]!);
    assert.ok(at.length <= 4);
    for (let n = 1; n < at.length; n++) assert.ok(at[n]! - at[n - 1]! >= 20 * 3_600_000);
  }
});

test("retries are closer, and as far apart as they can be, when the window has no room for a day between them", () => {
  let longest = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const world = smallWorld(7, seed);
    const dense = { ...world, slots: world.slots.map((at) => at / 6) };
    const at = planRetries(dense, 4, { valueAt: () => 1, cost: 0.001 }).slots.map((slot) => dense.slots[slot]!);
    for (let n = 1; n < at.length; n++) assert.ok(at[n]! - at[n - 1]! >= DAY / 3);
    longest = Math.max(longest, at.length);
  }
  assert.equal(longest, 4);
});

test("the plan is nearly the best of all plans that keep a limit", () => {
  const worthAt = (at: number) => 1 - (0.004 * at) / DAY;
  // At most two in any six days, and one was made two days before the first slot.
  const limit = { times: [-2 * DAY], attemptsMax: 2, windowMs: 6 * DAY };
  const keeps = (days: readonly number[]) =>
    [-2, ...days].every((from, _, all) => all.filter((day) => day >= from && day <= from + 6).length <= 2);
  let reached = 0;
  let without = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const world = smallWorld(9, seed);
    const plan = planRetries(world, 3, { valueAt: worthAt, cost: 0.02 }, [limit]);
    assert.ok(keeps(plan.slots), `seed ${seed}: ${plan.slots}`);
    if (!keeps(planRetries(world, 3, { valueAt: worthAt, cost: 0.02 }).slots)) without++;
    let best = 0;
    for (const other of listPlans(9, 3))
      if (keeps(other)) best = Math.max(best, expectedValue(world, other, 0.02, worthAt));
    assert.ok(plan.expectedValue >= 0.8 * best, `seed ${seed}: ${plan.expectedValue} of ${best}`);
    reached += plan.expectedValue / best / 60;
  }
  assert.ok(reached >= 0.985, `${reached}`);
  assert.ok(without > 30, `only ${without} plans would not keep it anyway`);
});

test("a retry that the guard allows is planned alone when a limit might not hold for several", () => {
  const full = { times: [-DAY], attemptsMax: 1, windowMs: 99 * DAY };
  assert.equal(planRetries(smallWorld(9, 4), 3, { valueAt: () => 1, cost: 0.02 }, [full]).slots.length, 1);
});

test("a forecast whose tables were overwritten by the model's next forecast is refused", () => {
  const posterior = buildPosterior("FUNDS");
  const slots = [START + DAY, START + 2 * DAY];
  const forecast = buildForecast(trainedModel, posterior, slots);
  const value = { valueAt: () => 1, cost: 0 };
  assert.ok(planRetries(forecast, 2, value).slots.length > 0);
  buildForecast(trainedModel, posterior, slots.slice(1));
  assert.throws(() => planRetries(forecast, 2, value), /another forecast/);
});
