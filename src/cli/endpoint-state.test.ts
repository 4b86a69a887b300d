import assert from "node:assert/strict";
import { test } from "node:test";
import { describeEndpointAdvice, describeEndpointState } from "./endpoint-state.ts";

const since = new Date("2026-05-01T08:00:00Z");
const at = new Date("2026-05-04T08:00:30Z");
const running = {
  id: "m",
  name: "Shop",
  webhookUrl: "https://shop.example/",
  webhookPaused: false,
  webhookPausedAt: null,
  webhookPausedBy: null,
  webhookFailingSince: null,
};
const failing = { ...running, webhookFailingSince: since };

test("the state of an endpoint shows since when it fails and who paused it", () => {
  assert.equal(describeEndpointState(running), "active");
  assert.equal(describeEndpointState(failing), "failing: every attempt has failed since 2026-05-01T08:00Z");
  assert.equal(
    describeEndpointState({ ...failing, webhookPaused: true, webhookPausedAt: at, webhookPausedBy: "dunlin" }),
    "paused by Dunlin since 2026-05-04T08:00Z: every attempt has failed since 2026-05-01T08:00Z",
  );
  const byPerson = { ...running, webhookPaused: true, webhookPausedAt: at, webhookPausedBy: "person" } as const;
  assert.equal(describeEndpointState(byPerson), "paused since 2026-05-04T08:00Z");
});

test("only an endpoint that fails or is paused gets advice", () => {
  assert.equal(describeEndpointAdvice(running), null);
  assert.match(describeEndpointAdvice(failing)!, /^Shop is failing.*dunlin webhook test m$/);
  const paused = { ...failing, webhookPaused: true, webhookPausedAt: at, webhookPausedBy: "dunlin" } as const;
  assert.match(describeEndpointAdvice(paused)!, /deliveries wait.*dunlin merchant set m --resume/);
});
