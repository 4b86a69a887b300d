import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "./learned-model.ts";
import type { Reason } from "./model-layout.ts";
import { createPseudoRandom } from "./pseudo-random.fixture.ts";
import { newShortfalls, recordPrediction, shortfallDeviations } from "./shortfall.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const FUNDS = { firstReason: "FUNDS" } as const;

const UNTRAINED = newLearnedModel();

/** Records one retry per hour, for cases that began with missing money. */
function createRecorder() {
  const model = { ...UNTRAINED, shortfalls: newShortfalls() };
  let now = Date.UTC(2026, 3, 6);
  let most = 0;
  /** Records `retryCount` retries with the predicted probability `predictedChance` and the actual rate `approved`. */
  function recordRetries(retryCount: number, predictedChance: number, approved: number, seed = 0, everyMs = HOUR) {
    const draw = createPseudoRandom(seed);
    for (let n = 0; n < retryCount; n++) {
      now += everyMs;
      recordPrediction(model, FUNDS, predictedChance, now, draw() < approved ? null : "FUNDS");
      most = Math.max(most, short());
    }
  }
  const short = (ofMs = now) => shortfallDeviations(model, FUNDS, ofMs);
  return { learned: model, note: recordRetries, short, most: () => most, now: () => now };
}

test("approvals rarely fall three standard deviations short when predictions are right, or half of them come true", () => {
  const most = (part: number) =>
    Array.from({ length: 50 }, (_, seed) => {
      const predictedChance = 0.1 + (seed % 9) / 10;
      const recorder = createRecorder();
      recorder.note(2000, predictedChance, part * predictedChance, seed);
      return recorder.most();
    });
  const [right, more, quarter] = [most(1), most(0.6), most(0.25)];
  assert.ok(Math.max(...right) < 3, `${right}`);
  assert.ok(more.filter((each) => each > 3).length <= 2, `${more}`);
  assert.ok(quarter.filter((each) => each > 3.5).length >= 40, `${quarter}`);
});

test("predictions that stop coming true show a shortfall after some fifty retries, and none when they are right again", () => {
  const { learned, note, short, now } = createRecorder();
  note(1000, 0.5, 0.6);
  assert.equal(short(), 0);
  note(50, 0.5, 0.03);
  assert.ok(short() > 3, `${short()}`);
  assert.equal(shortfallDeviations(learned, { firstReason: "GENERIC" }, now()), 0, "another class of reasons");
  note(100, 0.3, 0.3, 1);
  assert.ok(short() < 1, `${short()}`);
});

test("a shortfall of less than a day, or of a month ago, does not count", () => {
  const { note, short, now } = createRecorder();
  note(60, 0.5, 0, 0, 60_000);
  assert.equal(short(), 0);
  note(1, 0.5, 0, 0, DAY);
  assert.ok(short() > 4);
  assert.ok(short(now() + 29 * DAY) > 4);
  assert.equal(short(now() + 31 * DAY), 0);
  note(1, 0.5, 0, 0, 31 * DAY);
  note(1, 0.5, 0, 0, 2 * DAY);
  assert.equal(short(), 0, "what fell short before a month without tries does not come back");
});

test("a few retries, or banks that were down, prove nothing", () => {
  const { learned, note, short, now } = createRecorder();
  note(4, 0.5, 0, 0, DAY);
  assert.equal(short(), 0);
  for (let n = 0; n < 50; n++) recordPrediction(learned, FUNDS, 0.6, now() + n * HOUR, "ISSUER_DOWN");
  assert.equal(short(), 0);
  note(2, 0.5, 0, 0, DAY);
  assert.ok(short() > 1, "two more tell something");
});

test("a retry counts for the class of its case's first reason, whatever followed", () => {
  const model = newLearnedModel();
  const late: { firstReason: Reason; reason: Reason } = { firstReason: "GENERIC", reason: "FUNDS" };
  for (let n = 0; n < 40; n++) recordPrediction(model, late, 0.5, n * HOUR, "FUNDS");
  assert.ok(shortfallDeviations(model, { firstReason: "GENERIC" }, 40 * HOUR) > 3);
  assert.equal(shortfallDeviations(model, FUNDS, 40 * HOUR), 0);
});
