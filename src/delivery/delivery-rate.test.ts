import assert from "node:assert/strict";
import { test } from "node:test";
import { createFullBucket, rateWaitMs, spendToken, tokensLeft } from "./delivery-rate.ts";

const rate = (webhookRate: number | null) => ({ webhookRate });

test("an attempt never waits when there is no rate", () => {
  const bucket = createFullBucket();
  for (let i = 0; i < 1_000; i++) spendToken(rate(null), bucket);
  assert.equal(rateWaitMs(rate(null), bucket, 0), 0);
  assert.equal(tokensLeft(rate(null), bucket, 0), Number.POSITIVE_INFINITY);
  assert.equal(tokensLeft(rate(5), bucket, 0), 5, "attempts sent without a rate do not count against a later one");
});

for (const perSecond of [1, 7, 100, 10_000])
  test(`at ${perSecond} per second, the first second's worth starts at once, and no later second exceeds it`, () => {
    const bucket = createFullBucket();
    const startTimes: number[] = [];
    for (let nowMs = 0; nowMs < 5_000; ) {
      const waitMs = rateWaitMs(rate(perSecond), bucket, nowMs);
      if (waitMs > 0) {
        nowMs += waitMs;
        continue;
      }
      spendToken(rate(perSecond), bucket);
      startTimes.push(nowMs);
    }
    assert.equal(startTimes.filter((ms) => ms === 0).length, perSecond);
    for (let fromMs = 1; fromMs < 4_000; fromMs += 37) {
      const count = startTimes.filter((ms) => ms >= fromMs && ms < fromMs + 1_000).length;
      assert.ok(count <= perSecond * 1.1 + 1, `${count} from ${fromMs} ms on`);
    }
    assert.ok(startTimes.length >= perSecond * 4.9, `${startTimes.length}: it reaches its rate`);
  });

test("unused tokens are saved for at most a second, and a lowered rate applies at once", () => {
  const bucket = createFullBucket();
  assert.equal(tokensLeft(rate(50), bucket, 0), 50);
  assert.equal(tokensLeft(rate(50), bucket, 3_600_000), 50);
  assert.equal(tokensLeft(rate(3), bucket, 3_600_001), 3);
});
