import assert from "node:assert/strict";
import { test } from "node:test";
import { assertCoverage } from "./confidence-intervals.fixture.ts";
import { differenceInterval, type EstimatedShare, shareInterval } from "./confidence-intervals.ts";

const estimateFromSample = (successes: number, size: number) => {
  const share = successes / size;
  return { share, error: Math.sqrt((share * (1 - share)) / size), effective: size };
};
const rounded = ({ low, high }: { low: number; high: number }) => [low, high].map((each) => Number(each.toFixed(4)));

test("a share has Wilson's interval, and the measured error determines it at half", () => {
  assert.deepEqual(rounded(shareInterval(estimateFromSample(3, 325))), [0.0031, 0.0268]);
  assert.deepEqual(rounded(shareInterval(estimateFromSample(322, 325))), [0.9732, 0.9969]);
  assert.deepEqual(rounded(shareInterval(estimateFromSample(0, 325))), [0, 0.0117]);
  assert.deepEqual(rounded(shareInterval(estimateFromSample(2000, 4000))), [0.4845, 0.5155]);
});

test("the interval is wider when customers have more influence than random sampling, and narrower when they have less", () => {
  const half = (error: number) => {
    const { low, high } = shareInterval({ share: 0.4, error, effective: 1000 });
    return (high - low) / 2;
  };
  for (const error of [0.01, 0.0155, 0.03]) assert.ok(Math.abs(half(error) / (1.96 * error) - 1) < 0.05, `${error}`);
});

test("the theoretical variance applies when one kind of outcome is rare", () => {
  const widthOf = (estimated: EstimatedShare) => {
    const { low, high } = shareInterval(estimated);
    return high - low;
  };
  const narrowed = (successes: number) => {
    const whole = estimateFromSample(successes, 1000);
    return widthOf({ ...whole, error: whole.error / 2 }) / widthOf(whole);
  };
  for (const few of [2, 998]) assert.ok(narrowed(few) > 0.8 && narrowed(few) < 0.95, `${few}: ${narrowed(few)}`);
  assert.ok(Math.abs(narrowed(400) - 0.5) < 0.02, `${narrowed(400)}`);
});

test("the interval of a difference combines both intervals, less their correlation", () => {
  const [one, other] = [estimateFromSample(400, 1000), estimateFromSample(500, 1000)];
  const half = (correlation: number) => {
    const { low, high } = differenceInterval(one, other, [shareInterval(one), shareInterval(other)], correlation);
    return (high - low) / 2;
  };
  const both = 1.96 * Math.hypot(one.error, other.error);
  assert.ok(Math.abs(half(0) / both - 1) < 0.01);
  assert.ok(half(0.9) < 0.4 * both && half(1) < 0.02 * both && half(-1) > 1.3 * both);
});

test("the interval covers the truth equally often when hardly anything or nearly everything is recovered", () => {
  // A correct 95% interval covers fewer than 72 of 80 with a probability of 2%. Plus and minus two errors would cover 1% in 67 of
  // them. `confidence-intervals.world.test.ts` takes 200.
  assertCoverage(80, 72);
});
