import assert from "node:assert/strict";
import { test } from "node:test";
import type { DecisionAccount, DecisionRecord } from "../../domain/decision.ts";
import { htmlText } from "../html.ts";
import { consideredTimes, hasConsideredTimes } from "./considered-times.ts";

const START = new Date("2026-03-02T08:00:00Z");
const day = (n: number, hour = 0) => new Date(+START + n * 86_400_000 + hour * 3_600_000);

function decisionWith(account: Partial<DecisionAccount>): DecisionRecord {
  const empty: DecisionAccount = {
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

const EVENLY_SPACED = {
  tries: [day(4)],
  recovers: 0.5,
  worth: 0.4,
  plan: [day(3)],
  planRecovers: 0.63,
  planWorth: 0.5,
  asMany: null,
};

test("the plot and the table show the same times, with the remarks between them", () => {
  const ruledOut = [{ rule: "Visa allows <15> tries.", source: "Visa Core Rules", from: day(5), to: day(6) }];
  const remarks = ["No retry from here to there: Visa allows <15> tries."];
  const page = htmlText(
    consideredTimes(decisionWith({ days: DAYS, ruledOut, even: EVENLY_SPACED }), day(28), "UTC", remarks),
  );
  assert.match(
    page,
    /aria-label="The best time of each of 4 compared days[^"]*Chosen: 5 Mar 2026 08:00, with an expected value of 50% of the amount and a success probability of 41%\./,
  );
  for (const panel of ["moment", "moment chance"]) {
    assert.equal(page.match(new RegExp(`class="${panel}"`, "g"))?.length, 3);
    assert.equal(page.match(new RegExp(`class="${panel} chosen"`, "g"))?.length, 1);
  }
  assert.equal(page.match(/class="ruled"/g)?.length, 2);
  assert.match(page, /<p class="text">No retry from here to there: Visa allows &lt;15&gt; tries\.<\/p>/);
  assert.equal(page.match(/<tr><td[^>]*><time/g)?.length, 4);
  assert.match(page, /41%<\/td><td class="number"[^>]*>50%<\/td><td><small>chosen/);
});

test("a sampled time is shown beside the best time of its day, each with its own value", () => {
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
  const drawn = { ...decisionWith({ days: DAYS, hours, even, hourDrawn: true }), idealTime: day(3, 4) };
  const page = htmlText(consideredTimes(drawn, day(28), "UTC"));
  assert.equal(page.match(/class="moment"/g)?.length, 4);
  assert.match(page, /41%<\/td><td class="number"[^>]*>48%<\/td><td><small>chosen/);
  assert.match(page, /40%<\/td><td class="number"[^>]*>50%<\/td><td><small>best compared time of its day/);
  assert.match(page, /41%<\/td><td class="number"[^>]*>not compared<\/td><td><small>hour of the chosen day, chosen/);
});

/** Returns [x, y] of each mark of a class in the plot. */
const marks = (page: string, name: string) =>
  [...page.matchAll(new RegExp(`<circle class="${name}" cx="([\\d.]+)" cy="([\\d.]+)"`, "g"))].map(([, x, y]) => [
    Number(x),
    Number(y),
  ]);

test("the chosen time is the highest when it was chosen by expected value, even if its probability is the lowest", () => {
  const days = DAYS.map((each, n) => ({ ...each, chance: 0.5, worth: n === 2 ? 0.6 : 0.5 }));
  const even = { ...EVENLY_SPACED, planWorth: 0.6 };
  const page = htmlText(consideredTimes({ ...decisionWith({ days, even }), chance: 0.1 }, day(28), "UTC"));
  const highest = (name: string) => Math.min(...marks(page, name).map(([, y]) => y!));
  const chosen = (name: string) => marks(page, `${name} chosen`)[0]![1]!;
  assert.ok(chosen("moment") < highest("moment"));
  assert.ok(chosen("moment chance") > highest("moment chance"));
});

test("a date is shown below the start of its day in the reader's zone, also after a clock change", () => {
  for (const [zone, midnight, date] of [
    ["Pacific/Auckland", "2026-03-04T11:00:00Z", "5 Mar"],
    ["America/New_York", "2026-03-09T04:00:00Z", "9 Mar"],
    ["UTC", "2026-03-06T00:00:00Z", "6 Mar"],
  ] as const) {
    const at = new Date(midnight);
    const page = htmlText(
      consideredTimes({ ...decisionWith({ days: [{ at, chance: 0.4, worth: 0.5 }] }), idealTime: at }, day(6), zone),
    );
    const [[x]] = marks(page, "moment chance chosen") as [[number]];
    assert.match(page, new RegExp(`<text x="${x}" [^>]*text-anchor="middle">${date}</text>`), zone);
  }
});

test("a time is shown on its day in the reader's zone", () => {
  const page = htmlText(consideredTimes(decisionWith({ days: DAYS }), day(28), "Pacific/Auckland"));
  assert.match(page, /Chosen: 5 Mar 2026 21:00/);
});

test("a decision without compared times has no plot", () => {
  assert.equal(hasConsideredTimes(decisionWith({})), false);
  assert.equal(hasConsideredTimes({ ...decisionWith({ days: DAYS }), idealTime: null }), false);
  assert.equal(hasConsideredTimes({ ...decisionWith({ days: DAYS }), chance: null }), false);
});
