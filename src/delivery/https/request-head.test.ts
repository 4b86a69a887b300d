import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { maskedHeaders, USER_AGENT } from "./request-head.ts";

test("the user agent contains the first two parts of the version in package.json", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  assert.match(USER_AGENT, /^Dunlin\/\d+\.\d+$/);
  assert.ok(version.startsWith(`${USER_AGENT.slice("Dunlin/".length)}.`));
});

test("headers are shown with the credential and signature masked", () => {
  assert.deepEqual(maskedHeaders("Bearer tok en", false), [
    "content-type: application/json",
    `user-agent: ${USER_AGENT}`,
    "authorization: Bearer [redacted]",
  ]);
  assert.deepEqual(maskedHeaders("Basic dTpw", true).slice(2), [
    "authorization: Basic [redacted]",
    "webhook-id: the event's id",
    "webhook-timestamp: the attempt's start",
    "webhook-signature: v1,[redacted]",
  ]);
  assert.equal(maskedHeaders(null, false).length, 2);
});
