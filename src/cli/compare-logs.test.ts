import assert from "node:assert/strict";
import { test } from "node:test";
import { compareLogs } from "./compare-logs.ts";

const logged = async () => new Map([["a", 2]]);

test("test events are ignored because Dunlin does not log them", async () => {
  const journal = [{ eventId: "a" }, { eventId: "a" }, { eventId: "t", test: true }, { eventId: null }] as const;
  assert.deepEqual(await compareLogs(journal, logged), [
    "Webhooks: the merchant received 2; Dunlin's delivery log has 2 attempts.",
    "Both logs contain the same webhooks.",
  ]);
});

test("the comparison names events that only one side has", async () => {
  const [, result] = await compareLogs([{ eventId: "b" }], logged);
  assert.match(result!, /^The logs differ for b, a\. The delivery log keeps entries for /);
  const many = Array.from({ length: 7 }, (_, number) => ({ eventId: `e${number}` }));
  const [, short] = await compareLogs(many, async () => new Map());
  assert.match(short!, /^The logs differ for e0, e1, e2, e3, e4 and 2 more\./);
});
