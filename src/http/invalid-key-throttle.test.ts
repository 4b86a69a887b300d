import assert from "node:assert/strict";
import { test } from "node:test";
import { createInvalidKeyThrottle } from "./invalid-key-throttle.ts";

test("an address is throttled after thirty invalid keys, and one key is forgiven every two seconds", () => {
  let now = 0;
  const throttle = createInvalidKeyThrottle(() => now);
  for (let count = 0; count < 29; count++) throttle.recordInvalidKey("192.0.2.1");
  assert.equal(throttle.retryAfterSeconds("192.0.2.1"), 0);
  throttle.recordInvalidKey("192.0.2.1");
  assert.equal(throttle.retryAfterSeconds("192.0.2.1"), 2);
  assert.equal(throttle.retryAfterSeconds("192.0.2.2"), 0);
  now = 2_000;
  assert.equal(throttle.retryAfterSeconds("192.0.2.1"), 0);
  throttle.recordInvalidKey("192.0.2.1");
  assert.equal(throttle.retryAfterSeconds("192.0.2.1"), 2);
  now = 62_000;
  for (let count = 0; count < 29; count++) throttle.recordInvalidKey("192.0.2.1");
  assert.equal(throttle.retryAfterSeconds("192.0.2.1"), 0);
});

test("the address that was quiet the longest is forgotten when there are too many", () => {
  const throttle = createInvalidKeyThrottle(() => 0);
  for (let count = 0; count < 30; count++) throttle.recordInvalidKey("first");
  for (let count = 0; count < 30; count++) throttle.recordInvalidKey("second");
  for (let index = 2; index < 50_001; index++) throttle.recordInvalidKey(`10.0.0.${index}`);
  assert.equal(throttle.retryAfterSeconds("first"), 0);
  assert.ok(throttle.retryAfterSeconds("second") > 0);
});
