import assert from "node:assert/strict";
import { test } from "node:test";
import type { Account, DecisionRecord } from "../../domain/decision.ts";
import { textOf } from "../html.ts";
import { considered, hasConsidered } from "./considered.ts";

const START = new Date("2026-03-02T08:00:00Z");
const day = (n: number, hour = 0) => new Date(+START + n * 86_400_000 + hour * 3_600_000);

function decided(account: Partial<Account>): DecisionRecord {
  const empty: Account = {
    reasons: [],
    known: [],
    about: { wait: [], rule: [], limit: [], tally: [] },
    knowsFailure: true,
    changed: [],
    ruledOut: [],
    days: [],
    hours: [],
    even: null,
    drawn: false,
    hourDrawn: false,
    spread: false,
    fallback: null,
  };
  return {
    caseId: "c",
    number: 1,
    madeAt: START,
    engine: "learned",
    modelVersion: 1,
    kind: "retry",
    actionId: "a",
    idealTime: day(3),
    chance: 0.41,
    propensity: 0.9,
    facts: "",
    account: { ...empty, ...account },
  };
}

const DAYS = [1, 2, 3, 4].map((n) => ({
  at: day(n),
  chance: n === 3 ? 0.4 : 0.1 * n,
  worth: n === 3 ? 0.5 : 0.05 * n,
}));

const EVEN = {
  tries: [day(4)],
  recovers: 0.5,
  worth: 0.4,
  plan: [day(3)],
  planRecovers: 0.63,
  planWorth: 0.5,
  asMany: null,
};

test("the plot and the table say the same, and between them stands what is said of the decision", () => {
  const ruledOut = [{ rule: "Visa allows <15> tries.", source: "Visa Core Rules", from: day(5), to: day(6) }];
  const said = ["No try from here to there: Visa allows <15> tries."];
  const page = textOf(considered(decided({ days: DAYS, ruledOut, even: EVEN }), day(28), "UTC", said));
  assert.match(
    page,
    /aria-label="The best moment of each of 4 days[^"]*Chosen: 5 Mar 2026 08:00, with a chance of 41%\./,
  );
  assert.equal(page.match(/class="moment"/g)?.length, 3);
  assert.equal(page.match(/class="moment chosen"/g)?.length, 1);
  assert.equal(page.match(/class="ruled"/g)?.length, 1);
  assert.match(page, /<p class="text">No try from here to there: Visa allows &lt;15&gt; tries\.<\/p>/);
  assert.equal(page.match(/<tr><td[^>]*><time/g)?.length, 4);
  assert.match(page, /41%<\/td><td class="number"[^>]*>50%<\/td><td><small>chosen/);
});

test("a moment that was drawn stands beside the best one of its day, each with what it is worth itself", () => {
  const even = {
    tries: [],
    recovers: 0,
    worth: 0,
    plan: [day(3, 4)],
    planRecovers: 0.6,
    planWorth: 0.48,
    asMany: null,
  };
  const hours = [
    { at: day(3), chance: 0.4, worth: 0.5 },
    { at: day(3, 4), chance: 0.41, worth: null },
  ];
  const drawn = { ...decided({ days: DAYS, hours, even, hourDrawn: true }), idealTime: day(3, 4) };
  const page = textOf(considered(drawn, day(28), "UTC"));
  assert.equal(page.match(/class="moment"/g)?.length, 4);
  assert.match(page, /41%<\/td><td class="number"[^>]*>48%<\/td><td><small>chosen/);
  assert.match(page, /40%<\/td><td class="number"[^>]*>50%<\/td><td><small>best compared of its day/);
  assert.match(page, /41%<\/td><td class="number"[^>]*>not compared<\/td><td><small>hour of the chosen day, chosen/);
});

test("on the clocks of the reader a moment is on the day that it is there", () => {
  const page = textOf(considered(decided({ days: DAYS }), day(28), "Pacific/Auckland"));
  assert.match(page, /Chosen: 5 Mar 2026 21:00/);
});

test("where nothing was compared there is nothing to plot", () => {
  assert.equal(hasConsidered(decided({})), false);
  assert.equal(hasConsidered({ ...decided({ days: DAYS }), idealTime: null }), false);
  assert.equal(hasConsidered({ ...decided({ days: DAYS }), chance: null }), false);
});
