import assert from "node:assert/strict";
import { test } from "node:test";
import { type Arrival, poissonArrivals, predict, type QueueModel, quantile } from "./queue-model.ts";

const FREE = { serviceMs: 0, databaseMs: 0 };
/** A plain queue: servers that each take one case, and nothing else costs. */
const PLAIN: QueueModel = {
  cores: 16,
  slowdown: 1,
  deciders: 1,
  merchantsAtOnce: 1,
  batchSize: 1,
  round: FREE,
  steps: { first: { batch: FREE, item: { serviceMs: 10, databaseMs: 0 } }, light: { batch: FREE, item: FREE } },
  lockedShare: 0,
  commitMs: 0,
  delivery: null,
};

function createRandom(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const assertNear = (actual: number, expected: number, share: number) =>
  assert.ok(Math.abs(actual / expected - 1) <= share, `${actual} instead of ${expected}`);
const flood = (cases: number, merchants = 1): Arrival[] =>
  Array.from({ length: merchants }, (_, merchant) => ({ atMs: 0, merchant, cases: cases / merchants }));

const SECONDS = 600;
const load = (model: QueueModel, casesPerSecond: number, merchants: number) => {
  const given = { casesPerSecond, casesPerRequest: 1, merchants, seconds: SECONDS };
  return predict(model, poissonArrivals(given, createRandom(7)), 2 * SECONDS * 1_000);
};

test("one server with constant times waits as the formula by Pollaczek and Khinchine says", () => {
  for (const utilization of [0.3, 0.6, 0.9]) {
    const { decisionWaitsMs, busy } = load(PLAIN, 100 * utilization, 1);
    const waitMs = (10 * utilization) / (2 * (1 - utilization));
    assertNear(mean(decisionWaitsMs) - 10, waitMs, 0.15);
    assertNear(busy.deciders, utilization, 0.05);
  }
});

test("several servers wait about as the formula by Allen and Cunneen says", () => {
  const [servers, utilization] = [3, 0.8];
  const offered = servers * utilization;
  const terms = [1, offered, offered ** 2 / 2];
  const last = offered ** servers / 6 / (1 - utilization);
  const mustWait = last / (terms.reduce((a, b) => a + b, 0) + last);
  // The squared coefficient of variation is 1 for arrivals at random, and 0 for constant times.
  const waitMs = (mustWait * 10 * ((1 + 0) / 2)) / (servers * (1 - utilization));
  const { decisionWaitsMs } = load({ ...PLAIN, deciders: servers }, 100 * offered, 50);
  assertNear(mean(decisionWaitsMs) - 10, waitMs, 0.25);
});

test("a batch's fixed cost is shared by its cases when many wait", () => {
  const steps = {
    ...PLAIN.steps,
    first: { batch: { serviceMs: 9, databaseMs: 0 }, item: { serviceMs: 1, databaseMs: 0 } },
  };
  const model = { ...PLAIN, steps, batchSize: 100 };
  const alone = predict(model, flood(1), 1e9);
  assert.equal(Math.round(quantile(alone.decisionWaitsMs, 0.5)), 10);
  const many = predict(model, flood(1_000), 1e9);
  assert.equal(many.casesPerBatch, 100);
  assert.equal(Math.round(Math.max(...many.decisionWaitsMs)), 10 * (9 + 100));
});

test("two deciders help many merchants, and a giant one only outside of its lock", () => {
  const steps = { ...PLAIN.steps, first: { batch: FREE, item: { serviceMs: 0, databaseMs: 1 } } };
  const lastMs = (deciders: number, merchants: number, lockedShare: number) => {
    const model = { ...PLAIN, steps, deciders, batchSize: 100, lockedShare };
    return Math.max(...predict(model, flood(4_000, merchants), 1e9).decisionWaitsMs);
  };
  assertNear(lastMs(1, 1, 1), 4_000, 0.01);
  assertNear(lastMs(2, 1, 1), 4_000, 0.01);
  assertNear(lastMs(2, 40, 1), 2_000, 0.05);
  assertNear(lastMs(2, 1, 0.5), 2_050, 0.05);
});

test("processes that want more cores than there are slow each other down", () => {
  const lastMs = (cores: number) =>
    Math.max(...predict({ ...PLAIN, cores, deciders: 4 }, flood(400, 4), 1e9).decisionWaitsMs);
  assertNear(lastMs(4), 1_000, 0.01);
  assertNear(lastMs(2), 2_000, 0.01);
});

test("other programs on the machine slow all work down", () => {
  const lastMs = (slowdown: number) => Math.max(...predict({ ...PLAIN, slowdown }, flood(100), 1e9).decisionWaitsMs);
  assertNear(lastMs(1), 1_000, 0.01);
  assertNear(lastMs(4), 4_000, 0.01);
});

test("a merchant's deliveries wait for a free request when the endpoint is slow", () => {
  const delivery = {
    processes: 1,
    cap: 5,
    eventsPerCase: 2,
    serviceMs: 0,
    databaseMs: 0,
    receiverMs: 0,
    answerMs: 100,
    readMs: 0,
  };
  const { deliveryWaitsMs } = predict({ ...PLAIN, batchSize: 100, delivery }, flood(50), 1e9);
  assert.equal(deliveryWaitsMs.length, 100);
  assert.equal(Math.round(Math.max(...deliveryWaitsMs)), 1_900);
});
