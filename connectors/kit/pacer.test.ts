import assert from "node:assert/strict";
import { test } from "node:test";
import { createPacer } from "./pacer.ts";

class TooMany extends Error {}

/** A pacer with a clock that only its own waits move. */
function pacerWith(perSecond: number) {
  let ms = 0;
  const outcomes: string[] = [];
  const pace = createPacer(perSecond, {
    nowMs: () => ms,
    async sleep(wait) {
      ms = Math.max(ms, ms + wait);
    },
    isRefused: (error) => error instanceof TooMany,
    onCall: (outcome) => outcomes.push(outcome),
  });
  return { pace, outcomes, now: () => ms };
}

test("calls begin at the given rate", async () => {
  const { pace, now } = pacerWith(20);
  const begun: number[] = [];
  for (let call = 0; call < 5; call++) await pace(async () => begun.push(now()));
  assert.deepEqual(begun, [0, 50, 100, 150, 200]);
});

test("a refused call is made again, later after each refusal, and given up in the end", async () => {
  const { pace, now, outcomes } = pacerWith(1_000);
  const begun: number[] = [];
  const answer = await pace(async () => {
    begun.push(now());
    if (begun.length < 4) throw new TooMany();
    return "done";
  });
  assert.equal(answer, "done");
  assert.deepEqual(begun, [0, 500, 1_500, 3_500]);
  assert.deepEqual(outcomes, ["refused", "refused", "refused", "answered"]);
  await assert.rejects(
    pace(async () => {
      throw new TooMany();
    }),
    TooMany,
  );
  assert.equal(outcomes.filter((outcome) => outcome === "refused").length, 3 + 7);
});

test("another error is not repeated", async () => {
  const { pace, outcomes } = pacerWith(10);
  await assert.rejects(
    pace(async () => {
      throw new Error("no such invoice");
    }),
    /no such invoice/,
  );
  assert.deepEqual(outcomes, ["failed"]);
});
