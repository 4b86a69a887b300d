import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Merchant } from "../domain/merchant.ts";
import { newLane } from "./lane.ts";
import { createWire } from "./wire.ts";

const lane = (webhookCap: number) => newLane({ webhookCap } as Merchant);
const LIMITS = { quickMax: 4, laneQuickMax: 2, quickMs: 20, attemptsMax: 8, slowCrowd: 4 };

test("a lane holds its share of the quick attempts, all lanes together hold no more than there are", () => {
  const wire = createWire(() => {}, LIMITS);
  const [one, two, three] = [lane(5), lane(5), lane(1)];
  const ends = [one, one, two].map(wire.begin);
  assert.deepEqual([one, two, three].map(wire.mayBegin), [false, true, true]);
  ends.push(wire.begin(three));
  assert.ok(wire.isFull());
  assert.ok(!wire.mayBegin(three), "its cap");
  for (const end of ends) end();
  assert.deepEqual([wire.isFull(), wire.inFlight(), one.inFlight, one.quick], [false, 0, 0, 0]);
});

test("slow attempts make room, until they are a crowd: then only lanes without slow ones begin more", async () => {
  const slow: unknown[] = [];
  const wire = createWire((lane) => slow.push(lane), LIMITS);
  const [one, two, healthy] = [lane(50), lane(50), lane(50)];
  const ends = [one, one, two, two].map(wire.begin);
  assert.ok(wire.isFull());
  await sleep(50);
  assert.deepEqual(slow, [one, one, two, two]);
  assert.ok(!wire.isFull());
  assert.deepEqual([one, two, healthy].map(wire.mayBegin), [false, false, true]);
  ends[0]!();
  assert.ok(wire.mayBegin(one));
  ends.push(...[one, one, healthy, healthy].map(wire.begin));
  await sleep(50);
  ends.push(wire.begin(lane(1)));
  assert.ok(wire.isFull(), "the bound of all attempts together");
  for (const end of ends.slice(1)) end();
  assert.deepEqual([wire.inFlight(), one.inFlight, one.quick, healthy.quick], [0, 0, 0, 0]);
});
