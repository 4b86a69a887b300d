import assert from "node:assert/strict";
import { test } from "node:test";
import { createInvalidKeyThrottle } from "./invalid-key-throttle.ts";

test("after thirty wrong keys an address is held up, until one is forgiven every two seconds; others are not", () => {
  let now = 0;
  const strangers = createInvalidKeyThrottle(() => now);
  for (let count = 0; count < 29; count++) strangers.note("192.0.2.1");
  assert.equal(strangers.heldUpSeconds("192.0.2.1"), 0);
  strangers.note("192.0.2.1");
  assert.equal(strangers.heldUpSeconds("192.0.2.1"), 2);
  assert.equal(strangers.heldUpSeconds("192.0.2.2"), 0);
  now = 2_000;
  assert.equal(strangers.heldUpSeconds("192.0.2.1"), 0);
  strangers.note("192.0.2.1");
  assert.equal(strangers.heldUpSeconds("192.0.2.1"), 2);
  now = 62_000;
  for (let count = 0; count < 29; count++) strangers.note("192.0.2.1");
  assert.equal(strangers.heldUpSeconds("192.0.2.1"), 0);
});

test("of too many addresses the one that was quiet for longest is forgotten", () => {
  const strangers = createInvalidKeyThrottle(() => 0);
  for (let count = 0; count < 30; count++) strangers.note("first");
  for (let count = 0; count < 30; count++) strangers.note("second");
  for (let index = 2; index < 50_001; index++) strangers.note(`10.0.0.${index}`);
  assert.equal(strangers.heldUpSeconds("first"), 0);
  assert.ok(strangers.heldUpSeconds("second") > 0);
});
