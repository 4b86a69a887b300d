import assert from "node:assert/strict";
import { test } from "node:test";
import { compareLogs } from "./compare-logs.ts";

const logged = async () => new Map([["a", 2]]);

test("a test event, of which Dunlin keeps no log, is no difference between the logs", async () => {
  const journal = [{ eventId: "a" }, { eventId: "a" }, { eventId: "t", test: true }, { eventId: null }] as const;
  assert.deepEqual(await compareLogs(journal, logged), [
    "Webhooks: the merchant received 2; Dunlin's delivery log has 2 attempts.",
    "Every webhook in the merchant's log is in the delivery log, and the other way round.",
  ]);
});

test("events that one side alone knows of are named", async () => {
  const [, says] = await compareLogs([{ eventId: "b" }], logged);
  assert.match(says!, /^They differ on b, a\. The delivery log goes back /);
  const many = Array.from({ length: 7 }, (_, number) => ({ eventId: `e${number}` }));
  const [, short] = await compareLogs(many, async () => new Map());
  assert.match(short!, /^They differ on e0, e1, e2, e3, e4 and 2 more\./);
});
