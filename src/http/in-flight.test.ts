import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { createInFlightRequests, maxInFlight } from "./in-flight.ts";

test("a key has at most the maximum of requests in flight, and a request that ends or disconnects frees a place", () => {
  const inFlight = createInFlightRequests();
  const replies = Array.from({ length: 3 }, () => new EventEmitter());
  const enter = (reply: EventEmitter, key = "key") => inFlight.enter(key, 2, reply);
  assert.equal(enter(replies[0]!), true);
  assert.equal(enter(replies[1]!), true);
  assert.equal(enter(replies[2]!), false);
  assert.equal(enter(replies[2]!, "another"), true);
  replies[0]!.emit("finish");
  replies[0]!.emit("close");
  assert.equal(enter(replies[0]!), true);
  assert.equal(enter(replies[2]!), false);
  replies[1]!.emit("close");
  assert.equal(enter(replies[1]!), true);
});

test("the maximum in flight is twice the rate, and at least ten", () => {
  assert.equal(maxInFlight(100), 200);
  assert.equal(maxInFlight(1), 10);
});
