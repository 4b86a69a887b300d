import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { newShadowFigures } from "./shadow-figures.ts";
import { parseShadowResult, type ShadowJob } from "./shadow-job.ts";
import { describePlans } from "./shadow-wording.ts";

const AT = new Date("2026-03-01T00:00:00Z");
const job = (result: object | null): ShadowJob => ({
  merchantId: "m",
  id: "j",
  kind: "shadow",
  askedAt: AT,
  actor: COMMAND_LINE_ACTOR,
  input: {},
  progress: {},
  result: result && JSON.parse(JSON.stringify(result)),
  failure: null,
  endedAt: result && AT,
  dueAt: null,
  holder: null,
});

test("a stored comparison without a count of other payment methods is read as zero", () => {
  const planned = { cases: 40, expected: 12, paid: 13, debits: 4 };
  const figures = { ...newShadowFigures(), since: AT, cases: 40, counted: 40, planned };
  const young = { cases: 1, firstAt: AT, lastAt: AT };
  const money = { cases: 40, due: 4_000, paid: 1_300 };
  const storedResult = { ...figures, young, money: [["EUR", money]] };
  const expected = { ...figures, young, money: new Map([["EUR", money]]), planned: { ...planned, others: 0 } };
  const read = parseShadowResult(job(storedResult));
  assert.deepEqual(read, expected);
  assert.deepEqual(describePlans(read!), describePlans(expected));
  assert.equal(parseShadowResult(job({ ...storedResult, planned: { ...planned, others: 3 } }))!.planned.others, 3);
  assert.equal(parseShadowResult(job(null)), null);
});
