import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMAND_LINE } from "../domain/person.ts";
import { newFigures } from "./shadow.ts";
import { type ShadowJob, shadowResult } from "./shadow-job.ts";
import { plannedWords } from "./shadow-words.ts";

const AT = new Date("2026-03-01T00:00:00Z");
const job = (result: object | null): ShadowJob => ({
  merchantId: "m",
  id: "j",
  kind: "shadow",
  askedAt: AT,
  actor: COMMAND_LINE,
  input: {},
  progress: {},
  result: result && JSON.parse(JSON.stringify(result)),
  failure: null,
  endedAt: result && AT,
  dueAt: null,
  holder: null,
});

test("a comparison that an earlier program kept, without those that are neither debits nor by card, is read as having none of them", () => {
  const planned = { cases: 40, expected: 12, paid: 13, debits: 4 };
  const figures = { ...newFigures(), since: AT, cases: 40, counted: 40, planned };
  const young = { cases: 1, firstAt: AT, lastAt: AT };
  const money = { cases: 40, due: 4_000, paid: 1_300 };
  const kept = { ...figures, young, money: [["EUR", money]] };
  const wanted = { ...figures, young, money: new Map([["EUR", money]]), planned: { ...planned, others: 0 } };
  const read = shadowResult(job(kept));
  assert.deepEqual(read, wanted);
  assert.deepEqual(plannedWords(read!), plannedWords(wanted));
  assert.equal(shadowResult(job({ ...kept, planned: { ...planned, others: 3 } }))!.planned.others, 3);
  assert.equal(shadowResult(job(null)), null);
});
